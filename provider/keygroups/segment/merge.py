"""Merging sorted runs: the newest row of a key wins; a range of rows at a time, so memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keygroups.segment.block import Block, Locators, concat
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.fold import fold, without_tombstones
from keygroups.segment.read_ahead import read_ahead, will_read
from keygroups.segment.sort import sort_rows
from keygroups.segment.span import END, Position
from keygroups.segment.split import split_range

SAMPLES_PER_BLOCK = 64


def merge_runs(folder: Path, runs: Sequence[Sequence[Block]], *, bottom: bool, block_bytes: int) -> Segment:
    """Merge sorted runs into a new segment.

    Args:
        folder: where the new local segment goes.
        runs: newest first; of each its blocks, in order.
        bottom: True if no older run lies below these; tombstones are then dropped.
        block_bytes: about how many bytes of input make a block of the output, at most twice as many.

    Raises:
        CapacityError: the local disk is full.
    """
    numbers = sorted({b.family for run in runs for b in run})
    per_family = ([[b for b in run if b.family == number] for run in runs] for number in numbers)
    return write_segment(folder, chain.from_iterable(_merged(family, bottom, block_bytes) for family in per_family))


def cut_after(runs: Sequence[Sequence[Block]], nbytes: int) -> Position:
    """Where about so many bytes of sorted runs end, by a sample of each block; ``END`` if there are not many more.

    Args:
        runs: of each its blocks, in order.
        nbytes: at least one locator's rows lie before the place, however many bytes they have.
    """
    blocks = sorted((b for run in runs for b in run), key=lambda b: (b.family, int(b.locator[0])))
    before = np.cumsum([b.nbytes for b in blocks])
    if not blocks or before[-1] <= nbytes * 3 // 2:
        return END
    first = blocks[0]
    near = blocks[: int(np.searchsorted(before, 2 * nbytes)) + len(runs)]
    samples = [(b.family, int(locator), b.nbytes / n) for b in near for n, locator in _weighted(b)]
    samples.sort()
    at = int(np.searchsorted(np.cumsum([weight for _, _, weight in samples]), nbytes))
    family, locator, _ = samples[min(at, len(samples) - 1)]
    return max(Position(family, locator), Position(first.family, int(first.locator[0]) + 1))


def newest_rows(parts: list[Block], *, bottom: bool) -> Block:
    """One row per key.

    Args:
        parts: sorted blocks, those with newer rows first.
        bottom: True to leave out tombstones.
    """
    rows = concat(parts)
    newest = fold(rows, *sort_rows(rows.locator, rows.key, runs=True))
    return without_tombstones(newest) if bottom else newest


def _merged(runs: Sequence[Sequence[Block]], bottom: bool, block_bytes: int) -> Iterator[Block]:
    bounds = _split_points(runs, block_bytes)
    ranges = (_parts(runs, low, high) for low, high in zip([None, *bounds], [*bounds, None], strict=True))
    for parts in read_ahead(ranges):
        if parts:
            yield from (newest_rows(rows, bottom=bottom) for rows in split_range(parts, 2 * block_bytes))


def _parts(runs: Sequence[Sequence[Block]], low: np.uint64 | None, high: np.uint64 | None) -> list[Block]:
    return [part for blocks in runs for block in blocks if len(part := _between(block, low, high))]


def _between(block: Block, low: np.uint64 | None, high: np.uint64 | None) -> Block:
    start = 0 if low is None else int(np.searchsorted(block.locator, low))
    stop = len(block) if high is None else int(np.searchsorted(block.locator, high))
    return block.slice(start, stop)


def _split_points(runs: Sequence[Sequence[Block]], block_bytes: int) -> list[np.uint64]:
    """Locators that cut the input into ranges of about ``block_bytes``, by a sample of each block."""
    blocks = [b for run in runs for b in run]
    parts = max(1, round(sum(b.nbytes for b in blocks) / block_bytes))
    if parts == 1:
        return []
    samples = [_sample(b) for b in blocks]
    weights = np.concatenate([np.full(len(s), b.nbytes / len(s)) for s, b in zip(samples, blocks, strict=True)])
    locators = np.concatenate(samples)
    order = np.argsort(locators)
    share = np.cumsum(weights[order])
    at = np.searchsorted(share, share[-1] * np.arange(1, parts) / parts)
    return list(np.unique(locators[order][at]))


def _weighted(block: Block) -> Iterator[tuple[int, int]]:
    """Locators of a sample, each with the size of the sample."""
    sample = _sample(block)
    return ((len(sample), int(locator)) for locator in sample)


def _sample(block: Block) -> Locators:
    will_read(block.locator)
    rows: npt.NDArray[np.int64] = np.linspace(0, len(block) - 1, min(SAMPLES_PER_BLOCK, len(block))).astype(np.int64)
    return block.locator[rows]
