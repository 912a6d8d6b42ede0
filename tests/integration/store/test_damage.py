"""Every kind of file of a checkpoint, damaged in every place: the right rows, or an error that names the file."""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest
from pyspark.sql import SparkSession

from campaigns.fuzz.unsafe import packed
from integration.store.driver import PREFIX, Driver, Rows, server_processes
from integration.store.test_faults import FAILURE, chain, fails, files, filled
from support.arrow_regions import regions
from support.everyday import seldom
from support.format2 import put_together, taken_apart

VERSION = 8
KINDS = ("latest", "older", "segment", "lone segment")
"""Of files. Version files that a segment was merged from are a way round it; a lone one has none."""
Damage = Callable[[Path], None]


class Checkpoint:
    """A checkpoint with a file of each kind, and what its latest version holds."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder / "whole"
        self.driver, self.before, self.rows = make(spark, self.folder)
        self.other = folder / "other"
        make(spark, self.other, partition_rows="another store's")[0].close()
        self.driver.close()

    def place(self, kind: str, folder: Path) -> Path:
        """The file of a kind that the latest version needs, in a copy of the checkpoint."""
        if "segment" in kind:
            return files(folder, "s*")[-1]
        versions = files(folder, "v*")
        return versions[-1] if kind == "latest" else versions[-2]

    def copy(self, kind: str, folder: Path) -> Path:
        """A new copy of the checkpoint; its file of the kind."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder)
        place = self.place(kind, folder)
        if kind == "lone segment":
            for path in files(folder, "v*"):
                if path.name[1:21] <= place.name[1:21]:
                    path.unlink()
        return place


def make(spark: SparkSession, folder: Path, partition_rows: str = "") -> tuple[Driver, Rows, Rows]:
    """Version 8: a compacted segment of the first versions, a version file over it, and the latest; rows of 7 and 8."""
    conf = {PREFIX + "compactionFanout": "4", PREFIX + "blockBytes": "16384"}
    driver, rows = filled(spark, folder, VERSION - 2, conf)
    driver.maintain()
    before = rows
    for version in (VERSION - 2, VERSION - 1):
        before = dict(rows)
        driver.open(version, "")
        for number in range(5):
            driver.put("late" + partition_rows, number, f"value {version}")
            rows[("late" + partition_rows, number)] = f"value {version}"
        driver.remove("v0", version)
        del rows[("v0", version)]
        driver.commit()
    return driver, before, rows


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(spark, tmp_path_factory.mktemp("damage"))


def damages(whole: bytes, rng: random.Random, flips: int, cuts: int) -> Iterator[tuple[str, bytes | None]]:
    """Damaged contents of a file, by name; None where it is deleted."""
    yield "deleted", None
    yield "empty", b""
    yield "garbage", rng.randbytes(len(whole))
    yield "garbage behind the magic", whole[:8] + rng.randbytes(len(whole))
    for region in regions(whole):
        for _ in range(flips):
            at, bit = rng.randrange(region.start, region.stop), 1 << rng.randrange(8)
            yield f"bit {bit} of byte {at} in {region.name}", whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
        yield f"cut before {region.name}", whole[: region.start]
    for at in rng.sample(range(len(whole)), cuts):
        yield f"cut at {at}", whole[:at]


def strangers(checkpoint: Checkpoint, kind: str) -> Iterator[tuple[str, bytes]]:
    """Whole files that belong under other names."""
    for name, folder in (("this", checkpoint.folder), ("another", checkpoint.other)):
        for path in files(folder, "*"):
            if path != checkpoint.place(kind, checkpoint.folder):
                yield f"{path.name} of {name} checkpoint", path.read_bytes()


def outcome(spark: SparkSession, folder: Path, name: str, rows: Rows) -> str:
    """What comes of loading the latest version; ``wrong: ...`` where it must not be."""
    driver = Driver(spark, folder)
    try:
        return answer(driver, VERSION, rows, [[name]])
    finally:
        driver.close()


