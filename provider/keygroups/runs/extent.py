"""Where the rows of each column family lie in a run, and how many bytes they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from keygroups.segment.block import Block


class Size(NamedTuple):
    """How much some rows of a column family are.

    Attributes:
        rows: all of them.
        tombstones: of these, removals.
        appended: of these, values that come after those of an older row.
        keys: bytes of all columns but the values.
        values: bytes of the values.
    """

    rows: int = 0
    tombstones: int = 0
    appended: int = 0
    keys: int = 0
    values: int = 0

    @property
    def nbytes(self) -> int:
        """Return the bytes of all columns."""
        return self.keys + self.values


class Extent(NamedTuple):
    """The rows of a column family among sorted rows.

    Attributes:
        start: number of the first.
        stop: the end, exclusive.
        size: how much they are.
    """

    start: int
    stop: int
    size: Size


Extents = Mapping[int, Extent]
"""By the number of the family, in ascending order."""


def total(sizes: Iterable[Size]) -> Size:
    """Return the sum of sizes."""
    return Size(*map(sum, zip(Size(), *sizes, strict=True)))


def extents_of(blocks: Iterable[Block]) -> Extents:
    """Return the extents of rows in their order."""
    return _joined((block.family, Extent(0, len(block), _size(block))) for block in blocks)


def one_behind_another(parts: Iterable[Extents]) -> Extents:
    """Return the extents of rows that lie one behind another, each part counted from its own first row."""
    return _joined(item for part in parts for item in part.items())


def _joined(parts: Iterable[tuple[int, Extent]]) -> Extents:
    found: dict[int, Extent] = {}
    at = 0
    for family, (start, stop, size) in parts:
        before = found.get(family, Extent(at, at, Size()))
        at += stop - start
        found[family] = Extent(before.start, at, total((before.size, size)) if before.size.rows else size)
    return found


def _size(block: Block) -> Size:
    values = int(block.value.nbytes)
    appended = 0 if block.appended is None else int(block.appended.true_count)
    return Size(len(block), int(block.value.null_count), appended, block.nbytes - values, values)
