"""A count per key in bytewax: ``python bytewax_flow.py JOB RESULT``; with or without its recovery store."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main

AT_ONCE = 10_000


class _Rows(StatelessSourcePartition[Any]):
    """Keys as texts, which is all that bytewax takes."""

    def __init__(self, rows: int, keys: int) -> None:
        self._texts = [str(key) for key in range(keys)]
        self._at, self._rows, self._keys = 0, rows, keys

    def next_batch(self) -> list[Any]:
        if self._at >= self._rows:
            raise StopIteration
        end, texts, keys = min(self._at + AT_ONCE, self._rows), self._texts, self._keys
        batch = [(texts[i * 7919 % keys], 1) for i in range(self._at, end)]
        self._at = end
        return batch


class _Source(DynamicSource[Any]):
    def __init__(self, rows: int, keys: int) -> None:
        self._size = rows, keys

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Rows:
        del step_id, worker_index
        return _Rows(self._size[0] // worker_count, self._size[1])


class _Discarding(StatelessSinkPartition[Any]):
    seen = 0

    def write_batch(self, items: list[Any]) -> None:
        _Discarding.seen += len(items)


class _Sink(DynamicSink[Any]):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Discarding:
        del step_id, worker_index, worker_count
        return _Discarding()


def _count(state: int | None, value: int) -> tuple[int, int]:
    count = (state or 0) + value
    return count, count


def seconds(rows: int, keys: int, workers: int, recovery: Path | None) -> float:
    """How long a flow takes."""
    flow = Dataflow("counts")
    stream = op.input("rows", flow, _Source(rows, keys))
    op.output("out", op.stateful_map("count", stream, _count), _Sink())
    config = None
    if recovery is not None:
        recovery.mkdir(parents=True)
        init_db_dir(recovery, workers)
        config = RecoveryConfig(recovery)
    _Discarding.seen = 0
    start = time.perf_counter()
    cli_main(flow, workers_per_process=workers, recovery_config=config)
    taken = time.perf_counter() - start
    if _Discarding.seen != rows // workers * workers:
        raise RuntimeError(f"expected {rows} rows, found {_Discarding.seen}")
    return taken


def main() -> None:
    """Take the difference of a flow and one of three times the rows."""
    job = json.loads(sys.argv[1])
    folder = Path(job["folder"])
    store = (lambda name: folder / name) if job["recovery"] else (lambda _: None)
    seconds(job["rows"] // 5, job["keys"], job["workers"], store("warm"))
    short, long = (seconds(times * job["rows"], job["keys"], job["workers"], store(str(times))) for times in (1, 3))
    result = {"rates": [2 * job["rows"] / (long - short)], "seconds": [short, long]}
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
