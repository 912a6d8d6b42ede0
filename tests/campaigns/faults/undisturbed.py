"""What the queries show when nothing disturbs them, with Spark's RocksDB provider if they run on it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from campaigns.faults import job as script
from campaigns.faults import queries as queries_module
from campaigns.faults import state
from campaigns.faults.attempts import Shown, read
from campaigns.faults.job import PROGRESS
from campaigns.faults.queries import QUERIES
from integration.remote.jobs import Job

# The only one that Spark gives to a provider that is not its own.
JOIN_FORMAT = {"spark.sql.streaming.join.stateFormatVersion": "2"}


def undisturbed(cache: Path, queries: Sequence[str], batches: int) -> dict[str, Shown]:
    """Run queries in one job, but for those that have run before in the same form.

    Args:
        cache: folder that outlives this run.
        queries: their names.
        batches: of the input.

    Raises:
        AssertionError: a query does not do all that it claims on so many batches.
    """
    folder = cache / f"undisturbed-{batches}-{_digest()}"
    output = folder / "output"
    if new := [name for name in queries if not read(output / name).state]:
        for name in new:
            shutil.rmtree(folder / "checkpoint" / name, ignore_errors=True)
            shutil.rmtree(output / name, ignore_errors=True)
        conf = JOIN_FORMAT | {"spark.test.batches": str(batches)}
        for peer in dict.fromkeys(QUERIES[name].peer for name in new):
            chosen = [name for name in new if QUERIES[name].peer == peer]
            Job(folder, folder, str(folder / "checkpoint"), conf, "", peer, chosen, Path(script.__file__)).complete()
    return {name: _checked(name, output / name) for name in queries}


def _digest() -> str:
    """Of all that decides what a query shows."""
    sources = [Path(script.__file__), Path(state.__file__), *Path(queries_module.__file__).parent.glob("*.py")]
    content = [path.read_bytes() for path in sorted(sources)]
    return hashlib.sha256(b"".join([*content, pyspark.__version__.encode()])).hexdigest()[:16]


def _checked(name: str, folder: Path) -> Shown:
    query, shown = QUERIES[name], read(folder)
    metrics = totals(json.loads((folder / PROGRESS).read_text()))
    rows = [row for attempts in shown.batches.values() for row in attempts[0]]
    idle = [claim for claim in query.claims if not metrics[claim]]
    idle += [word for word in query.says if not any(word in row for row in rows)]
    if query.timers and not any(found for label, found in shown.state.items() if label.startswith(state.TIMERS)):
        idle.append("timers that wait")
    assert not idle, f"'{name}' claims {', '.join(idle)}, of which nothing happened over {len(shown.batches)} batches"
    return shown


def totals(progress: Sequence[Mapping[str, object]]) -> Counter[str]:
    """The metrics of all operators, added up over all batches."""
    found: Counter[str] = Counter()
    for batch in progress:
        operators = batch["stateOperators"]
        assert isinstance(operators, list)
        for operator in operators:
            numbers = {**operator, **operator["customMetrics"]}
            found.update({name: value for name, value in numbers.items() if isinstance(value, int)})
    return found
