"""UnsafeRows as a struct column with a child for each field, and back. What is shown gives the same bytes again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from keygroups.columns.kinds import Fields
from keygroups.columns.plain import is_plain, show_plain
from keygroups.columns.shown import hide, show
from keygroups.columns.slots import join, split
from keygroups.segment.arrays import arrow, mask


def to_columns(rows: pa.Array, fields: Fields) -> pa.StructArray | None:
    """Rows as a column of structs.

    Args:
        rows: binary or fixed_size_binary[n]; null stays null.
        fields: of each row.

    Returns:
        The column, or None if it would not give the same bytes again or readers would refuse it: Spark may leave bytes
        in a row that no field has, texts and numbers in another order than that of the fields, and decimals with more
        digits than their type.
    """
    present = rows.drop_null() if rows.null_count else rows
    try:
        if len(present) and is_plain(fields):
            columns = _struct(show_plain(present, fields), fields, len(present))
        else:
            shown = [show(slot, field.kind) for slot, field in zip(split(present, fields), fields, strict=True)]
            columns = _struct(shown, fields, len(present))
            if not _same(present, to_rows(columns, fields)):
                return None
    except ValueError:
        return None
    return _spread(columns, rows) if rows.null_count else columns


def to_rows(columns: pa.StructArray, fields: Fields) -> pa.Array:
    """The rows of such a column.

    Returns:
        fixed_size_binary[n] if all rows have the same length and none is null, else binary[n].
    """
    present = columns.drop_null() if columns.null_count else columns
    slots = [hide(values, field.kind) for values, field in zip(present.flatten(), fields, strict=True)]
    rows = join(len(present), fields, slots)
    return _spread(rows, columns) if columns.null_count else rows


def columns_type(fields: Fields) -> pa.StructType:
    """The type of a column in which all texts are UTF-8."""
    return pa.struct([pa.field(n, f.kind.shown) for n, f in zip(_names(f.name for f in fields), fields, strict=True)])


def _struct(shown: list[pa.Array], fields: Fields, length: int) -> pa.StructArray:
    names = _names(field.name for field in fields)
    kind = pa.struct([pa.field(name, values.type) for name, values in zip(names, shown, strict=True)])
    return pa.Array.from_buffers(kind, length, [None], 0, 0, shown)


def _names(given: Iterable[str]) -> Iterator[str]:
    """The names, of which no two are the same: many tools refuse such structs."""
    seen: set[str] = set()
    latest: dict[str, int] = {}
    for name in given:
        free = name
        while free in seen:
            latest[name] = latest.get(name, 1) + 1
            free = f"{name}_{latest[name]}"
        seen.add(free)
        yield free


def _spread(dense: pa.Array, like: pa.Array) -> pa.Array:
    """Values in the places where another column has no null, null in the others."""
    valid = mask(like.is_valid())
    place = np.cumsum(valid) - 1
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    indices = arrow(np.where(valid, place, 0))
    if not len(dense):
        return pa.nulls(len(like), dense.type)
    nulls = pa.Array.from_buffers(pa.int64(), len(valid), [bits, indices.buffers()[1]], like.null_count)
    return dense.take(nulls)


def _same(rows: pa.Array, others: pa.Array) -> bool:
    if rows.type == others.type:
        return bool(rows.equals(others))
    return bool(rows.cast(pa.binary()).equals(others.cast(pa.binary())))
