"""UnsafeRows made in Python; `integration/rows` compares them with those that Spark makes, byte by byte."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from pyspark.sql import types as spark_types

from keygroups.errors import SettingError
from keygroups.rows.decode import bytes_of, row_decoder
from keygroups.rows.encode import row_encoder
from keygroups.rows.scalars import micros_of
from keygroups.state.types import parse_type


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
