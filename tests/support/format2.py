"""Takes files of format 2 apart, and puts them together again under checksums that fit; without the product's code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

KEY, CHECKSUM = b"keygroups.manifest", b"keygroups.manifest.checksum"


class Stored(NamedTuple):
    """A block as it is stored: of a family, its rows, and the locators that the manifest has of it."""

    family: int
    batch: pa.RecordBatch
    first: int
    last: int


def taken_apart(data: bytes) -> tuple[dict[str, Any], list[Stored]]:
    """The manifest of a file, and its blocks."""
    source = pa.BufferReader(data)
    manifest, found = manifest_of(data), []
    for family, _, blocks in manifest["parts"]:
        for block, batch in zip(blocks, ipc.open_stream(source), strict=True):
            found.append(Stored(family, batch, block[3], block[4]))
    return manifest, found


def manifest_of(data: bytes) -> dict[str, Any]:
    """The manifest of a file."""
    manifest: dict[str, Any] = json.loads(ipc.open_stream(pa.BufferReader(data)).schema.metadata[KEY])
    return manifest


def put_together(manifest: dict[str, Any], blocks: Sequence[Stored], codec: str | None = "zstd") -> bytes:
    """A file of these blocks, whose manifest says where they are."""
    sink, last = pa.BufferOutputStream(), None
    parts: list[tuple[int, int, list[list[Any]]]] = []
    start = len(blocks[0].batch.schema.remove_metadata().serialize()) if blocks else 0
    writer = ipc.new_stream(sink, pa.schema([])) if not blocks else None
    for block in blocks:
        schema = block.batch.schema.remove_metadata()
        if (block.family, schema) != last:
            if writer is not None:
                writer.close()
            last, before = (block.family, schema), sink.tell()
            parts.append((block.family, before - start, []))
            writer = ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(compression=codec))
            before += len(schema.serialize())
        else:
            before = sink.tell()
        assert writer is not None
        writer.write_batch(block.batch.replace_schema_metadata(None))
        parts[-1][2].append([before - start, sink.tell() - before, block.batch.num_rows, block.first, block.last, ""])
    if writer is not None:
        writer.close()
    body = bytes(sink.getvalue())
    for _, _, described in parts:
        for place in described:
            place[5] = xxhash.xxh3_64_hexdigest(body[start + place[0] : start + place[0] + place[1]])
    return with_manifest(body, manifest | {"parts": parts})


def with_manifest(data: bytes, manifest: dict[str, Any] | bytes) -> bytes:
    """The file with another manifest under a checksum that fits."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    source = pa.BufferReader(data)
    schema = ipc.read_schema(ipc.read_message(source))
    metadata = {KEY: text, CHECKSUM: xxhash.xxh3_128(text).hexdigest().encode()}
    return bytes(schema.with_metadata(metadata).serialize()) + data[source.tell() :]
