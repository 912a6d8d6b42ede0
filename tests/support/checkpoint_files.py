"""Files of the checkpoint, written and read as a store does it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.file_writer import write_file
from keygroups.checkpoint.files import blocks_of
from keygroups.checkpoint.manifest import FileRef, Manifest, Part
from keygroups.checkpoint.names import FileName
from keygroups.segment.block import Block
from keygroups.segment.file import Segment
from keygroups.segment.restore import restore_segment

MAX_PARALLELISM = 28_800
BLOCK_BYTES = 1 << 20


def plain_catalog(families: int = 1) -> Catalog:
    """Families whose keys and values are any bytes."""
    columns = '{"fields": []}'
    known = (Family(n, f"family {n}", columns, columns, "{}", "avro") for n in range(families))
    return Catalog(tuple(known), families)


def write(
    folder: Path, blocks: Sequence[Block], catalog: Catalog, name: FileName, compression: str = "zstd"
) -> tuple[Path, FileRef]:
    """Write a file of store 0, and say what a manifest says of it."""
    rows, checksum = sum(map(len, blocks)), ""

    def metadata(parts: tuple[Part, ...]) -> dict[bytes, bytes]:
        nonlocal checksum
        head, checksum = Manifest(
            kind=name.kind, store="0", version=name.version, rows=rows, parts=parts,
            max_parallelism=MAX_PARALLELISM, partitions=1, catalog=catalog, id=name.id,
        ).head()  # fmt: skip
        return head

    path = folder / str(name)
    write_file(path, blocks, catalog, metadata, compression, numbered=name.kind == "changelog")
    return path, FileRef(f"0/{name}", rows, path.stat().st_size, checksum)


def restore(folder: Path, path: Path, ref: FileRef) -> Segment:
    """The file as a local segment."""
    return restore_segment(folder, blocks_of(path, ref, MAX_PARALLELISM), ref.path, BLOCK_BYTES)


def through_a_file(folder: Path, blocks: Sequence[Block], compression: str = "zstd", families: int = 1) -> Segment:
    """Blocks with keys and values of any bytes, after they were written to a file and read from it."""
    catalog = plain_catalog(families)
    path, ref = write(folder, blocks, catalog, FileName("version", 1, f"{1:032x}"), compression)
    try:
        return restore(folder, path, ref)
    finally:
        path.unlink()
