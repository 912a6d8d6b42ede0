"""The rows of a segment, in memory or over a mapped file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import xxhash

from keygroups.segment.block import Block, conform, schema_of
from keygroups.segment.split import split_rows


@dataclass(frozen=True)
class SortedRows:
    """The rows of a segment, in memory or over a mapped file.

    Attributes:
        schema: Arrow schema of the blocks.
        blocks: in ascending order of (family, locator, key), without overlap.
    """

    schema: pa.Schema
    blocks: Sequence[Block]

    @staticmethod
    def of(blocks: Sequence[Block]) -> SortedRows:
        """Sorted blocks, with columns of types that fit all of them; without empty ones, and large ones split."""
        schema = schema_of(blocks)
        whole = (conform(block, schema) for block in blocks if len(block))
        return SortedRows(schema, [part for block in whole for part in split_rows(block)])

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def checksum(self) -> str:
        """xxh3-128 of all column buffers in file order, in hexadecimal."""
        digest = xxhash.xxh3_128()
        for block in self.blocks:
            update(digest, block)
        return digest.hexdigest()


def update(digest: xxhash.xxh3_128, block: Block) -> None:
    """Add the column buffers of a block to a checksum."""
    for array in (block.locator, block.partition_hash):
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    columns = [block.key, block.value] + ([] if block.appended is None else [block.appended])
    for column in columns:
        for buffer in _written(column):
            digest.update(buffer)
    if block.written is not None:
        digest.update(np.ascontiguousarray(block.written).view(np.uint8).data)
    if block.family:
        digest.update(block.family.to_bytes(2, "little"))


def _is_part(column: pa.Array) -> bool:
    """Whether bitmaps hold bits of other rows: Arrow's writer copies such, and clears the bits after the last row."""
    most = -(-((len(column) + 7) // 8) // 64) * 64
    bitmaps = column.buffers()[: 2 if pa.types.is_boolean(column.type) else 1]
    return bool(column.offset) or any(bitmap is not None and bitmap.size > most for bitmap in bitmaps)


def _written(column: pa.Array) -> Iterator[memoryview]:
    """The bytes of a column in an Arrow file; memory may hold more, such as a mask without nulls, or unused space."""
    n = len(column)
    if n == 0:
        return
    whole = pa.concat_arrays([column]) if _is_part(column) else column
    validity, *offsets, data = whole.buffers()
    if whole.null_count:
        yield memoryview(validity)[: (n + 7) // 8]
    if pa.types.is_boolean(whole.type):
        yield memoryview(data)[: (n + 7) // 8]
        return
    if not offsets:
        yield memoryview(data)[: n * whole.type.byte_width]
        return
    ends = np.frombuffer(offsets[0], np.int32, n + 1)
    yield (ends - ends[0]).view(np.uint8).data
    if ends[-1] > ends[0]:
        yield memoryview(data)[ends[0] : ends[-1]]
