"""What is measured: systems, each in an environment of its own, and their jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

ROWS: Final = 1_000_000
KEYS: Final = 100_000
TEXTS: Final = 640_000
LARGER: Final = 4_800_000
WARM_FILLS: Final = 2
BUDGET: Final = {"keyGroups.memoryBudget": "64m", "keyGroups.mappedValueBytes": "32m"}


class Input(NamedTuple):
    """Rows that a query of Spark reads.

    Attributes:
        first: Rows that come first: each key at least once, in random order.
        rows: Rows of a further batch, of random keys.
        times: Further batches.
        keys: Keys.
        fills: Batches that the first rows come in.
    """

    first: int
    rows: int
    times: int
    keys: int
    fills: int = 1


@dataclass(frozen=True)
class Case:
    """One line of a table.

    Attributes:
        name: Its name there.
        program: File in ``programs``.
        job: What the program is given beside its folder and, of a query of Spark, its input.
        environment: Which packages it has: one of ``ENVIRONMENTS``, or none for those of the project.
        input: Of a query of Spark.
        warm: Batches that are not counted.
        new: Name of another line, of the batches of new keys but the first ``WARM_FILLS``; none if empty.
        limit: Bytes of memory that all processes of the job have together; 0 for no limit.
        read_ahead: Of the disk, in KB; 0 leaves it.
        broker: Whether the job is given the address of a Kafka broker of its own.
        full: Whether only a full run measures it: another system than Spark, or a second size.
    """

    name: str
    program: str
    job: dict[str, Any] = field(default_factory=dict)
    environment: str = ""
    input: Input | None = None
    warm: int = 1
    new: str = ""
    limit: int = 0
    read_ahead: int = 0
    broker: bool = False
    full: bool = False


ENVIRONMENTS: Final = {
    "flink": ["apache-flink==2.3.0"],
    "bytewax": ["bytewax==0.21.1"],
    "pathway": ["pathway==0.33.0"],
    "quix": ["quixstreams==3.28.1"],
}


def _spark(
    name: str,
    query: str,
    *,
    first: int = ROWS,
    rows: int = ROWS,
    times: int,
    keys: int = KEYS,
    warm: int,
    settings: dict[str, str] | None = None,
    full: bool = False,
) -> Case:
    job = {"query": query, "settings": settings or {}}
    return Case(name, "spark_app.py", job, input=Input(first, rows, times, keys), warm=warm, full=full)


def _texts(name: str, settings: dict[str, str], *, full: bool) -> Case:
    """Texts of 1,000 bytes: 640 MB of state."""
    return _spark(name, "text", first=TEXTS, rows=TEXTS // 5, times=8, keys=TEXTS, warm=4, settings=settings, full=full)


def _larger(kilobytes: int, *, full: bool) -> Case:
    """Texts of 1,000 bytes: 4.8 GB of state in 3.6 GB for all processes, of which the heap has 1 GB."""
    name = f"{LARGER:,} texts of 1,000 bytes in 3.6 GB, read-ahead {kilobytes} KB"
    return Case(
        f"{name}: random keys",
        "spark_app.py",
        {"query": "text", "settings": {}, "heap": "1g"},
        input=Input(LARGER, 100_000, 6, LARGER, fills=12),
        warm=13,
        new=f"{name}: new keys",
        limit=3686 << 20,
        read_ahead=kilobytes,
        full=full,
    )


def _flink(mode: str, parallelism: int) -> Case:
    rows = ROWS // 10 if mode == "thread" else ROWS // 100
    job = {"mode": mode, "parallelism": parallelism, "rows": rows, "keys": KEYS}
    return Case(f"PyFlink 2.3, {mode} mode, {parallelism} slots", "flink.py", job, "flink", full=True)


def _bytewax(workers: int, *, recovery: bool) -> Case:
    job = {"workers": workers, "recovery": recovery, "rows": ROWS, "keys": KEYS}
    name = f"bytewax 0.21, {workers} workers, {'with' if recovery else 'without'} its recovery store"
    return Case(name, "bytewax_flow.py", job, "bytewax", full=True)


OURS: Final = "Keygroups, process"
BATCH: Final = "Keygroups, process_batch: a sum"
FLOOR: Final = "mapInArrow without state: a sum"
SPARK: Final = "Spark, transformWithState (Row), RocksDB"
SMALL: Final = "Keygroups, process, 100,000 rows a batch"
SMALL_SPARK: Final = "Spark, transformWithState (Row), RocksDB, 100,000 rows a batch"
"""In a batch of a million rows, transformWithState has one call for ten rows of a key; here it has about one a row."""

COUNTS: Final = (
    _spark(OURS, "process", times=7, warm=4),
    _spark(BATCH, "process_batch", times=11, warm=7),
    _spark(FLOOR, "floor", times=11, warm=7),
    _spark(SPARK, "transformWithState", times=1, warm=1),
    _spark(SMALL, "process", first=KEYS, rows=ROWS // 10, times=20, warm=11),
    _spark(SMALL_SPARK, "transformWithState", first=KEYS, rows=ROWS // 10, times=7, warm=5),
    _spark("Spark, applyInPandasWithState, RocksDB", "applyInPandasWithState", times=1, warm=1, full=True),
    *(_flink(mode, slots) for mode in ("thread", "process") for slots in (1, 2)),
    *(_bytewax(workers, recovery=recovery) for recovery in (False, True) for workers in (1, 2)),
    Case("Pathway 0.33, which counts in Rust", "pathway_table.py", {"rows": ROWS, "keys": KEYS}, "pathway", full=True),
    Case(
        "quix-streams 3.28, one process", "quix.py", {"rows": ROWS // 5, "keys": KEYS}, "quix", broker=True, full=True
    ),
)
"""A count per key, 100,000 keys."""

STATES: Final = (
    _spark(
        "a map of 1,000 entries, of which a row touches 3", "map", first=1000, rows=100_000, times=4, keys=1000, warm=2
    ),
    _spark("appends to a list", "list", times=5, warm=3),
    _spark("a range of 10 in a sorted map of 10,000", "sorted map", first=100, rows=100_000, times=4, keys=100, warm=2),
    _spark("100,000 timers set and fired", "timers", first=KEYS, rows=KEYS, times=6, warm=3),
    _spark("a count, 10 million keys", "process", first=10_000_000, times=4, keys=10_000_000, warm=2, full=True),
    _texts("a text of 1,000 bytes, 640,000 keys", {}, full=False),
    _texts("the same with a memory budget of 64 MB, a tenth of the state", BUDGET, full=True),
    _larger(128, full=False),
    _larger(8192, full=True),
)
"""Other states of ours."""
