"""Snapshots of a harness, and the files that a harness makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.partition.tables import BLOCK_BYTES, OPERATOR, FileTables
from keygroups.partition.view import StoredFamily, StoredPiece
from keygroups.segment.block import Block
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.merge import merge_runs
from keygroups.segment.span import Span
from keygroups.segment.streams import read_streams


@dataclass(frozen=True)
class Snapshot:
    """The state of one subtask.

    Attributes:
        families: The column families by their names.
        rows: Segment files of these.
        keys: Each key that the subtask has met, and its locator.
        key_schema: Schema of the keys; None if there was no row yet.
        max_parallelism: Number of key groups.
    """

    families: Mapping[str, StoredFamily]
    rows: Mapping[str, bytes]
    keys: Mapping[bytes, int]
    key_schema: spark.StructType | None
    max_parallelism: int


@dataclass(frozen=True)
class Restored:
    """What a harness begins with.

    Attributes:
        families: The column families by their names.
        segments: A run of each snapshot.
    """

    families: dict[str, StoredFamily]
    segments: list[Segment]

    def runs(self) -> tuple[tuple[StoredPiece, ...], ...]:
        """Return the runs as a view has them."""
        return tuple((StoredPiece(str(one.path), Span(0, one.rows)),) for one in self.segments)

    def unused(self, used: Iterable[str]) -> dict[str, list[Sequence[Block]]]:
        """Return the rows of the families that no state of the function has, and that a later function may have."""
        left = self.families.keys() - set(used)
        return {
            name: [
                [block for block in one.blocks if block.family == self.families[name].number] for one in self.segments
            ]
            for name in left
        }


def restored(snapshots: Sequence[Snapshot], owned: range, folder: Path) -> Restored:
    """Return the rows of the key groups that a subtask owns."""
    names = dict.fromkeys(name for snapshot in snapshots for name in snapshot.families)
    numbers = {name: number for number, name in enumerate(names)}
    families = {
        name: StoredFamily(numbers[name], one.key_schema, one.value_schema, one.lists)
        for snapshot in snapshots
        for name, one in snapshot.families.items()
    }
    return Restored(families, [write_segment(folder, _owned(one, numbers, owned)) for one in snapshots])


def saved(tables: FileTables, before: Restored, folder: Path) -> tuple[dict[str, StoredFamily], dict[str, bytes]]:
    """Return the column families and their rows. All writes are on disk."""
    families, runs = dict(before.families), before.unused(kept.family.name for kept in tables.kept)
    for kept in tables.kept:
        one = kept.family
        families[one.name] = StoredFamily(0, one.key_schema, one.value_schema, one.lists)
        runs[one.name] = [*kept.table.sealed.blocks()]
    rows = {}
    for name, parts in runs.items():
        plain = [[replace(block, family=0) for block in run] for run in parts if run]
        if plain:
            segment = merge_runs(folder, plain, bottom=True, block_bytes=BLOCK_BYTES)
            rows[name] = segment.path.read_bytes()
    return families, rows


def owner(uid: str, key_schema: spark.StructType) -> dict[str, StoredFamily]:
    """Return the family without rows that says whose state it is."""
    return {OPERATOR + uid: StoredFamily(0, key_schema.json(), "", lists=False)}


def _owned(snapshot: Snapshot, numbers: Mapping[str, int], owned: range) -> Iterator[Block]:
    for name in sorted(snapshot.rows, key=numbers.__getitem__):
        for batch in read_streams(pa.py_buffer(snapshot.rows[name])):
            block = replace(Block.of(batch), family=numbers[name])
            for start, stop in _ranges((block.key_group >= owned.start) & (block.key_group < owned.stop)):
                yield block.slice(start, stop)


def _ranges(chosen: np.typing.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Return from where to where the chosen rows go on."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8))).tolist()
    return zip(edges[::2], edges[1::2], strict=True)
