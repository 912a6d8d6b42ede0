"""Stream-stream joins of every type, in the state formats that Spark uses with any provider."""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from support.engine import Case
from support.events import Shape

FORMAT = "spark.sql.streaming.join.stateFormatVersion"
SMALL = Shape(rows=25, keys=8)


def unbounded(left: DataFrame, right: DataFrame) -> DataFrame:
    """No watermark: nothing is ever evicted."""
    other = right.select("k", "flag", F.col("id").alias("other"))
    return left.join(other, ["k", "flag"]).select("k", "flag", "id", "other")


def in_range(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    """Rows whose keys are equal and whose times are at most 30 s apart; the watermark evicts both sides."""
    first = left.withWatermark("ts", "1 minute").select("k", "name", "id", "ts")
    columns = [F.col("k").alias("k2"), F.col("name").alias("name2"), F.col("id").alias("id2"), F.col("ts").alias("ts2")]
    second = right.select(*columns).withWatermark("ts2", "30 seconds")
    near = F.expr("k = k2 AND name = name2 AND ts2 BETWEEN ts - INTERVAL 30 SECONDS AND ts + INTERVAL 30 SECONDS")
    return first.join(second, near, how)


def by_window(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    """The window is a join key, so that the watermark evicts by key."""
    return _windowed(left, "id").join(_windowed(right, "other"), ["k", "window"], how)


def _windowed(events: DataFrame, name: str) -> DataFrame:
    late = events.withWatermark("ts", "1 minute")
    return late.select("k", F.window("ts", "1 minute").alias("window"), F.col("id").alias(name))


def _case(name: str, build: object, how: str, **more: object) -> Case:
    return Case(f"join {name}", partial(build, how=how), inputs=2, shape=SMALL, **more)


CASES = [
    Case("join inner unbounded", unbounded, inputs=2, shape=SMALL),
    Case("join inner unbounded, format 1", unbounded, inputs=2, shape=SMALL, conf={FORMAT: "1"}),
    *[_case(f"{how} in range", in_range, how) for how in ("inner", "left", "right", "full", "left_semi")],
    *[_case(f"{how} by window", by_window, how) for how in ("inner", "left", "full", "left_semi")],
]
