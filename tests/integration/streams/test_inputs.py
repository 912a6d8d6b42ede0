"""Columns of any name and type: a function sees them, or need not, and gives them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import keygroups as kg
from keygroups.functions import Context, KeyedProcessFunction, RuntimeContext
from keygroups.state import ValueStateDescriptor

COLUMNS = {
    "id": "id",
    "__key0": "id",
    "__hash": "id + 1",
    "__key": "id",
    "__slots__": "id",
    "asDict": "id",
    "user id": "id",
    "a.b": "id",
    "a-b": "id",
    "1a": "id",
    "0": "id",
    "months": "make_ym_interval(0, cast(id AS INT) * 13 - 20)",
    "years": "cast(make_ym_interval(cast(id AS INT), 0) AS INTERVAL YEAR)",
    "late": "timestamp_micros(316516723200000000 + id)",
    "early": "timestamp_micros(-62293449600000000 - id)",
    "late_ntz": "cast(timestamp_micros(316516723200000000) AS TIMESTAMP_NTZ)",
    "late_date": "date_add(DATE '9999-12-31', 800000)",
    "early_date": "date_add(DATE '0001-01-01', -3000)",
    "nothing": "struct()",
    "interval": "make_dt_interval(1, 2, 3, 4)",
    "map": "map(1, 'a')",
    "collated": "'X' COLLATE UTF8_LCASE",
}
"""Names that are no identifiers or mean something to us, types that Python does not have, values out of its range."""
OTHERS = {"calendar": "make_interval(1)", "variant": "parse_json('1')", "time": "TIME '12:00:00'"}
"""What Python sees, but cannot give."""


def odd(frame: DataFrame, columns: dict[str, str]) -> DataFrame:
    return frame.selectExpr(*(f"{expression} AS `{name}`" for name, expression in columns.items()))


def shown(frame: DataFrame) -> list[str]:
    """Rows as Spark shows them, in the order of their ids."""
    rows = frame.select("id", F.to_json(F.struct("map", "nothing")), *(F.col(f"`{n}`").cast("string") for n in PRINTED))
    return sorted(map(str, rows.collect()))


PRINTED = [name for name in COLUMNS if name not in ("id", "map", "nothing")]


class Last(KeyedProcessFunction):
    """Gives the row before, under the key that it was found by."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", self.kind))

    def process_element(self, value: Any, ctx: Context) -> Iterator[Any]:
        before = self.last.value()
        self.last.update(value["late"])
        yield value.id, str(ctx.get_current_key()), str(before)


def test_odd_columns_of_a_bounded_frame_come_back(spark: SparkSession) -> None:
    frame = odd(spark.range(4), COLUMNS)
    found = kg.key_by(frame, "id").filter(lambda row: row.id > 0 and row["user id"] == row.id, uid="filter")
    assert shown(found) == shown(frame.where("id > 0"))
    assert [field.name for field in found.schema] == list(COLUMNS)
    months = kg.key_by(frame, "id").map(lambda row: (row.id, row.months), "id bigint, n int", uid="months")
    assert sorted(map(tuple, months.collect())) == [(i, i * 13 - 20) for i in range(4)]


def test_odd_columns_may_be_keys(spark: SparkSession) -> None:
    """And so may values that Python does not have."""
    keys = ["`user id`", "`a.b`", "`0`", "late", "early_date", "nothing", "interval", "__key0"]
    frame = odd(spark.range(2).union(spark.range(2)), COLUMNS | OTHERS)
    found = (
        kg.key_by(frame, *keys).process(Last("timestamp"), "id bigint, key string, before string", uid="last").collect()
    )
    assert sorted((row.id, row.before == "None") for row in found) == [(0, False), (0, True), (1, False), (1, True)]
    assert {row.before for row in found if row.id == 0} == {
        "None", "a time outside of the years 1 to 9999: 316516723200000000 microseconds since 1970"
    }  # fmt: skip
    assert all(f"Row(user id={row.id}, a.b={row.id}, 0={row.id}, late=a time" in row.key for row in found)