def answer(driver: Driver, version: int, rows: Rows, names: list[list[str]]) -> str:
    """``right``, ``refused`` with all words of one of ``names``, or ``wrong: ...``."""
    try:
        driver.open(version, "")
        found = driver.rows()
        driver.abort()
    except FAILURE as error:
        text = chain(error)
        named = any(all(word in text for word in words) for words in names)
        return "refused" if named else f"wrong: an error that names none of {names}: {text}"
    return "right" if found == rows else f"wrong: {len(found)} rows where {len(rows)} were written"


def run(
    spark: SparkSession, checkpoint: Checkpoint, kind: str, seed: int, flips: int, cuts: int, scratch: Path
) -> None:
    """Load the checkpoint with each damage done to its file of one kind."""
    rng = random.Random(seed)
    place = checkpoint.place(kind, checkpoint.folder)
    servers = [process.pid for process in server_processes()]
    outcomes: Counter[str] = Counter()
    for damage, content in [*damages(place.read_bytes(), rng, flips, cuts), *strangers(checkpoint, kind)]:
        target = checkpoint.copy(kind, scratch)
        target.unlink()
        if content is not None:
            target.write_bytes(content)
        # Of a version that is gone the error can't know the whole name.
        name = target.name[:21] if content is None else target.name
        result = outcome(spark, scratch, name, checkpoint.rows)
        assert not result.startswith("wrong"), f"seed {seed}, {kind} file, {damage}: {result}"
        outcomes[result] += 1
    print(f"seed {seed}, {kind} file: {dict(outcomes)}")
    assert [process.pid for process in server_processes()] == servers, f"seed {seed}: the store process died"


@pytest.mark.parametrize("kind", KINDS)
def test_damage_gives_the_right_rows_or_names_the_file(
    spark: SparkSession, checkpoint: Checkpoint, kind: str, tmp_path: Path
) -> None:
    run(spark, checkpoint, kind, seed=1, flips=1, cuts=3, scratch=tmp_path / "copy")


