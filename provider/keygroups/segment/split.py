"""Blocks of sorted rows made smaller, so that none gets larger than it may, or larger, so that there are few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from keygroups.segment.block import Block, concat, has_appends

MAX_BLOCK_BYTES = 1 << 30
"""Above it, rows are split before they are written. A batch may hold 2 GiB (see ``limits``); the other half is for the
offsets of widths that differ, and for padding."""


def split_blocks(blocks: Iterable[Block]) -> list[Block]:
    """The blocks without empty ones, and large ones split."""
    return [part for block in blocks if len(block) for part in _split(block)]


def _split(block: Block) -> Iterator[Block]:
    """The block in slices of at most ``MAX_BLOCK_BYTES``, or of one row."""
    if block.nbytes <= MAX_BLOCK_BYTES or len(block) == 1:
        yield block
        return
    middle = len(block) // 2
    yield from _split(block.slice(0, middle))
    yield from _split(block.slice(middle, len(block)))


def evenly_split(block: Block, nbytes: int) -> Iterator[Block]:
    """The block in slices of about so many bytes, or of one row."""
    for start, stop in even_cuts(len(block), -(-block.nbytes // nbytes)):
        yield block.slice(start, stop)


def even_cuts(rows: int, parts: int) -> Iterator[tuple[int, int]]:
    """Cut rows into parts of nearly the same size, none of them empty: of each the start and the end."""
    bounds = [rows * number // max(parts, 1) for number in range(max(parts, 1) + 1)]
    return ((start, stop) for start, stop in pairwise(bounds) if start < stop)


def joined(blocks: Iterable[Block], max_bytes: int) -> Iterator[Block]:
    """The rows of blocks that follow each other in fewer blocks, each of one family.

    Args:
        blocks: in order.
        max_bytes: of a block, unless it is one of these as it is.
    """
    waiting: list[Block] = []
    together = 0
    for block in blocks:
        nbytes = block.nbytes
        if waiting and (waiting[0].family != block.family or together + nbytes > max_bytes):
            yield _one(waiting)
            waiting, together = [], 0
        waiting.append(block)
        together += nbytes
    if waiting:
        yield _one(waiting)


def _one(blocks: list[Block]) -> Block:
    return concat(blocks) if len(blocks) > 1 else blocks[0]


def split_range(parts: Sequence[Block], max_bytes: int) -> Iterator[list[Block]]:
    """Split sorted blocks into ranges of (locator, key), in ascending order.

    All rows of one locator may have to go into different ranges: a scan prefix, or a batch's rows of a time index, can
    be larger than memory. Rows of one key stay together, without those that newer ones replace.

    Args:
        parts: blocks of one family that overlap, those with newer rows first; each range has theirs in the same order.
        max_bytes: of a range. Only a range of one key may be larger.
    """
    ranges = [list(parts)]
    while ranges:
        current = ranges.pop()
        if sum(part.nbytes for part in current) <= max_bytes:
            yield current
        elif (place := _middle(current)) is None:
            yield _visible(current)
        else:
            cuts = [(part, _position(part, *place)) for part in current]
            ranges.append([part.slice(cut, len(part)) for part, cut in cuts if cut < len(part)])
            ranges.append([part.slice(0, cut) for part, cut in cuts if cut])


def _middle(parts: list[Block]) -> tuple[np.uint64, bytes] | None:
    """The (locator, key) before which rows are cut in two, none of them empty; None if all are of one key."""
    if divisible := [part for part in parts if len(part) > 1]:
        largest = max(divisible, key=lambda part: part.nbytes)
        return _place(largest, len(largest) // 2)
    places = sorted({_place(part, 0) for part in parts})
    return places[len(places) // 2] if len(places) > 1 else None


def _place(block: Block, row: int) -> tuple[np.uint64, bytes]:
    return block.locator[row], block.key[row].as_py()


def _visible(parts: list[Block]) -> list[Block]:
    """Rows of one key, newest first: those that are appended, and the one to whose values they are."""
    base = next((number for number, part in enumerate(parts) if not has_appends(part)), len(parts))
    return parts[: base + 1]


def _position(block: Block, locator: np.uint64, key: bytes) -> int:
    """The first row that is not below (locator, key)."""
    low = int(np.searchsorted(block.locator, locator))
    high = int(np.searchsorted(block.locator, locator, side="right"))
    while low < high:
        middle = (low + high) // 2
        if block.key[middle].as_py() < key:
            low = middle + 1
        else:
            high = middle
    return low
