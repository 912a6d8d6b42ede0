"""The delay budget of each aircraft: a keyed function, and the same answer from a batch job in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

import keygroups as kg
from keygroups.demo.data import SENTINEL
from keygroups.demo.queries import WATERMARK, Query
from keygroups.functions import Context, KeyedProcessFunction, OnTimerContext, RuntimeContext
from keygroups.state import Duration, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor

BUDGET = 60
"""Minutes of departure delay that an aircraft may gather in a day (UTC)."""
DAY = 24 * 3600 * 1000
ANSWER = "tailnum string, day timestamp, flights bigint, minutes bigint, days_over bigint"


class DelayBudget(KeyedProcessFunction):
    """When a day has passed, tells what an aircraft spent of its budget, and on how many days so far it was over it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the states.

        A day's entry goes when its timer fires. The time to live removes what no timer does, should event time stand
        still: without it, aircraft that are gone would stay forever.
        """
        days = MapStateDescriptor("days", "bigint", "flights bigint, minutes bigint")
        days.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_days(30)).build())
        self.days = runtime_context.get_map_state(days)
        self.over = runtime_context.get_state(ValueStateDescriptor("over", "bigint"))
        self.overruns = runtime_context.get_metrics_group().counter("overruns")

    def process_element(self, value: Row, ctx: Context) -> None:
        """Spend the flight's delay from the budget of its day. A flight without an aircraft was cancelled."""
        if value.tailnum is None:
            return
        day = ctx.timestamp() // DAY * DAY
        known = self.days.get(day) or (0, 0)
        self.days.put(day, (known[0] + 1, known[1] + max(value.dep_delay or 0, 0)))
        ctx.timer_service().register_event_time_timer(day + DAY - 1)

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterator[tuple[object, ...]]:
        """Close a day. Timers of an aircraft fire in the order of their times."""
        day = timestamp + 1 - DAY
        spent = self.days.get(day)
        self.days.remove(day)
        over = self.over.value() or 0
        if spent.minutes > BUDGET:
            over += 1
            self.over.update(over)
            self.overruns.inc()
        yield (
            ctx.get_current_key(),
            datetime.fromtimestamp(day / 1000, timezone.utc),
            spent.flights,
            spent.minutes,
            over,
        )


def budget(flights: DataFrame, _weather: DataFrame) -> DataFrame:
    """Days of all aircraft, from a keyed function.

    Args:
        flights: The flights, a stream or not.
        _weather: Not used.

    Returns:
        One row per aircraft and day.
    """
    given = flights.withWatermark("scheduled", WATERMARK)
    return kg.key_by(given, "tailnum").process(DelayBudget(), ANSWER, uid="budget")


def budget_in_sql(flights: DataFrame, _weather: DataFrame) -> DataFrame:
    """Days of all aircraft, from a batch job: a group by, and a running sum over each aircraft's days."""
    real = flights.where(f"tailnum IS NOT NULL AND carrier != '{SENTINEL}'")
    spent = F.greatest(F.coalesce("dep_delay", F.lit(0)), F.lit(0)).cast("bigint")
    days = real.groupBy("tailnum", F.date_trunc("day", "scheduled").alias("day"))
    spent_by_day = days.agg(F.count("*").alias("flights"), F.sum(spent).alias("minutes"))
    earlier = Window.partitionBy("tailnum").orderBy("day").rowsBetween(Window.unboundedPreceding, 0)
    over = F.sum(F.when(F.col("minutes") > BUDGET, 1).otherwise(0).cast("bigint")).over(earlier)
    return spent_by_day.withColumn("days_over", over)


def aircraft_over(answer: DataFrame) -> int:
    """How many aircraft were over their budget on some day: what stays in the state when all days are closed."""
    return answer.where("days_over > 0").select("tailnum").distinct().count()


QUERY = Query("budget", "delay budget per aircraft and day", budget, "false", aircraft_over, check=budget_in_sql)
