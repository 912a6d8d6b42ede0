"""Which rows of a file count for a store that shares the file with others: those of some key groups.

Such a file is read where it lies. The rows that count are restored to a segment of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keygroups.segment.block import Block
from keygroups.segment.span import Span

_NUMBERS = 1 << 16
"""Key groups have 16 bits in files, whatever G is: those that do not exist never count."""


class GroupRange(NamedTuple):
    """Key groups at equal distances.

    One range is enough for partition p of N, where N divides G: from p to G in steps of N.

    Attributes:
        start: the first.
        stop: the end, exclusive.
        step: from one to the next.
    """

    start: int
    stop: int
    step: int

    @property
    def size(self) -> int:
        """How many these are."""
        return len(range(*self))


def name_groups(ranges: Sequence[GroupRange], max_parallelism: int) -> bool:
    """Whether ranges name key groups that exist, at least one, and each once."""
    exist = all(0 <= r.start < r.stop <= max_parallelism and 0 < r.step <= max_parallelism for r in ranges)
    size = sum(r.size for r in ranges) if exist else 0
    return 0 < size <= max_parallelism and int(_mask(ranges).sum()) == size


def share_rows(parts: Iterable[tuple[Span, Sequence[GroupRange] | None]], max_parallelism: int) -> bool:
    """Whether any row of a file is in two of these parts of it.

    Args:
        parts: of each the rows of the file, and which key groups of them; None for all.
        max_parallelism: the number of key groups.
    """
    ends: npt.NDArray[np.int64] = np.zeros(max_parallelism, np.int64)
    for span, ranges in sorted(parts, key=lambda part: part[0]):
        for start, stop, step in ranges or (GroupRange(0, max_parallelism, 1),):
            taken = ends[start:stop:step]
            if int(taken.max()) > span.start:
                return True
            taken[:] = span.stop
    return False


class RowFilter:
    """The rows of a file that count.

    Args:
        ranges: of their key groups.
        span: where they lie, counted over all rows of the file.
    """

    def __init__(self, ranges: Sequence[GroupRange], span: Span) -> None:
        self._mask = _mask(ranges)
        self._before = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._mask)])
        self._span = span

    def may_be_in(self, at: int, rows: int, locators: tuple[int, int] | None) -> bool:
        """Whether a block may have any of the rows.

        Args:
            at: number of the block's first row.
            rows: of the block.
            locators: of its first and its last row, if these begin with key groups.
        """
        if at + rows <= self._span.start or at >= self._span.stop:
            return False
        if locators is None:
            return True
        first, last = (locator >> 48 for locator in locators)
        return bool(self._before[min(last, _NUMBERS - 1) + 1] > self._before[min(first, _NUMBERS)])

    def of(self, at: int, block: Block) -> Iterator[Block]:
        """The rows of a block, if it has any.

        Args:
            at: number of the block's first row.
            block: of the file.
        """
        low, high = max(self._span.start - at, 0), min(self._span.stop - at, len(block))
        rows: npt.NDArray[np.int64] = low + np.flatnonzero(self._mask[block.key_group[low : max(low, high)]])
        if len(rows) == len(block):
            yield block
        elif len(rows):
            yield block.take(rows)

    def of_all(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The rows of all blocks of the file."""
        at = 0
        for block in blocks:
            yield from self.of(at, block)
            at += len(block)


def _mask(ranges: Sequence[GroupRange]) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = np.zeros(_NUMBERS, np.bool_)
    for start, stop, step in ranges:
        found[start:stop:step] = True
    return found
