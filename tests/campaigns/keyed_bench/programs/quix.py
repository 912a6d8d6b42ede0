"""A count per key in quix-streams: ``python quix.py JOB RESULT``; a Kafka broker is running."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from quixstreams import Application, State


def _count(value: int, state: State) -> int:
    count = int(state.get("count", default=0)) + value
    state.set("count", count)
    return count


def _application(job: dict[str, Any], name: str) -> Application:
    """Its defaults, in which state has a changelog in Kafka and a commit every five seconds."""
    return Application(
        broker_address=job["broker"],
        consumer_group=name,
        auto_offset_reset="earliest",
        state_dir=Path(job["folder"]) / name,
        loglevel="WARNING",
    )


def _fill(job: dict[str, Any], name: str, rows: int) -> None:
    app = _application(job, "producer")
    topic = app.topic(name, value_serializer="int", key_serializer="str")
    with app.get_producer() as producer:
        for row in range(rows):
            message = topic.serialize(key=str(row * 7919 % job["keys"]), value=1)
            producer.produce(topic=topic.name, key=message.key, value=message.value)
            if row % 10_000 == 0:
                producer.poll(0)


def seconds(job: dict[str, Any], name: str, rows: int) -> float:
    """How long the rows of a topic of one partition take, from the start of the application to its end."""
    _fill(job, name, rows)
    app = _application(job, name)
    frame = app.dataframe(app.topic(name, value_deserializer="int", key_deserializer="str"))
    seen = 0

    def see(_: int) -> None:
        nonlocal seen
        seen += 1

    frame.apply(_count, stateful=True).update(see)
    start = time.perf_counter()
    app.run(count=rows, timeout=60, collect=False)
    taken = time.perf_counter() - start
    if seen != rows:
        raise RuntimeError(f"expected {rows} rows, found {seen}")
    return taken


def main() -> None:
    """Warm up, and take the difference of a run and one of three times the rows."""
    job = json.loads(sys.argv[1])
    seconds(job, "warm", job["rows"] // 5)
    short, long = (seconds(job, f"rows-{times}", times * job["rows"]) for times in (1, 3))
    result = {"rates": [2 * job["rows"] / (long - short)], "seconds": [short, long]}
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
