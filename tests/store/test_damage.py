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
import xxhash
from pyspark.sql import SparkSession

from keygroups.segment.block import Block
from keygroups.segment.rows import SortedRows
from store.driver import PREFIX, Driver, Rows, server_processes
from store.test_faults import FAILURE, chain, fails, files, filled
from support.arrow_regions import regions

VERSION = 8
KINDS = ("latest", "older", "segment", "lone segment")
"""Of files. Version files that a segment was merged from are a way round it; a lone one has none."""
Damage = Callable[[Path], None]


class Checkpoint:
    """A checkpoint with a file of each kind, and what its latest version holds."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder / "whole"
        self.driver, self.rows = make(spark, self.folder)
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


def make(spark: SparkSession, folder: Path, partition_rows: str = "") -> tuple[Driver, Rows]:
    """Version 8: a compacted segment of the first versions, a version file over it, and the latest."""
    conf = {PREFIX + "compactionFanout": "4", PREFIX + "blockBytes": "16384"}
    driver, rows = filled(spark, folder, VERSION - 2, conf)
    driver.maintain()
    for version in (VERSION - 2, VERSION - 1):
        driver.open(version, "")
        for number in range(5):
            driver.put("late" + partition_rows, number, f"value {version}")
            rows[("late" + partition_rows, number)] = f"value {version}"
        driver.remove("v0", version)
        del rows[("v0", version)]
        driver.commit()
    return driver, rows


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
        driver.open(VERSION, "")
        found = driver.rows()
        driver.abort()
    except FAILURE as error:
        text = chain(error)
        return "refused" if name in text else f"wrong: an error that does not name {name}: {text}"
    finally:
        driver.close()
    return "right" if found == rows else f"wrong: {len(found)} rows"


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_much_damage(spark: SparkSession, checkpoint: Checkpoint, kind: str, seed: int, tmp_path: Path) -> None:
    run(spark, checkpoint, kind, seed=seed, flips=8, cuts=20, scratch=tmp_path / "copy")


def forged(path: Path, schema: str | None = None, value: bytes | None = None) -> None:
    """Write a version file anew with checksums that fit: another schema of values, or another first value."""
    reader = ipc.open_file(pa.BufferReader(path.read_bytes()))
    table = reader.read_all()
    manifest = json.loads(reader.schema.metadata[b"keygroups.manifest"])
    batch = table.combine_chunks().to_batches()[0]
    if value is not None:
        values = pa.array([value, *batch.column("value").to_pylist()[1:]], pa.binary())
        at = batch.schema.get_field_index("value")
        batch = batch.set_column(at, pa.field("value", pa.binary()), values)
        rows = SortedRows.of([Block.of(batch)])
        batch, manifest["checksum"] = rows.blocks[0].record_batch(rows.schema), rows.checksum()
    if schema is not None:
        manifest["catalog"]["families"][0]["value_schema"] = schema
    text = json.dumps(manifest).encode()
    checksum = xxhash.xxh3_128(text).hexdigest().encode()
    metadata = {b"keygroups.manifest": text, b"keygroups.manifest.checksum": checksum}
    with ipc.new_file(str(path), batch.schema.with_metadata(metadata)) as writer:
        writer.write_batch(batch.replace_schema_metadata(metadata))


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
