"""Merging segments: the newest row of a key wins; a range of rows at a time, so memory stays bounded."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keygroups.segment.block import Block, Locators, concat
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.fold import fold, without_tombstones
from keygroups.segment.sort import sort_rows
from keygroups.segment.split import split_range

SAMPLES_PER_BLOCK = 64


def merge_segments(
    folder: Path, segments: Sequence[Segment], families: Container[int], *, bottom: bool, block_bytes: int
) -> Segment:
    """Merge segments into a new one.

    Args:
        folder: where the new local segment goes.
        segments: newest first.
        families: column families that still exist; rows of others are dropped.
        bottom: True if no older segment lies below these; tombstones are then dropped.
        block_bytes: about how many bytes of input make a block of the output, at most twice as many.

    Raises:
        CapacityError: the local disk is full.
    """
    runs = [[b for b in s.blocks if b.family in families] for s in segments]
    numbers = sorted({b.family for run in runs for b in run})
    per_family = ([[b for b in run if b.family == number] for run in runs] for number in numbers)
    merged = write_segment(folder, chain.from_iterable(_merged(family, bottom, block_bytes) for family in per_family))
    for segment in segments:
        segment.release_pages()
    return merged


def _merged(runs: Sequence[Sequence[Block]], bottom: bool, block_bytes: int) -> Iterator[Block]:
    bounds = _split_points(runs, block_bytes)
    for low, high in zip([None, *bounds], [*bounds, None], strict=True):
        parts = [part for blocks in runs for block in blocks if len(part := _between(block, low, high))]
        if parts:
            yield from (newest_rows(rows, bottom=bottom) for rows in split_range(parts, 2 * block_bytes))


def newest_rows(parts: list[Block], *, bottom: bool) -> Block:
    """One row per key.

    Args:
        parts: sorted blocks, those with newer rows first.
        bottom: True to leave out tombstones.
    """
    rows = concat(parts)
    newest = fold(rows, *sort_rows(rows.locator, rows.key, runs=True))
    return without_tombstones(newest) if bottom else newest


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


def _sample(block: Block) -> Locators:
    rows: npt.NDArray[np.int64] = np.linspace(0, len(block) - 1, min(SAMPLES_PER_BLOCK, len(block))).astype(np.int64)
    return block.locator[rows]
