"""The judge can say no: readers that are wrong on purpose, each in another way, are all reported."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec import structs

from campaigns.fuzz.forge import AnyNumber, Forged
from campaigns.fuzz.readers import Read, Readers, changed, restored, targets
from campaigns.fuzz.rows import streams
from keygroups.checkpoint.filters import RowFilter
from keygroups.checkpoint.manifest import FileRef
from keygroups.errors import CheckpointError
from keygroups.runs.run import Plan, Run
from keygroups.segment.block import Block
from keygroups.segment.file import Segment, write_segment
from keygroups.store.downloads import Downloads
from keygroups.store.load import Loader
from keygroups.store.version import Version, VersionKey
from support import forged_batch
from support.everyday import seldom

INPUTS = 150
Alter = Callable[[Block], Block]


def complaints(target: str, readers: Readers, folder: Path) -> set[str]:
    """What the judge says about a reader, without the details."""
    read, found = targets(folder, readers)[target], set()
    for number in range(INPUTS):
        try:
            read(random.Random(number))
        except AssertionError as error:
            found.add(str(error).partition(":")[0].partition(" by ")[0])
    return found


def without_last_row(block: Block) -> Block:
    return block.slice(0, len(block) - 1)


def with_flipped_byte(block: Block) -> Block:
    values = block.value.to_pylist()
    at = next((n for n, value in enumerate(values) if value), None)
    if at is None:
        return block
    values[at] = bytes([values[at][0] ^ 1]) + values[at][1:]
    return replace(block, value=pa.array(values, block.value.type))


def with_other_locator(block: Block) -> Block:
    return replace(block, locator=block.locator + 1)


def without_tombstones(block: Block) -> Block:
    filled = [b"" if value is None else value for value in block.value.to_pylist()]
    return replace(block, value=pa.array(filled, pa.binary()))


def rewritten(folder: Path, segment: Segment, alter: Alter) -> Segment:
    return write_segment(folder, [alter(block) for block in segment.blocks])


ALTERATIONS = [without_last_row, with_flipped_byte, with_other_locator, without_tombstones]


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_wrong_rows_of_a_file(tmp_path: Path, alter: Alter) -> None:
    def wrong(folder: Path, source: Path, ref: FileRef) -> Segment:
        return rewritten(folder, restored(folder, source, ref), alter)

    assert complaints("restore", Readers(restore=wrong), tmp_path) == {"WRONG ROWS"}


def test_a_file_that_is_not_checked(tmp_path: Path) -> None:
    def wrong(folder: Path, source: Path, ref: FileRef) -> Segment:
        return restored(folder, source, FileRef(ref.path, AnyNumber(1 << 40), ref.bytes, Forged()))

    assert complaints("restore", Readers(restore=wrong), tmp_path) == {"WRONG ROWS"}


def test_a_layout_that_leads_elsewhere(tmp_path: Path) -> None:
    def wrong(folder: Path, source: Path, ref: FileRef) -> Segment:
        segment = restored(folder, source, ref)
        segment.layout = [structs.replace(block, key_group=block.locator) for block in segment.layout]
        return segment

    assert complaints("restore", Readers(restore=wrong), tmp_path) == {"WRONG ROWS"}


def test_a_reader_that_refuses_all(tmp_path: Path) -> None:
    def wrong(*_: object) -> Segment:
        raise CheckpointError("no", path="0/x")

    assert complaints("restore", Readers(restore=wrong), tmp_path) == {"A WHOLE FILE IS REFUSED"}


def with_plan(version: Version, plan: Plan) -> Version:
    return structs.replace(version, plan=plan)


def without_a_run(loader: Loader, key: VersionKey, downloads: Downloads) -> Version:
    version = loader.load(key, downloads)
    return with_plan(version, version.plan[:-1])


def with_runs_in_another_order(loader: Loader, key: VersionKey, downloads: Downloads) -> Version:
    version = loader.load(key, downloads)
    return with_plan(version, version.plan[::-1])


def with_wrong_rows(loader: Loader, key: VersionKey, downloads: Downloads) -> Version:
    version = loader.load(key, downloads)
    (first,) = version.plan[0].pieces
    segment = rewritten(first.segment.path.parent, first.segment, with_flipped_byte)
    return with_plan(version, (Run((replace(first, segment=segment),)), *version.plan[1:]))


def with_another_catalog(loader: Loader, key: VersionKey, downloads: Downloads) -> Version:
    version = loader.load(key, downloads)
    return structs.replace(version, catalog=structs.replace(version.catalog, next_family=77))


def refusing(*_: object) -> Version:
    raise CheckpointError("no", path="0/x")


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        (without_a_run, "WRONG FILES"),
        seldom(with_runs_in_another_order, "WRONG FILES"),
        (with_wrong_rows, "WRONG ROWS"),
        (with_another_catalog, "WRONG MANIFEST"),
        (refusing, "REFUSED, though whole files make the version"),
    ],
)
def test_wrong_versions(tmp_path: Path, read: Read, complaint: str) -> None:
    assert complaint in complaints("load", Readers(load=read), tmp_path)


def test_a_filter_that_lets_all_rows_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowFilter, "of", lambda _, _at, block: iter([block]))
    assert "WRONG ROWS" in complaints("load", Readers(), tmp_path)


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        (Loader.load, "WRONG FILES"),
        (lambda *inputs: with_plan(changed(*inputs), ()), "WRONG FILES"),
        (refusing, "REFUSED, though the files that show the change are whole"),
    ],
)
def test_wrong_changes(tmp_path: Path, read: Read, complaint: str) -> None:
    assert complaint in complaints("change", Readers(change=read), tmp_path)


def test_the_right_readers(tmp_path: Path) -> None:
    assert not [text for target in ("restore", "load", "change") for text in complaints(target, Readers(), tmp_path)]


def test_the_judge_survives_what_arrow_does_not() -> None:
    """A struct whose child has less than no rows: Arrow's stream reader takes it, and its slice ends the process."""
    batch, child = forged_batch.BATCH, forged_batch.COUNTS[2]
    schema, end = bytes(batch.schema.serialize()), b"\xff\xff\xff\xff\0\0\0\0"
    assert batches_of(schema + forged_batch.stating(forged_batch.ROWS, child) + end) == [batch]
    with pytest.raises(pa.ArrowInvalid, match="length is negative"):
        batches_of(schema + forged_batch.stating(4 - 2**40, child) + end)


def batches_of(data: bytes) -> list[pa.RecordBatch]:
    """What the judge reads of a file of one block."""
    (batches,) = streams(data, [(0, 0, [()])])
    return batches
