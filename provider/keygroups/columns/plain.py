"""Rows as columns, where the words of the rows show that these give the same bytes again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from keygroups.columns.kinds import Fields, Kind
from keygroups.columns.shown import show
from keygroups.columns.slots import (
    MAX_HEAD_BYTES,
    WORD,
    Bools,
    Numbers,
    Placed,
    Slot,
    Words,
    head_words,
    null_words,
    placed,
    values_at,
)

_SIZE_BITS = np.uint64(32)


def is_plain(fields: Fields) -> bool:
    """Whether rows have fields, and no value is kept in more room than it takes."""
    return bool(fields) and not any(field.kind.is_wide for field in fields)


def show_plain(rows: pa.Array, fields: Fields) -> list[pa.Array]:
    """The values of each field of such rows.

    Making rows of the columns again, and comparing these, would take six times as long for rows of numbers (6.2 ms for
    316,000), and copy rows of texts three times.

    Args:
        rows: binary or fixed_size_binary[n], without nulls; n > 0.
        fields: of each row.

    Raises:
        ValueError: rows made of the values would have other bytes, or be too many for one block.
    """
    where = placed(rows)
    if len(rows) * head_words(fields) * WORD > MAX_HEAD_BYTES:
        raise ValueError(f"{len(rows)} rows of {len(fields)} columns are too many for one block")
    if where.least < head_words(fields):
        raise ValueError(f"a row of {where.least * WORD} bytes, shorter than its {len(fields)} fields")
    slots = _words(where, fields)
    starts = _starts(where, fields, slots)
    return [
        show(slot if start is None else _with_data(where, slot, start), field.kind)
        for slot, start, field in zip(slots, starts, fields, strict=True)
    ]


def _words(where: Placed, fields: Fields) -> list[Slot]:
    """The words of each field, without the values that lie behind them. Raises ValueError."""
    bits = null_words(fields)
    masks = [np.ascontiguousarray(where.word(number)) for number in range(bits)]
    nulls = [int(np.bitwise_or.reduce(mask)) for mask in masks]
    if nulls[-1] >> len(fields) - 64 * (bits - 1):
        raise ValueError("a null bit of no column")
    slots = []
    for number, field in enumerate(fields):
        word, at = np.ascontiguousarray(where.word(bits + number)), number % 64
        valid: Bools | None = None
        if nulls[number // 64] >> at & 1:
            valid = masks[number // 64] & np.uint64(1 << at) == 0
            if word[~valid].any():
                raise ValueError("a word under a null")
        _check(word, valid, field.kind)
        slots.append(Slot(valid, word))
    return slots


def _check(word: Words, valid: Bools | None, kind: Kind) -> None:
    """Raise ValueError if a word has bits that its value does not have."""
    if kind.number is None:
        return
    if pa.types.is_null(kind.shown) and (valid is None or valid.any()):
        raise ValueError("a value of a column without values")
    bits = 1 if pa.types.is_boolean(kind.shown) else 8 * np.dtype(kind.number).itemsize
    if bits < 8 * WORD and int(word.max()) >> bits:
        raise ValueError("bytes above a small number")


def _starts(where: Placed, fields: Fields, slots: list[Slot]) -> list[Numbers | None]:
    """Where in its row each value begins that does not fit into its word: in the order of the fields, without gaps.

    Raises:
        ValueError: one begins elsewhere, or a row is longer or shorter than its values.
    """
    head = head_words(fields) * WORD
    if all(field.kind.number is not None for field in fields):
        if where.width * WORD != head:
            raise ValueError(f"rows of {where.width} words that need {head_words(fields)}")
        return [None] * len(fields)
    end = np.full(where.count, head, np.int64)
    starts: list[Numbers | None] = []
    for slot, field in zip(slots, fields, strict=True):
        if field.kind.number is not None:
            starts.append(None)
            continue
        elsewhere = (slot.words >> _SIZE_BITS).view(np.int64) != end
        if bool((elsewhere if slot.valid is None else elsewhere & slot.valid).any()):
            raise ValueError("a value in another place than the order of the fields gives it")
        starts.append(end)
        end = end + (_sizes(slot) + WORD - 1 & -WORD)
    if bool((where.sizes * WORD != end).any()):
        raise ValueError("a row with bytes that no value has")
    return starts


def _with_data(where: Placed, slot: Slot, start: Numbers) -> Slot:
    """The field with its values. Raises ValueError if one is not followed by zeros up to the next word."""
    sizes = _sizes(slot)
    uneven = np.flatnonzero(sizes & (WORD - 1))
    if len(uneven):
        last = where.words[where.starts[uneven] + (start[uneven] + sizes[uneven]) // WORD]
        if bool((last >> (8 * (sizes[uneven] & (WORD - 1))).view(np.uint64)).any()):
            raise ValueError("bytes behind a value")
    return Slot(slot.valid, slot.words, values_at(where, start, sizes))


def _sizes(slot: Slot) -> Numbers:
    """Bytes of each value; 0 under a null."""
    return (slot.words & np.uint64(0xFFFFFFFF)).view(np.int64)
