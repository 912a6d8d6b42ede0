"""Rows of numbers, texts and bytes are shown as columns just when rows made of these columns have the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keygroups.columns.kinds import Field, Fields, Kind, fields_of
from keygroups.columns.plain import is_plain
from keygroups.columns.rows import to_columns, to_rows
from keygroups.columns.shown import show
from keygroups.columns.slots import MAX_HEAD_BYTES, WORD, head_words, null_words, split

TYPES = (
    *("byte", "short", "integer", "long", "float", "double", "boolean", "void", "date", "timestamp", "timestamp_ntz"),
    *("decimal(1,0)", "decimal(18,2)", "interval day to second", "interval year to month", "time(6)"),
    *("string", "binary"),
)
WORDS = (0, 1, 2, 99, 1 << 31, 0x7FC00001, 0x7FF8000000000001, 86_400 * 10**9, 10**18 - 1, 10**18)


def fields(types: list[str]) -> Fields:
    listed = [f'{{"name": "c{number}", "type": "{name}"}}' for number, name in enumerate(types)]
    found = fields_of(f'{{"fields": [{", ".join(listed)}]}}')
    assert found is not None
    assert is_plain(found)
    return found


def comes_back(rows: pa.Array, fields: Fields) -> bool:
    """By making rows of the columns."""
    try:
        values = [show(slot, field.kind) for slot, field in zip(split(rows, fields), fields, strict=True)]
        made = to_rows(pa.StructArray.from_arrays(values, names=[field.name for field in fields]), fields)
    except (ValueError, pa.ArrowInvalid):
        return False
    return bool(made.cast(pa.binary()).equals(rows.cast(pa.binary())))


def usual(random: Random, kind: Kind) -> int:
    """A word as Spark writes it."""
    if pa.types.is_null(kind.shown):
        return 0
    if pa.types.is_boolean(kind.shown):
        return random.getrandbits(1)
    if pa.types.is_decimal(kind.shown):
        return random.randint(1 - 10**kind.shown.precision, 10**kind.shown.precision - 1) % (1 << 64)
    if pa.types.is_time(kind.shown):
        return random.randrange(86_400 * 10**9)
    return random.getrandbits(8 * np.dtype(kind.number).itemsize)


def any_row(random: Random, fields: Fields, wrong: float) -> list[int]:
    """The words of a row, in some of which there is something that Spark does not write."""
    null = [random.random() < 0.3 or pa.types.is_null(field.kind.shown) for field in fields]
    bits = sum(none << number for number, none in enumerate(null))
    row = [bits >> 64 * number & (1 << 64) - 1 for number in range(null_words(fields))]
    values: list[int] = []
    for none, field in zip(null, fields, strict=True):
        if field.kind.number is None and not none:
            size = random.randrange(20)
            value = random.choice([random.randbytes(size), b"text"[: size % 5] * 3])
            row.append((head_words(fields) + len(values)) * WORD << 32 | len(value))
            values += np.frombuffer(value.ljust(-(-len(value) // WORD) * WORD, b"\0"), np.uint64).tolist()
        else:
            row.append(0 if none else usual(random, field.kind))
    row += values
    changes: list[Callable[[int], int]] = [
        lambda word: word ^ 1 << random.randrange(64),
        lambda _: random.getrandbits(64),
        lambda _: random.choice(WORDS),
        lambda word: -word % (1 << 64),
    ]
    for number in range(len(row)):
        if random.random() < wrong:
            row[number] = random.choice(changes)(row[number])
    return row


@settings(max_examples=1500, deadline=None)
@given(
    st.lists(st.sampled_from(TYPES), min_size=1, max_size=5),
    st.integers(1, 4),
    st.integers(0, 2),
    st.sampled_from([0.0, 0.03, 0.3]),
    st.sampled_from([0, 0, 0, 0, -1, 1]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_columns_are_those_that_come_back(
    types: list[str], count: int, skipped: int, wrong: float, longer: int, fixed: bool, random: Random
) -> None:
    """Whatever is in the rows, in a part of a column too."""
    kinds = fields(types)
    rows = [any_row(random, kinds, wrong) for _ in range(count + skipped)]
    data = [np.array([*row, 0][: len(row) + longer], np.uint64).tobytes() for row in rows]
    is_fixed = fixed and len(data[0]) > 0 and len({len(row) for row in data}) == 1
    column = pa.array(data, pa.binary(len(data[0])) if is_fixed else pa.binary()).slice(skipped)
    expected = comes_back(column, kinds)
    columns = to_columns(column, kinds)
    assert (columns is not None) == expected
    if columns is not None:
        columns.validate(full=True)
        assert to_rows(columns, kinds).cast(pa.binary()).equals(column.cast(pa.binary()))


@pytest.mark.parametrize("name", TYPES)
def test_each_bit_of_a_word(name: str) -> None:
    """Alone in a row that is otherwise zero, null or not."""
    kinds = fields([name])
    for bit in range(128):
        for null in (0, 1):
            words = np.zeros(2, np.uint64)
            words[bit // 64] = 1 << bit % 64
            words[0] |= np.uint64(null)
            column = pa.array([words.tobytes()], pa.binary())
            assert (to_columns(column, kinds) is not None) == comes_back(column, kinds), (bit, null)


@pytest.mark.parametrize("count", [63, 64, 65, 128, 130])
def test_null_bits_of_many_fields(count: int) -> None:
    """Those behind the last one have to be zero."""
    kinds = fields(["long"] * count)
    size = null_words(kinds)
    for bit in range(64 * size):
        words = np.zeros(head_words(kinds), np.uint64)
        words[bit // 64] = 1 << bit % 64
        columns = to_columns(pa.array([words.tobytes()], pa.binary()), kinds)
        assert (columns is not None) == (bit < count)
        assert columns is None or columns.field(bit).null_count == 1


def test_rows_of_several_lengths() -> None:
    """One of them is longer than its fields."""
    kinds = fields(["long"])
    column = pa.array([bytes(2 * WORD), bytes(3 * WORD)], pa.binary())
    assert to_columns(column, kinds) is None
    assert not comes_back(column, kinds)


def test_too_many_rows_for_a_block() -> None:
    """They could not be read again."""
    kinds = fields(["long"] * 1023)
    count = MAX_HEAD_BYTES // (head_words(kinds) * WORD)
    row = bytes(head_words(kinds) * WORD)
    column = pa.array([row] * (count + 1), pa.binary(len(row)))
    assert to_columns(column, kinds) is None
    assert to_columns(column.slice(1), kinds) is not None


def test_rows_with_wide_numbers_are_not_plain() -> None:
    """Nor those without fields."""
    assert not is_plain(())
    assert is_plain((Field("a", Kind(pa.int64(), "u8")), Field("b", Kind(pa.utf8()))))
    assert not is_plain((Field("a", Kind(pa.int64(), "u8")), Field("b", Kind(pa.decimal128(38, 2), is_wide=True))))