def written(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


def with_bytes(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: written(path, change(path.read_bytes()))


def flipped(part: float) -> Damage:
    """One byte, at this part of the file."""

    def change(data: bytes) -> bytes:
        at = min(int(len(data) * part), len(data) - 1)
        return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]

    return with_bytes(change)


def neighbour(path: Path, offset: int) -> Path:
    """Another file of the folder, by how far it stands from this one."""
    known = sorted(path.parent.glob("*.arrows"))
    return known[(known.index(path) + offset) % len(known)]


def swap(path: Path) -> None:
    """The file and the one before it under each other's names."""
    other, ours = neighbour(path, -1), path.read_bytes()
    written(path, other.read_bytes())
    written(other, ours)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


DAMAGES: dict[str, Damage] = {
    "first byte flipped": flipped(0),
    "byte of the schema flipped": flipped(0.02),
    "early byte flipped": flipped(0.2),
    "middle byte flipped": flipped(0.5),
    "late byte flipped": flipped(0.8),
    "last byte flipped": flipped(1),
    "half of it": with_bytes(lambda data: data[: len(data) // 2]),
    "without its last byte": with_bytes(lambda data: data[:-1]),
    "without its beginning": with_bytes(lambda data: data[8:]),
    "with more bytes": with_bytes(lambda data: data + data[:100]),
    "twice": with_bytes(lambda data: data + data),
    "a hole of zeros": with_bytes(lambda data: data[: len(data) // 3] + bytes(len(data) - len(data) // 3)),
    "empty": with_bytes(lambda _: b""),
    "a text": with_bytes(lambda _: b"not an Arrow file\n" * 50),
    "an Arrow file of another program": with_bytes(lambda _: foreign()),
    "an older file": lambda path: written(path, neighbour(path, -1).read_bytes()),
    "a newer file": lambda path: written(path, neighbour(path, 1).read_bytes()),
    "swapped": swap,
    "deleted": Path.unlink,
    "a folder": replace_by_folder,
    "a link to nowhere": replace_by_link,
}


EVERYDAY = [kind if kind in ("latest", "segment") else seldom(kind) for kind in KINDS]
GONE = ("deleted", "a folder", "a link to nowhere")


def foreign() -> bytes:
    """A file with the right columns and no manifest."""
    table = pa.table({"locator": [1], "h": [1], "key": [b"k"], "value": [b"v"]})
    sink = pa.BufferOutputStream()
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def contents(folder: Path) -> dict[Path, bytes | None]:
    """The files of a checkpoint; None for what can't be read."""
    return {path: path.read_bytes() if path.is_file() else None for path in files(folder, "*")}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", EVERYDAY)
def test_no_damage_gives_a_wrong_answer(
    spark: SparkSession, checkpoint: Checkpoint, kind: str, damage: str, tmp_path: Path
) -> None:
    """Right rows, or an error that names the file; the version before is not affected; a restored file is read."""
    folder = tmp_path / "copy"
    target = checkpoint.copy(kind, folder)
    whole = contents(folder)
    DAMAGES[damage](target)
    hurt = [path for path, data in whole.items() if contents(folder).get(path) != data]
    names = [[path.name] for path in hurt]
    if damage in GONE and target.name[0] == "v":  # nothing says what it was called
        version = int(target.name[1:21])
        names.append([str(target.parent.relative_to(folder / "state")), f"version {version}", target.name[:21]])
    driver = Driver(spark, folder)
    assert answer(driver, VERSION, checkpoint.rows, names) in ("right", "refused")
    older = answer(driver, VERSION - 1, checkpoint.before, names)
    assert older == "right" if hurt == [target] and kind == "latest" else older in ("right", "refused")
    restore(whole)
    assert answer(driver, VERSION, checkpoint.rows, []) == "right"
    driver.close()


def restore(whole: dict[Path, bytes | None]) -> None:
    """Write the files back as they were."""
    for path, data in whole.items():
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        path.write_bytes(data or b"")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_much_damage(spark: SparkSession, checkpoint: Checkpoint, kind: str, seed: int, tmp_path: Path) -> None:
    run(spark, checkpoint, kind, seed=seed, flips=8, cuts=20, scratch=tmp_path / "copy")


def forged(path: Path, schema: str | None = None, value: bytes | None = None) -> None:
    """Write a version file anew with checksums that fit: another schema of values, or another first value."""
    manifest, (block,) = taken_apart(path.read_bytes())
    values = block.batch.column("value").to_pylist()
    texts = [packed(*row.values()) if isinstance(row, dict) else row for row in values]
    if value is not None:
        texts[0] = value
    if schema is not None:
        manifest["catalog"]["families"][0]["value_schema"] = schema
    at = block.batch.schema.get_field_index("value")
    batch = block.batch.set_column(at, pa.field("value", pa.binary()), pa.array(texts, pa.binary()))
    path.write_bytes(put_together(manifest, [block._replace(batch=batch)]))


def test_a_row_that_points_outside_of_itself_is_refused(
    spark: SparkSession, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """Spark would read a text of 2 GiB from wherever the row lies in the heap."""
    path = checkpoint.copy("latest", tmp_path / "copy")
    forged(path, value=struct.pack("<QQ", 0, 16 << 32 | 2**31 - 1))
    assert outcome(spark, tmp_path / "copy", path.name, checkpoint.rows) == "refused"


def test_a_catalog_of_another_form_is_refused(spark: SparkSession, checkpoint: Checkpoint, tmp_path: Path) -> None:
    """Rows were checked by the catalog's schema: read by another they might point outside of themselves."""
    path = checkpoint.copy("latest", tmp_path / "copy")
    number = {"name": "value", "type": "long", "nullable": True, "metadata": {}}
    forged(path, schema=json.dumps({"type": "struct", "fields": [number]}))
    with fails("column family 'default' of another form", "string", "long"):
        Driver(spark, tmp_path / "copy").open(VERSION, "")
    text = number | {"type": "string", "name": "renamed", "nullable": False}
    forged(path, schema=json.dumps({"type": "struct", "fields": [text]}))
    assert outcome(spark, tmp_path / "copy", path.name, checkpoint.rows) == "right"
