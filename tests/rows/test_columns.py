"""Arrow columns as UnsafeRows against the codec of Python values, whose rows are those of Spark."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as spark_types

from keygroups.partition import columns
from keygroups.partition.columns import Packed, column_decoder, column_encoder
from keygroups.rows.decode import Bytes, bytes_of, row_decoder
from keygroups.rows.encode import row_encoder
from keygroups.state.arrays import array_maker
from keygroups.state.arrow import values_of
from keygroups.state.types import parse_type
from support.typed_rows import SCHEMAS, present, seen


def rows_of(packed: Packed) -> list[bytes]:
    data = packed.words.tobytes()
    return [data[s : s + n] for s, n in zip((packed.starts * 8).tolist(), (packed.sizes * 8).tolist(), strict=True)]


@pytest.mark.parametrize("piece", [16, columns.PIECE_BYTES])
@pytest.mark.parametrize("ddl", SCHEMAS, ids=range(len(SCHEMAS)))
def test_columns_are_the_same_rows(ddl: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes, and the same values back; also where columns and rows are parts of others."""
    monkeypatch.setattr(columns, "PIECE_BYTES", piece)
    schema = parse_type(ddl)
    assert isinstance(schema, spark_types.StructType)
    encode, decode = column_encoder(schema), column_decoder(schema)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(present(schema), min_size=1, max_size=30), st.integers(0, 5))
    def check(rows: list[Any], skipped: int) -> None:
        start = min(skipped, len(rows) - 1)
        arrays = [
            array_maker(field.dataType)(values).slice(start)
            for field, values in zip(schema.fields, zip(*rows, strict=True), strict=True)
        ]
        expected = row_encoder(schema)(rows)
        assert [row.hex() for row in rows_of(encode(arrays))] == [row.hex() for row in expected[start:]]
        places = bytes_of(expected)
        found = decode(places.at(places.starts[start:], places.sizes[start:]))
        known = row_decoder(schema)(places)
        for array, values in zip(found, known, strict=True):
            assert seen(values_of(array)) == seen(values[start:])

    check()


def test_texts_need_little_memory_beside_their_own() -> None:
    """Numpy's places of all bytes would take 16 times as much."""
    schema = parse_type("a string")
    assert isinstance(schema, spark_types.StructType)
    texts = pa.array([f"a text of some length, number {i:09}" for i in range(200_000)])
    tracemalloc.start()
    try:
        packed = column_encoder(schema)([texts])
        (found,) = column_decoder(schema)(Bytes(packed.words.data.cast("B"), packed.starts * 8, packed.sizes * 8))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.equals(texts)
    assert peak < 8 * texts.nbytes


def test_no_rows() -> None:
    """A batch in which nothing was found, or nothing stays."""
    schema = parse_type("a bigint, b string")
    assert isinstance(schema, spark_types.StructType)
    packed = column_encoder(schema)([pa.array([], pa.int64()), pa.array([], pa.string())])
    assert (len(packed.words), len(packed.sizes)) == (0, 0)
    assert [len(column) for column in column_decoder(schema)(bytes_of([]))] == [0, 0]
