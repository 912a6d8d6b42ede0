"""Folds several rows of a key into one: the newest row wins, after the values that it was appended to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.segment.arrays import Mask, Rows, arrow, mask
from keygroups.segment.block import Block

Bits = npt.NDArray[np.bool_]


def fold(rows: Block, order: Rows, repeats: Mask) -> Block:
    """One row per key.

    Args:
        rows: rows of one family.
        order: sorts them by (locator, key), the newest row of a key first.
        repeats: for each sorted row, whether its key is that of the row before.

    Returns:
        The sorted rows. Tombstones stay; values that were appended to a removed key replace its tombstone.
    """
    if rows.appended is None:
        return rows.take(order[~repeats])
    appended = mask(rows.appended)[order]
    if not appended.any():
        return rows.take(order[~repeats])
    return _joined(rows, order, repeats, appended)


def without_tombstones(rows: Block) -> Block:
    """The rows of a bottom run: no older row exists, so tombstones go, and no value is appended to an older one."""
    kept = rows
    if rows.value.null_count:
        kept = rows.take(np.flatnonzero(mask(rows.value.is_valid())))
    return replace(kept, appended=None)


def _joined(rows: Block, order: Rows, repeats: Mask, appended: Bits) -> Block:
    starts = np.flatnonzero(~repeats)
    group = np.cumsum(~repeats) - 1
    index = np.arange(len(order))
    # The first row of a key, from new to old, that is not appended to an older one: rows older than it are obsolete.
    base = np.minimum.reduceat(np.where(appended, len(order), index), starts)
    alive = index <= base[group]
    sizes = np.add.reduceat(alive.astype(np.int64), starts)
    ends = np.cumsum(sizes)
    kept, kept_group = order[alive], group[alive]
    # Order values from old to new within their key: then a key's values are adjacent.
    backwards = (ends[kept_group] - 1) - (np.arange(len(kept)) - (ends - sizes)[kept_group])
    oldest_first = np.empty_like(kept)
    oldest_first[backwards] = kept
    heads = order[starts]
    indices = arrow(heads)
    values = rows.value.cast(pa.binary()).take(arrow(oldest_first))
    result = np.flatnonzero(base < len(order))
    after = np.ones(len(starts), np.bool_)
    after[result] = False
    return Block(
        rows.locator[heads],
        rows.key_group[heads],
        rows.key.take(indices),
        _concatenated(values, ends, sizes),
        rows.family,
        _bits(after),
        None if rows.written is None else rows.written[heads],
    )


def _concatenated(values: pa.Array, ends: Rows, sizes: Rows) -> pa.Array:
    """Join each group of ``sizes`` adjacent values to one; null where the only row is a tombstone."""
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(values) + 1, values.offset * 4)
    joined = np.concatenate([bounds[:1], bounds[ends]]).astype(np.int32)
    valid = mask(values.is_valid())
    null = (sizes == 1) & ~valid[ends - 1]
    validity = _bits(~null).buffers()[1] if null.any() else None
    buffers = [validity, pa.py_buffer(joined), data]
    return pa.BinaryArray.from_buffers(pa.binary(), len(ends), buffers, int(null.sum()))


def _bits(values: Bits) -> pa.BooleanArray:
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])
