"""Some of the rows of a segment or file, and places in the order of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keygroups.segment.block import Block


class Span(NamedTuple):
    """Consecutive rows of a segment or file, counted over all its blocks.

    Attributes:
        start: the first.
        stop: the end, exclusive.
    """

    start: int
    stop: int

    @property
    def rows(self) -> int:
        """How many these are."""
        return self.stop - self.start

    def of(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The rows, by block and without a copy."""
        at = 0
        for block in blocks:
            low, high = max(self.start - at, 0), min(self.stop - at, len(block))
            if high - low == len(block):
                yield block
            elif low < high:
                yield block.slice(low, high)
            at += len(block)


class Position(NamedTuple):
    """A place in the order of rows: before all rows of a locator.

    Attributes:
        family: number of a column family.
        locator: in that family.
    """

    family: int
    locator: int


END = Position(1 << 16, 0)


def rows_before(blocks: Sequence[Block], position: Position) -> int:
    """How many rows of blocks, which are in order, lie before a place."""
    return sum(_rows_before(block, position) for block in blocks)


def _rows_before(block: Block, position: Position) -> int:
    if position.family != block.family:
        return 0 if position.family < block.family else len(block)
    if position.locator <= int(block.locator[0]):
        return 0
    if position.locator > int(block.locator[-1]):
        return len(block)
    return int(np.searchsorted(block.locator, np.uint64(position.locator)))
