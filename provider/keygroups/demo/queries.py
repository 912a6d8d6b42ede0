"""The queries. Each one runs as a stream, and unchanged as the batch job that its answer is checked against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from keygroups.demo.data import SENTINEL

WATERMARK = "1 day"
"""How late a row may be: a live feed reports a flight when it leaves, and the longest delay is 1,301 minutes."""


@dataclass(frozen=True)
class Query:
    """One query of the demo.

    Attributes:
        name: Short name; also the name of its folders.
        title: What it computes, in a few words.
        build: From (flights, weather) to the answer. Both are streams, or both are not.
        held_back: SQL condition of the rows that the watermark rightly holds back at the end: those of the sentinel.
        state_rows: From the answer to the number of rows in the state after the last batch.
        check: The batch job, if it is another query.
    """

    name: str
    title: str
    build: Callable[[DataFrame, DataFrame], DataFrame]
    held_back: str
    state_rows: Callable[[DataFrame], int]
    check: Callable[[DataFrame, DataFrame], DataFrame] | None = None


def delays(flights: DataFrame, _weather: DataFrame) -> DataFrame:
    """Departure delays per carrier and hour of schedule.

    A cancelled flight has no delay: it counts as cancelled and is in neither the mean nor the maximum. Minutes are
    whole numbers, so sums and means are exact in any order.

    Args:
        flights: The flights.
        _weather: Not used.

    Returns:
        One row per carrier and hour.
    """
    windows = flights.withWatermark("scheduled", WATERMARK).groupBy(F.window("scheduled", "1 hour"), "carrier")
    return windows.agg(
        F.count("*").alias("flights"),
        F.count_if(F.col("dep_delay").isNull()).alias("cancelled"),
        F.avg("dep_delay").alias("mean_delay"),
        F.max("dep_delay").alias("worst_delay"),
    ).select(F.col("window.start").alias("hour"), "carrier", "flights", "cancelled", "mean_delay", "worst_delay")


def aircraft(flights: DataFrame, _weather: DataFrame) -> DataFrame:
    """Every aircraft once, when it is first seen.

    This is dropDuplicates and not dropDuplicatesWithinWatermark: "seen before" has no time limit here, and the state is
    bounded without one, by the size of the fleet. Within a watermark an aircraft would come back after each pause of a
    day, how often would depend on where the batches are cut, and no batch job could confirm the answer. Flights without
    a tail number were cancelled before they got an aircraft, and are left out.

    Args:
        flights: The flights.
        _weather: Not used.

    Returns:
        One row per tail number.
    """
    return flights.where(F.col("tailnum").isNotNull()).select("tailnum").dropDuplicates(["tailnum"])


def conditions(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Every flight with the weather of its origin and hour.

    A left outer join: an hour without a weather record (1,556 flights) gives nulls, as soon as the watermark says that
    no record can come any more. The hour is part of the key, so the watermark also bounds the state of both sides.

    Args:
        flights: The flights.
        weather: The weather.

    Returns:
        One row per flight.
    """
    left = flights.withWatermark("time_hour", WATERMARK)
    right = weather.withWatermark("time_hour", WATERMARK)
    return left.join(right, ["origin", "time_hour"], "left_outer")


_SENTINEL = f"carrier = '{SENTINEL}'"

QUERIES = (
    Query("delays", "delays per carrier and hour", delays, _SENTINEL, lambda _: 1),
    Query("aircraft", "tail numbers deduplicated", aircraft, "false", lambda answer: answer.count()),
    # What stays in the state of the join is the sentinel of each side.
    Query("conditions", "flights joined with their weather", conditions, _SENTINEL, lambda _: 2),
)
"""The queries, in the order in which the demo runs them."""
