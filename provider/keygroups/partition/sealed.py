"""Rows of one column family in segments: those of the version, and over them what the task has moved to disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.partition.block_rows import (
    Found,
    Place,
    Rows,
    Span,
    is_tombstone,
    key_at,
    lower_bound,
    plain_keys,
    search,
)
from keygroups.segment.block import Block


class Bound(NamedTuple):
    """A place in the order of rows."""

    locator: int
    key: bytes


class Sealed:
    """Blocks of one family.

    Args:
        segments: For each segment, newest first, its blocks of the family, in their order.
    """

    def __init__(self, segments: Sequence[Sequence[Block]]) -> None:
        """See the class."""
        self._base = self._segments = [list(blocks) for blocks in segments if blocks]

    def put_over(self, segments: Sequence[Sequence[Block]]) -> None:
        """Have the blocks of other segments, newest first, over those of the version."""
        self._segments = [*(list(blocks) for blocks in segments if blocks), *self._base]

    def replace(self, segments: Sequence[Sequence[Block]]) -> None:
        """Have the blocks of these segments, newest first, in place of all others."""
        self._base = self._segments = [list(blocks) for blocks in segments if blocks]

    def row_bytes(self) -> int:
        """Mean bytes of a row's value."""
        blocks = [block for segment in self._segments for block in segment]
        rows = sum(map(len, blocks))
        return sum(int(block.value.nbytes) for block in blocks) // rows if rows else 0

    def rows(self) -> int:
        """How many rows there are, older ones of a key and tombstones too."""
        return sum(len(block) for segment in self._segments for block in segment)

    def newest(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Block, Rows]]:
        """Give for each block its rows that are the newest of their keys, and no tombstones.

        Args:
            start: The first row that is looked at, counted over all blocks.
            end: The end of these, exclusive; None for all.
        """
        at = 0
        for number, blocks in enumerate(self._segments):
            newer = Sealed(self._segments[:number])
            for block in blocks:
                low, high = max(start - at, 0), len(block) if end is None else min(end - at, len(block))
                at += len(block)
                if low >= high:
                    continue
                is_newest = np.ones(high - low, np.bool_)
                part = block.slice(low, high)
                for found in newer.find(part.locator, plain_keys(part.key)):
                    is_newest[found.wanted] = False
                rows = low + np.flatnonzero(is_newest)
                yield block, rows[~is_tombstone(block, rows)]

    def find(self, locators: npt.NDArray[np.uint64], keys: pa.Array) -> Iterator[Found]:
        """Give the newest row of each key, tombstones too.

        Args:
            locators: uint64[n].
            keys: binary[n], all different.
        """
        left = np.arange(len(locators))
        for blocks in self._segments:
            for block in blocks:
                if not len(left):
                    return
                found = search(block, locators, keys, left)
                if len(found.wanted):
                    yield found
                    left = np.setdiff1d(left, found.wanted, assume_unique=True)

    def history(self, locator: int, key: bytes) -> Iterator[Place]:
        """Give the rows of one key, newest first."""
        for blocks in self._segments:
            for block in blocks:
                row = lower_bound(block, locator, key)
                if row < len(block) and int(block.locator[row]) == locator and key_at(block, row) == key:
                    yield Place(block, row)
                    break

    def ranges(self, locator: int) -> Iterator[list[Span]]:
        """Give for each segment, newest first, where the rows of one locator lie."""
        for blocks in self._segments:
            spans = []
            for block in blocks:
                start = int(np.searchsorted(block.locator, np.uint64(locator)))
                end = int(np.searchsorted(block.locator, np.uint64(locator), side="right"))
                if end > start:
                    spans.append(Span(block, start, end))
            yield spans

    def window(self, after: Bound, last: Bound, most: int) -> tuple[Bound, list[Span]]:
        """Give the rows after one bound and up to another, at most so many of a segment.

        Returns:
            How far they reach, and the rows of all segments up to there, newest segment first.
        """
        starts = [_rows_until(blocks, after) for blocks in self._segments]
        reached = [_bound_at(blocks, start + most - 1) for blocks, start in zip(self._segments, starts, strict=True)]
        end = min([bound for bound in reached if bound is not None], default=last)
        end = min(end, last)
        ends = [_rows_until(blocks, end) for blocks in self._segments]
        return end, [
            span
            for blocks, start, stop in zip(self._segments, starts, ends, strict=True)
            for span in _spans(blocks, start, stop)
        ]


def _rows_until(blocks: list[Block], bound: Bound) -> int:
    """How many rows of a segment are not beyond a bound."""
    count = 0
    for block in blocks:
        row = lower_bound(block, *bound)
        row += row < len(block) and int(block.locator[row]) == bound.locator and key_at(block, row) == bound.key
        count += row
        if row < len(block):
            break
    return count


def _bound_at(blocks: list[Block], row: int) -> Bound | None:
    """Where a row of a segment is; None if there are not so many."""
    for block in blocks:
        if row < len(block):
            return Bound(int(block.locator[row]), key_at(block, row))
        row -= len(block)
    return None


def _spans(blocks: list[Block], start: int, end: int) -> Iterator[Span]:
    """The rows of a segment from a start to an end, exclusive."""
    at = 0
    for block in blocks:
        low, high = max(start - at, 0), min(end - at, len(block))
        if low < high:
            yield Span(block, low, high)
        at += len(block)
