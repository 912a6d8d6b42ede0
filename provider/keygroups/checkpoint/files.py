"""The rows of a file of the checkpoint, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from keygroups.checkpoint import file_reader, format1
from keygroups.checkpoint.filters import RowFilter
from keygroups.checkpoint.manifest import FileRef, read_manifest
from keygroups.errors import CheckpointError
from keygroups.segment.block import Block
from keygroups.segment.restore import FIX, reading


def blocks_of(path: Path, ref: FileRef, max_parallelism: int) -> Iterator[Block]:
    """The blocks of a downloaded file, in order; with a filter only those rows that count.

    Args:
        path: the local copy.
        ref: what a manifest says of the file. A span without a filter is not looked at.
        max_parallelism: the number of key groups.

    Raises:
        CheckpointError: it is not the file that the manifest means, or its manifest is damaged.
        VersionError: a newer release wrote it.
        ValueError, OSError, pa.ArrowException: a block can't be read.
    """
    rows = RowFilter(ref.key_groups, ref.counted) if ref.key_groups is not None else None
    with reading(ref.path):
        source = pa.OSFile(str(path))
    with source:
        if ref.name.format == 1:
            blocks = format1.read_blocks(source, ref, max_parallelism)
            yield from blocks if rows is None else rows.of_all(blocks)
            return
        manifest = read_manifest(path, ref.path)
        expected, found = (ref.checksum, ref.rows), (manifest.checksum, manifest.rows)
        if expected != found:
            raise CheckpointError(
                "a file of the checkpoint is damaged",
                path=ref.path,
                expected="checksum {}, {} rows".format(*expected),
                found="checksum {}, {} rows".format(*found),
                fix=FIX,
            )
        if rows is not None and manifest.max_parallelism != max_parallelism:
            raise ValueError(f"{manifest.max_parallelism} key groups where the version has {max_parallelism}")
        yield from file_reader.read_blocks(source, manifest, rows)
