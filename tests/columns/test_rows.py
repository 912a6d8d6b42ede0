"""Rows shown as columns give the same bytes again, whatever they hold."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as spark_types

from keygroups.columns.hashes import xxh64
from keygroups.columns.kinds import Fields, fields_of
from keygroups.columns.rows import columns_type, to_columns
from keygroups.columns.slots import join, split
from keygroups.rows.encode import row_encoder
from keygroups.state.arrow import values_of
from keygroups.state.types import parse_type
from support.typed_rows import SCHEMAS, present, seen, shown

FLAT = SCHEMAS[:4]


def shape(ddl: str) -> tuple[spark_types.StructType, Fields]:
    schema = parse_type(ddl)
    assert isinstance(schema, spark_types.StructType)
    fields = fields_of(schema.json())
    assert fields is not None
    return schema, fields


@pytest.mark.parametrize("ddl", SCHEMAS, ids=range(len(SCHEMAS)))
def test_rows_come_back(ddl: str) -> None:
    """Nulls between them too, and parts of a column; values are the user's where no column is nested."""
    schema, fields = shape(ddl)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.none() | present(schema), min_size=1, max_size=30), st.integers(0, 5))
    def check(rows: list[Any], skipped: int) -> None:
        start = min(skipped, len(rows) - 1)
        encoded = iter(row_encoder(schema)([row for row in rows if row is not None]))
        column = pa.array([None if row is None else next(encoded) for row in rows], pa.binary()).slice(start)
        columns = shown(column, fields)
        if ddl in FLAT:
            found = zip(*(values_of(part) for part in columns.flatten()), strict=True)
            expected = [tuple(row) if row is not None else (None,) * len(fields) for row in rows[start:]]
            assert [seen(row) for row in found] == [seen(row) for row in expected]

    check()


def test_the_bits_of_numbers_stay() -> None:
    """Those of a NaN, and the sign of zero."""
    _, fields = shape("a double, b float")
    words = [(0x7FF8000000000001, 0x7FC00001), (0xFFF0000000000123, 0x80000000), (0x8000000000000000, 0xFF800001)]
    rows = pa.array([struct.pack("<QQQ", 0, a, b) for a, b in words], pa.binary(24))
    assert shown(rows, fields).type == pa.struct([("a", pa.float64()), ("b", pa.float32())])


def row(*words: int, mask: int = 0, tail: bytes = b"") -> bytes:
    return struct.pack(f"<{1 + len(words)}Q", mask, *words) + tail


