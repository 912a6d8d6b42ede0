"""UnsafeRows made in Python; `integration/rows` compares them with those that Spark makes, byte by byte."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest
from pyspark.sql import types as spark_types

from keygroups.errors import SettingError
from keygroups.partition.columns import column_decoder
from keygroups.rows.decode import bytes_of, row_decoder
from keygroups.rows.encode import row_encoder
from keygroups.rows.times import BeyondDate, BeyondTime, micros_of
from keygroups.state.arrays import array_maker
from keygroups.state.arrow import values_of
from keygroups.state.types import parse_type
from support.typed_rows import LAST


def test_entries_of_a_map_keep_their_order() -> None:
    """As Python's own dicts do."""
    schema = parse_type("a map<string,bigint>")
    assert isinstance(schema, spark_types.StructType)
    given = {text: len(text) for text in ("", "one", "three", "a text of more than a word")}
    ((found,),) = row_decoder(schema)(bytes_of(row_encoder(schema)([(given,)])))
    assert list(found.items()) == list(given.items())


def test_no_rows_are_no_bytes() -> None:
    """A batch in which nothing was written."""
    schema = parse_type("a bigint, b string")
    assert isinstance(schema, spark_types.StructType)
    assert row_encoder(schema)([]) == []
    assert row_decoder(schema)(bytes_of([])) == [[], []]


def test_a_type_that_state_cannot_have_is_refused() -> None:
    """When the codec is made, not with the first row."""
    schema = spark_types.StructType([spark_types.StructField("a", spark_types.YearMonthIntervalType())])
    for make in (row_encoder, row_decoder):
        with pytest.raises(SettingError, match="state cannot have the type interval year to month"):
            make(schema)


def test_times_that_python_does_not_have_come_back() -> None:
    """Of the year 12000 and of year -5, beside others."""
    schema = parse_type("a date, b timestamp, c timestamp_ntz")
    assert isinstance(schema, spark_types.StructType)
    day, micros = 366 * 10_000, 366 * 10_000 * 86_400_000_000
    far = [(BeyondDate(sign * day), BeyondTime(sign * micros), BeyondTime(sign * micros)) for sign in (1, -1)]
    rows: list[Any] = [*far, (dt.date(2026, 1, 1), LAST, LAST), (None, None, None)]
    encoded = row_encoder(schema)(rows)
    assert list(zip(*row_decoder(schema)(bytes_of(encoded)), strict=True)) == rows
    arrays = column_decoder(schema)(bytes_of(encoded))
    assert list(zip(*map(values_of, arrays), strict=True)) == rows
    makers = [array_maker(field.dataType) for field in schema.fields]
    assert [make(list(column)) for make, column in zip(makers, zip(*rows, strict=True), strict=True)] == arrays


def test_an_hour_that_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """``fold`` tells the two apart."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        first = dt.datetime(2026, 10, 25, 2, 30, 0, 123456)  # noqa: DTZ001 - local time
        second = first.replace(fold=1)
        assert micros_of(second) - micros_of(first) == 3600 * 1_000_000
        assert spark_types.TimestampType().fromInternal(micros_of(second)) == second
        assert spark_types.TimestampType().fromInternal(micros_of(second)).fold == 1
        assert micros_of(dt.datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=dt.timezone.utc)) == -999_995
    finally:
        monkeypatch.undo()
        time.tzset()
