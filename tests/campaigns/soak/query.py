"""The query: windows of keys, whose number and size rise and fall in waves, and how its rows are compared."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

WINDOW = 5
"""Batches that fall into one window: the source's clock goes on by a second a batch."""
DELAY = 20
"""Batches for which a window stays after its end."""
LONGEST = 1200
"""Bytes of the longest text, which only a peak has: the state is then twice what it may have in memory."""
_LAG = (WINDOW + DELAY) // 2
Rows = dict[str, tuple[int, int]]
"""How many rows each window has, and the xor of their hashes."""


@dataclass(frozen=True)
class Wave:
    """What the input looks like; all of it follows from the number of a row.

    Attributes:
        batches: how many there are.
        period: batches from one trough to the next.
        rows: of a batch.
        fewest: keys that a window draws from in a trough.
        most: the same at a peak.
    """

    batches: int
    period: int
    rows: int = 10_000
    fewest: int = 4_000
    most: int = 70_000

    def stream(self, spark: SparkSession) -> DataFrame:
        """One batch after another, as fast as they are done."""
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", self.rows)
        rows = source.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()
        return self._counted(rows.withWatermark("timestamp", f"{DELAY} seconds"))

    def batch(self, spark: SparkSession) -> DataFrame:
        """The answer to all of it."""
        numbers = spark.range(self.rows * self.batches).withColumnRenamed("id", "value")
        return self._counted(numbers.withColumn("timestamp", F.expr(f"timestamp_seconds(value div {self.rows})")))

    def is_extreme(self, batch: int) -> bool:
        """Whether the state has about the most rows of a wave, or the fewest: it lags behind the input."""
        return (batch - _LAG) % (self.period // 2) == 0

    def moment(self, batch: int) -> str:
        """The moment of a wave: peak and trough are the tenths about the extremes; else empty."""
        near = self.period // 20
        after = (batch - _LAG + near) % self.period
        if after % (self.period // 2) > 2 * near:
            return ""
        return "trough" if after < self.period // 2 else "peak"

    def _counted(self, rows: DataFrame) -> DataFrame:
        """Count, sum and longest text of each key in each window; keys and texts are longest at a peak."""
        half = self.period // 2
        first = f"{WINDOW} * (value div {WINDOW * self.rows})"  # batch of the window
        height = F.expr(f"{half} - abs({first} % {self.period} - {half})")
        keys = rows.withColumn("height", height).selectExpr(
            "timestamp",
            "value",
            f"repeat('k', int(height * 10 div {half})) || "
            f"pmod(xxhash64(value), {self.fewest} + {self.most - self.fewest} * height div {half}) AS key",
            f"repeat('t', int(value % (20 + height * {LONGEST - 20} div {half}))) AS text",
        )
        grouped = keys.groupBy(F.window("timestamp", f"{WINDOW} seconds"), "key")
        return grouped.agg(F.count("*").alias("n"), F.sum("value").alias("total"), F.max("text").alias("longest"))


def rows_of(answer: DataFrame) -> Rows:
    """Sum up an answer by window: small enough to keep, and every row of it counts."""
    hashed = answer.select(
        F.col("window.start").cast("string").alias("start"), F.expr("xxhash64(key, n, total, longest)").alias("hash")
    )
    sums = hashed.groupBy("start").agg(F.count("*"), F.expr("bit_xor(hash)")).collect()
    return {start: (count, xor) for start, count, xor in sums}


def rows_in_state(spark: SparkSession, checkpoint: str, batch: int) -> Rows:
    """The windows that are still open after a batch: what the state reader finds."""
    state = spark.read.format("statestore").option("batchId", batch).load(checkpoint)
    names = ["count AS n", "sum AS total", "max AS longest"]
    return rows_of(state.selectExpr("key.window", "key.key", *[f"value.{name}" for name in names]))
