"""Stream-stream joins of every type, in state format 2.

It is the only one that runs on any provider: Spark 4.3 starts no new query in format 1 ("Unsupported schema writer
version: 1"), and turns 3 and 4 into 2 for every provider but RocksDB.
"""

from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from support.case import Case
from support.events import Shape

SMALL = Shape(rows=25, keys=4)


def unbounded(left: DataFrame, right: DataFrame) -> DataFrame:
    """No watermark: nothing is ever evicted."""
    other = right.select("k", "flag", F.col("id").alias("other"))
    return left.join(other, ["k", "flag"]).select("k", "flag", "id", "other")


def in_range(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    """Rows whose keys are equal and whose times are at most 30 s apart; the watermark evicts both sides."""
    first = left.withWatermark("ts", "1 minute").select("k", "flag", "id", "ts")
    second = right.select(*[F.col(name).alias(f"other_{name}") for name in ("k", "flag", "id", "ts")])
    near = "other_ts BETWEEN ts - INTERVAL 30 SECONDS AND ts + INTERVAL 30 SECONDS"
    condition = F.expr(f"k = other_k AND flag = other_flag AND {near}")
    return first.join(second.withWatermark("other_ts", "30 seconds"), condition, how)


def by_window(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    """The window is a join key, so that the watermark evicts by key."""
    return _windowed(left, "id").join(_windowed(right, "other"), ["k", "window"], how)


def _windowed(events: DataFrame, name: str) -> DataFrame:
    late = events.withWatermark("ts", "1 minute")
    return late.select("k", F.window("ts", "1 minute").alias("window"), F.col("id").alias(name))


def _case(name: str, build: Callable[..., DataFrame], how: str) -> Case:
    return Case(f"join {how} {name}", partial(build, how=how), inputs=2, shape=SMALL, history=False)


CASES = [
    Case("join inner unbounded", unbounded, inputs=2, shape=SMALL),
    *[_case("in range", in_range, how) for how in ("inner", "left", "right", "full", "left_semi")],
    _case("by window", by_window, "full"),
]

MORE_CASES = [_case("by window", by_window, how) for how in ("inner", "left", "right", "left_semi")]
