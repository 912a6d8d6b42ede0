"""Reads the blocks of a file of the checkpoint, each checked before it is decompressed."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import xxhash

from keygroups.checkpoint.family_form import Forms
from keygroups.checkpoint.filters import RowFilter
from keygroups.checkpoint.manifest import BlockRef, Manifest, Part
from keygroups.segment.block import Block
from keygroups.segment.ipc_messages import read_batch, read_schema


def read_blocks(source: pa.NativeFile, manifest: Manifest, rows: RowFilter | None = None) -> Iterator[Block]:
    """The blocks of all families, in order.

    Args:
        source: the file.
        manifest: in its head.
        rows: those that count, if not all do. A block that can't have any is not read.

    Raises:
        ValueError, OSError, pa.ArrowException: a block is not as its manifest says.
    """
    forms, numbered = Forms(manifest.catalog), manifest.kind == "changelog"
    at = of_family = 0
    first = read_schema(source).remove_metadata()
    start = source.tell()
    _check_places(manifest, source.size() - start)
    for number, part in enumerate(manifest.parts):
        of_family = of_family if number and manifest.parts[number - 1].family == part.family else 0
        form = forms.of(part.family)
        schema = first if number == 0 else _schema(source, start, part)
        form.check(schema)
        grouped = form.begins_with_groups(schema) and not numbered
        for ref in part.blocks:
            if rows is None or rows.may_be_in(at, ref.rows, (ref.first, ref.last) if grouped else None):
                block = form.block(_batch(source, start, ref, schema), of_family if numbered else None)
                if (int(block.locator[0]), int(block.locator[-1])) != (ref.first, ref.last):
                    place = start + ref.offset
                    raise ValueError(f"the block at byte {place} has other locators than its manifest says")
                yield from (block,) if rows is None else rows.of(at, block)
            of_family += ref.rows
            at += ref.rows


def _check_places(manifest: Manifest, nbytes: int) -> None:
    """Raise ValueError if a block or a schema lies behind so many bytes: reading it would allocate its length."""
    for part in manifest.parts:
        end = max((block.offset + block.length for block in part.blocks), default=0)
        if max(end, part.offset) > nbytes:
            raise ValueError(f"a block that ends at byte {end} of {nbytes}")


def _schema(source: pa.NativeFile, start: int, part: Part) -> pa.Schema:
    source.seek(start + part.offset)
    return read_schema(source)


def _batch(source: pa.NativeFile, start: int, ref: BlockRef, schema: pa.Schema) -> pa.RecordBatch:
    source.seek(start + ref.offset)
    message = source.read_buffer(ref.length)
    found = xxhash.xxh3_64_hexdigest(message)
    if (message.size, found) != (ref.length, ref.checksum):
        expected = f"{ref.length} bytes with checksum {ref.checksum}"
        raise ValueError(
            f"{message.size} bytes with checksum {found} at byte {start + ref.offset} in place of {expected}"
        )
    batch = read_batch(message, schema)
    if batch.num_rows != ref.rows:
        raise ValueError(f"{batch.num_rows} rows at byte {start + ref.offset} in place of {ref.rows}")
    return batch
