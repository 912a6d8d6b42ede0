"""Rows of one column family in segments: those of the version, and over them what the task has moved to disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.partition.block_rows import (
    Place,
    Rows,
    Span,
    are_appended,
    is_tombstone,
    key_at,
    lower_bound,
    plain_keys,
)
from keygroups.partition.lookup import Found, Run, Wanted
from keygroups.segment.arrays import arrow
from keygroups.segment.block import Block
from keygroups.segment.read_ahead import ahead, will_read_block


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
        self._base = self._runs = _runs(segments)

    def put_over(self, segments: Sequence[Sequence[Block]]) -> None:
        """Have the blocks of other segments, newest first, over those of the version."""
        self._runs = [*_runs(segments), *self._base]

    def replace(self, segments: Sequence[Sequence[Block]]) -> None:
        """Have the blocks of these segments, newest first, in place of all others."""
        self._base = self._runs = _runs(segments)

    def blocks(self) -> list[list[Block]]:
        """Give the blocks of each segment, newest first."""
        return [list(run.blocks) for run in self._runs]

    def row_bytes(self) -> int:
        """Mean bytes of a row's value."""
        blocks = [block for run in self._runs for block in run.blocks]
        rows = sum(map(len, blocks))
        return sum(int(block.value.nbytes) for block in blocks) // rows if rows else 0

    def rows(self) -> int:
        """How many rows there are, older ones of a key and tombstones too."""
        return sum(len(block) for run in self._runs for block in run.blocks)

    def newest(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Block, Rows]]:
        """Give for each block its rows that are the newest of their keys, and no tombstones.

        Args:
            start: The first row that is looked at, counted over all blocks.
            end: The end of these, exclusive; None for all.
        """
        for number, block, low, part in ahead(self._parts(start, end), lambda some: will_read_block(some[-1])):
            is_newest = np.ones(len(part), np.bool_)
            wanted = Wanted(part.locator, plain_keys(part.key))
            for newer in self._runs[:number]:
                for found in wanted.find(newer, values=False):
                    is_newest[found.wanted] = False
            rows = low + np.flatnonzero(is_newest)
            yield block, rows[~is_tombstone(block, rows)]

    def find(self, locators: npt.NDArray[np.uint64], keys: pa.Array, *, values: bool) -> Iterator[Found]:
        """Give the newest row of each key, tombstones too.

        Args:
            locators: uint64[n].
            keys: binary[n], all different.
            values: Whether the caller reads the values.
        """
        wanted = Wanted(locators, keys)
        for run in self._runs:
            yield from wanted.find(run, values=values)

    def pieces(self, locators: npt.NDArray[np.uint64], keys: pa.Array) -> Iterator[Found]:
        """Give the rows that make up the lists of keys, newest first: those appended, and the one they are appended to.

        Args:
            locators: uint64[n].
            keys: binary[n], all different.
        """
        left = np.arange(len(keys))
        for run in self._runs:
            goes_on = np.ones(len(left), np.bool_)
            for block, numbers, rows in Wanted(locators[left], keys.take(arrow(left))).find(run, values=True):
                is_live = ~is_tombstone(block, rows)
                goes_on[numbers] = is_live & are_appended(block, rows)
                yield Found(block, left[numbers[is_live]], rows[is_live])
            left = left[goes_on]
            if not len(left):
                return

    def history(self, locator: int, key: bytes) -> Iterator[Place]:
        """Give the rows of one key, newest first."""
        for run in self._runs:
            for block in run.with_locator(locator):
                row = lower_bound(block, locator, key)
                if row < len(block) and int(block.locator[row]) == locator and key_at(block, row) == key:
                    yield Place(block, row)
                    break

    def ranges(self, locator: int) -> Iterator[list[Span]]:
        """Give for each segment, newest first, where the rows of one locator lie."""
        for run in self._runs:
            spans = []
            for block in run.with_locator(locator):
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
        starts = [_rows_until(run, after) for run in self._runs]
        reached = [_bound_at(run.blocks, start + most - 1) for run, start in zip(self._runs, starts, strict=True)]
        end = min([bound for bound in reached if bound is not None], default=last)
        end = min(end, last)
        ends = [_rows_until(run, end) for run in self._runs]
        return end, [
            span
            for run, start, stop in zip(self._runs, starts, ends, strict=True)
            for span in _spans(run.blocks, start, stop)
        ]

    def _parts(self, start: int, end: int | None) -> Iterator[tuple[int, Block, int, Block]]:
        """Of rows that are counted over all blocks: number of the run, block, first row, and the rows of the block."""
        at = 0
        for number, run in enumerate(self._runs):
            for block in run.blocks:
                low, high = max(start - at, 0), len(block) if end is None else min(end - at, len(block))
                at += len(block)
                if low < high:
                    yield number, block, low, block.slice(low, high)


def _runs(segments: Sequence[Sequence[Block]]) -> list[Run]:
    return [Run(blocks) for blocks in segments if blocks]


def _rows_until(run: Run, bound: Bound) -> int:
    """How many rows of a run are not beyond a bound."""
    whole = int(np.searchsorted(run.lasts, np.uint64(bound.locator)))
    count = sum(map(len, run.blocks[:whole]))
    for block in run.blocks[whole:]:
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
