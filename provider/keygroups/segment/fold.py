"""Several rows of a key made one: the newest row wins, with the values that it was put after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.segment.arrays import arrow, mask
from keygroups.segment.block import Block
from keygroups.segment.sort import Mask, Rows

Bits = npt.NDArray[np.bool_]


def fold(rows: Block, order: Rows, repeats: Mask) -> Block:
    """One row a key.

    Args:
        rows: rows of one family.
        order: sorts them by (locator, key), the newest row of a key first.
        repeats: for each sorted row, whether its key is that of the row before.

    Returns:
        The sorted rows. Tombstones stay; what was put after one stands alone.
    """
    if rows.appended is None:
        return rows.take(order[~repeats])
    appended = mask(rows.appended)[order]
    if not appended.any():
        return rows.take(order[~repeats])
    return _joined(rows, order, repeats, appended)


def settle(rows: Block) -> Block:
    """The rows as they are where nothing lies below: without tombstones, and with nothing to be put after."""
    kept = rows
    if rows.value.null_count:
        kept = rows.take(np.flatnonzero(mask(rows.value.is_valid())))
    return replace(kept, appended=None)


def _joined(rows: Block, order: Rows, repeats: Mask, appended: Bits) -> Block:
    starts = np.flatnonzero(~repeats)
    group = np.cumsum(~repeats) - 1
    index = np.arange(len(order))
    # The first row of a key, from new to old, that is not put after another: older ones are dead.
    base = np.minimum.reduceat(np.where(appended, len(order), index), starts)
    alive = index <= base[group]
    sizes = np.add.reduceat(alive.astype(np.int64), starts)
    ends = np.cumsum(sizes)
    kept, kept_group = order[alive], group[alive]
    # Values lie from old to new within their key: then a key's values are next to each other.
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
        rows.h[heads],
        rows.key.take(indices),
        _concatenated(values, ends, sizes),
        rows.family,
        _bits(after),
        None if rows.written is None else rows.written[heads],
    )


def _concatenated(values: pa.Array, ends: Rows, sizes: Rows) -> pa.Array:
    """Join each run of ``sizes`` neighbouring values to one; null where there is nothing but a tombstone."""
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
