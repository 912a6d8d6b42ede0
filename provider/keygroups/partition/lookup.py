"""Lookups of many keys in a sorted run; what they read of the disk is asked for some blocks ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keygroups.partition.block_rows import Rows, key_at, lower_bound, plain_keys
from keygroups.segment.arrays import arrow, mask, numpy
from keygroups.segment.block import Block, Locators
from keygroups.segment.read_ahead import ahead, will_read, will_read_offsets, will_read_rows

HASHED_ROWS: Final = 100
"""Rows for each wanted key, up to which a hash table of all takes less time than a binary search in Python for each."""


class Found(NamedTuple):
    """Rows of one block that were found for some of the keys.

    Attributes:
        block: The block.
        wanted: int64[n], numbers of the keys.
        rows: int64[n], the row of each.
    """

    block: Block
    wanted: Rows
    rows: Rows


class Run:
    """Blocks of one family in the order of their rows.

    Args:
        blocks: None is empty.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        """See the class."""
        self.blocks = list(blocks)

    @cached_property
    def firsts(self) -> Locators:
        """The first locator of each block."""
        return np.array([block.locator[0] for block in self.blocks], np.uint64)

    @cached_property
    def lasts(self) -> Locators:
        """The last locator of each block."""
        return np.array([block.locator[-1] for block in self.blocks], np.uint64)

    def with_locator(self, locator: int) -> list[Block]:
        """Give the blocks that may have rows of a locator."""
        low = int(np.searchsorted(self.lasts, np.uint64(locator)))
        high = int(np.searchsorted(self.firsts, np.uint64(locator), side="right"))
        return self.blocks[low:high]


class Wanted:
    """Keys that are looked for, from the newest run to the oldest.

    Args:
        locators: uint64[n].
        keys: binary[n], all different.
    """

    def __init__(self, locators: Locators, keys: pa.Array) -> None:
        """See the class."""
        self._locators, self._keys = locators, keys
        self._order = np.argsort(locators)
        self._sorted = locators[self._order]
        self._is_left = np.ones(len(locators), np.bool_)

    def find(self, run: Run, *, values: bool) -> Iterator[Found]:
        """Give the rows of a run that have keys which no newer run had.

        Args:
            run: The run.
            values: Whether the caller reads the values of all of them.
        """
        placed = (self._placed(*some) for some in ahead(self._by_block(run), _ask_for_places))
        found = (self._with_keys(some) for some in ahead(placed, _ask_for_keys))
        for some in ahead(found, _ask_for_values) if values else found:
            if len(some.rows):
                yield some

    def _by_block(self, run: Run) -> Iterator[tuple[Block, Rows]]:
        """The blocks that may have any of the keys that are left, and the numbers of these."""
        lows = np.searchsorted(self._sorted, run.firsts)
        highs = np.searchsorted(self._sorted, run.lasts, side="right")
        for i in np.flatnonzero(lows < highs).tolist():
            numbers = self._order[lows[i] : highs[i]]
            numbers = numbers[self._is_left[numbers]]
            if len(numbers):
                yield run.blocks[i], numbers

    def _placed(self, block: Block, numbers: Rows) -> Found:
        """The first row with the locator of each key, of those whose locator the block has."""
        wanted = self._locators[numbers]
        rows = np.searchsorted(block.locator, wanted)
        has_locator = block.locator[np.minimum(rows, len(block) - 1)] == wanted
        return Found(block, numbers[has_locator], rows[has_locator])

    def _with_keys(self, placed: Found) -> Found:
        """Those whose keys the block has."""
        block, numbers, rows = placed
        if not len(numbers):
            return placed
        same = mask(pc.equal(plain_keys(block.key.take(arrow(rows))), self._keys.take(arrow(numbers))))
        if not same.all():  # several keys share a locator: 48 bits of a hash, or timers of one time
            others = np.flatnonzero(~same)
            rows[others] = self._rows_of(block, numbers[others])
            same[others] = rows[others] >= 0
        found = numbers[same]
        self._is_left[found] = False
        return Found(block, found, rows[same])

    def _rows_of(self, block: Block, numbers: Rows) -> Rows:
        """The row of each key whose locator the block has, -1 where it is another's."""
        locators, keys = self._locators[numbers], self._keys.take(arrow(numbers))
        low = int(np.searchsorted(block.locator, locators.min()))
        high = int(np.searchsorted(block.locator, locators.max(), side="right"))
        if high - low <= HASHED_ROWS * len(keys):
            found = pc.index_in(keys, value_set=plain_keys(block.key.slice(low, high - low)))
            return numpy(pc.add(found.cast(pa.int64()), low).fill_null(-1))
        rows = np.full(len(keys), -1, np.int64)
        for i, (locator, key) in enumerate(zip(locators.tolist(), keys.to_pylist(), strict=True)):
            row = lower_bound(block, locator, key)
            if row < len(block) and key_at(block, row) == key:
                rows[i] = row
        return rows


def _ask_for_places(some: tuple[Block, Rows]) -> int:
    block, _ = some
    return will_read(block.locator) + will_read_offsets(block.key) + will_read_offsets(block.value)


def _ask_for_keys(placed: Found) -> int:
    return will_read_rows(placed.block.key, placed.rows)


def _ask_for_values(found: Found) -> int:
    return will_read_rows(found.block.value, found.rows)
