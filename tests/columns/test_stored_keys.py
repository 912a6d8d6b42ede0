"""Stored keys of each order against an encoding in plain Python, a key at a time."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as spark_types

from campaigns.fuzz.samples import encoder
from keygroups.columns.stored_keys import KeyForm
from keygroups.rows.encode import row_encoder
from keygroups.state.types import parse_type
from support.typed_rows import present

FORMATS = {"tinyint": "b", "smallint": "h", "int": "i", "bigint": "q", "float": "f", "double": "d", "boolean": "?"}


def in_order(value: float | bool | None, kind: str) -> bytes:
    """A marker and the value, as bytes that sort as values do."""
    size = struct.calcsize(FORMATS[kind])
    if value is None:
        return b"\2" + bytes(size)
    data = struct.pack(">" + FORMATS[kind], value)
    negative = data[0] > 127
    if negative and kind in ("float", "double"):
        data = bytes(255 - byte for byte in data)
    return bytes([not negative]) + data


def ordered(columns: list[tuple[Any, str]], row: bytes) -> bytes:
    head = b"".join(in_order(value, kind) for value, kind in columns)
    return head + bytes(-len(head) % 8) + row


def timed(values: tuple[Any, ...], schema: spark_types.StructType) -> bytes:
    rest = row_encoder(spark_types.StructType(schema.fields[:-1]))([values[:-1]])[0]
    return rest + struct.pack(">Q", values[-1] + (1 << 63))


def schema_of(ddl: str) -> spark_types.StructType:
    schema = parse_type(ddl)
    assert isinstance(schema, spark_types.StructType)
    return schema


def form(ddl: str, kind: str, **rest: object) -> KeyForm:
    return KeyForm.of(schema_of(ddl).json(), encoder(kind, **rest))


def check(form: KeyForm, keys: list[bytes], hashed: list[bytes] | None) -> None:
    """The keys come back from columns, and their locators are those that the shim computes."""
    column = pa.array(keys, pa.binary())
    columns = form.to_columns(column)
    assert columns is not None
    columns.validate(full=True)
    assert form.to_keys(columns).cast(pa.binary()).equals(column)
    groups = np.arange(len(keys), dtype=np.uint16) % 7
    if hashed is None:
        expected = [int.from_bytes(key[:8], "big") >> 1 for key in keys]
    else:
        expected = [int(g) << 48 | xxhash.xxh64_intdigest(h) >> 16 for g, h in zip(groups, hashed, strict=True)]
    locators = form.locators(column, groups)
    assert locators is not None
    assert locators.tolist() == expected


@pytest.mark.parametrize("ddl", ["a bigint, b string", "a struct<x int, y string>, b array<string>", "a double"])
def test_hashed(ddl: str) -> None:
    @settings(max_examples=20, deadline=None)
    @given(st.lists(present(schema_of(ddl)), max_size=20))
    def run(rows: list[Any]) -> None:
        keys = row_encoder(schema_of(ddl))(rows)
        check(form(ddl, "NoPrefixKey"), keys, keys)

    run()


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize(
    "ddl", ["a bigint, b string, c int", "a struct<x int, y string>, b decimal(30,2), c array<string>"]
)
def test_prefixed(ddl: str, columns: int) -> None:
    schema = schema_of(ddl)
    first = row_encoder(spark_types.StructType(schema.fields[:columns]))

    @settings(max_examples=20, deadline=None)
    @given(st.lists(present(schema), max_size=20))
    def run(rows: list[Any]) -> None:
        prefixes = first([tuple(row)[:columns] for row in rows])
        check(form(ddl, "PrefixKeyScan", numColsPrefixKey=columns), row_encoder(schema)(rows), prefixes)

    run()


@pytest.mark.parametrize("ordinals", [[0], [2], [1, 0], list(range(7))], ids=str)
@pytest.mark.parametrize("text", ["int", "string"])
def test_ordered(ordinals: list[int], text: str) -> None:
    kinds = list(FORMATS)
    ddl = ", ".join(f"c{n} {kind}" for n, kind in enumerate(kinds)) + f", t {text}"
    schema = schema_of(ddl)

    @settings(max_examples=20, deadline=None)
    @given(st.lists(present(schema), max_size=20))
    def run(rows: list[Any]) -> None:
        encoded = row_encoder(schema)(rows)
        keys = [ordered([(row[n], kinds[n]) for n in ordinals], data) for row, data in zip(rows, encoded, strict=True)]
        check(form(ddl, "RangeKeyScan", orderingOrdinals=ordinals), keys, None)

    run()


@pytest.mark.parametrize("ddl", ["a string, t bigint", "a bigint, b int, t bigint"])
def test_timed(ddl: str) -> None:
    schema = schema_of(ddl)
    rest = spark_types.StructType(schema.fields[:-1])

    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.tuples(present(rest), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=20))
    def run(rows: list[Any]) -> None:
        values = [(*row, time) for row, time in rows]
        keys = [timed(row, schema) for row in values]
        check(form(ddl, "TimestampAsPostfixKey"), keys, [key[:-8] for key in keys])
        first = [ordered([(row[-1], "bigint")], row_encoder(schema)([row])[0]) for row in values]
        check(form(ddl, "TimestampAsPrefixKey"), first, None)

    run()


def test_keys_of_another_form_are_not_shown() -> None:
    """A head that does not follow from the row could not come back."""
    (row,) = row_encoder(schema_of("a bigint"))([(5,)])
    wrong = ordered([(6, "bigint")], row)
    assert form("a bigint", "RangeKeyScan", orderingOrdinals=[0]).to_columns(pa.array([wrong], pa.binary())) is None
    assert form("a bigint", "TimestampAsPostfixKey").to_columns(pa.array([b""], pa.binary())) is None