OTHERWISE = {
    "bytes above a small number": ("a int", row(1 << 32)),
    "a word under a null": ("a bigint", row(5, mask=1)),
    "a null bit of no column": ("a bigint", row(5, mask=2)),
    "a boolean that is 2": ("a boolean", row(2)),
    "bytes behind the row": ("a bigint", row(5, 6)),
    "a text in another place": ("a string", row(24 << 32 | 3, tail=bytes(8) + b"abc" + bytes(5))),
    "bytes behind a text": ("a string", row(16 << 32 | 3, tail=b"abcd" + bytes(4))),
    "a text without its filling": ("a string, b string", row(24 << 32 | 8, 24 << 32 | 8, tail=b"abcdefgh")),
    "a decimal with a byte too many": ("a decimal(20,0)", row(16 << 32 | 2, tail=b"\0\1" + bytes(14))),
    "a decimal of 17 bytes": ("a decimal(20,0)", row(16 << 32 | 17, tail=bytes(24))),
    "a decimal with a digit too many": ("a decimal(5,2)", row(10**5)),
    "a negative decimal with a digit too many": ("a decimal(18,0)", row((1 << 64) - 10**18)),
    "a wide decimal with a digit too many": ("a decimal(38,0)", row(16 << 32 | 16, tail=(10**38).to_bytes(16, "big"))),
    "a row that is too short": ("a bigint, b bigint", row(5)),
    "a text outside of its row": ("a string", row(16 << 32 | 9, tail=bytes(8))),
    "a length that is no multiple of 8": ("a bigint", row(5) + b"\0"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_other_bytes_are_not_shown(name: str) -> None:
    """They could not come back."""
    ddl, data = OTHERWISE[name]
    _, fields = shape(ddl)
    assert to_columns(pa.array([data], pa.binary()), fields) is None
    schema = parse_type(ddl)
    assert isinstance(schema, spark_types.StructType)
    usual = row_encoder(schema)([(None,) * len(fields)])[0]
    assert to_columns(pa.array([usual, data], pa.binary()), fields) is None


@pytest.mark.parametrize("nanos", [(1 << 64) - 1, 86_400 * 10**9])
def test_times_outside_a_day_are_not_shown(nanos: int) -> None:
    """Readers refuse them."""
    fields = fields_of('{"fields": [{"name": "a", "type": "time(6)"}]}')
    assert fields is not None
    assert to_columns(pa.array([row(nanos)], pa.binary()), fields) is None
    shown(pa.array([row(86_400 * 10**9 - 1)], pa.binary()), fields)


def test_texts_that_are_not_utf8_are_bytes() -> None:
    _, fields = shape("a string")
    columns = shown(pa.array([row(16 << 32 | 1, tail=b"\xff" + bytes(7))], pa.binary()), fields)
    assert columns.type == pa.struct([("a", pa.binary())])


def test_names_that_come_twice() -> None:
    _, fields = shape("count bigint, count bigint, count_2 int")
    assert [field.name for field in columns_type(fields)] == ["count", "count_2", "count_2_2"]


@pytest.mark.parametrize("ddl", ["a bigint", "a string", ""])
def test_columns_without_rows(ddl: str) -> None:
    """No rows, and none but nulls."""
    _, fields = shape(ddl) if ddl else (None, ())
    for rows in (pa.array([], pa.binary()), pa.array([None, None], pa.binary())):
        columns = shown(rows, fields)
        assert (len(columns), columns.null_count) == (len(rows), rows.null_count)
        assert columns.type == columns_type(fields)


def test_rows_without_columns() -> None:
    """Spark's deduplication stores them."""
    columns = shown(pa.array([b"", None, b""], pa.binary()), ())
    assert columns.null_count == 1


def test_the_first_columns_of_rows() -> None:
    """As a projection of Spark's gives them: the rows of a prefix."""
    schema, fields = shape("a string, b bigint, c array<int>")
    values = [("some text", 5, [1, 2]), (None, 6, None), ("", None, [])]
    rows = pa.array(row_encoder(schema)(values), pa.binary())
    first, two = shape("a string, b bigint")
    expected = row_encoder(first)([value[:2] for value in values])
    assert join(3, two, split(rows, fields)[:2]).to_pylist() == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=20), st.integers(0, 3), st.randoms(use_true_random=False))
def test_hashes_are_those_of_the_library(sizes: list[int], skipped: int, random: Random) -> None:
    keys = [random.randbytes(8 * size) for size in sizes]
    expected = [xxhash.xxh64_intdigest(key) for key in keys[skipped:]]
    assert xxh64(pa.array(keys, pa.binary()).slice(skipped)).tolist() == expected
    if keys and sizes[0] and len(set(sizes)) == 1:
        assert xxh64(pa.array(keys, pa.binary(8 * sizes[0])).slice(skipped)).tolist() == expected


def test_hashes_of_keys_of_one_length() -> None:
    keys = np.random.default_rng(1).bytes(48 * 100)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(48), 100, [None, pa.py_buffer(keys)]).slice(7, 50)
    assert xxh64(column).tolist() == [xxhash.xxh64_intdigest(key) for key in column.to_pylist()]


def test_not_a_schema() -> None:
    with pytest.raises(ValueError, match="not a schema of Spark"):
        fields_of('"bigint"')
    assert fields_of('{"fields": [{"name": "a", "type": "interval"}]}') is None
