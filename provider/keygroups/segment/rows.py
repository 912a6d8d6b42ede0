"""The rows of a segment, on their way to a file or in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import xxhash

from keygroups.segment.block import Block, conform, schema_of


@dataclass(frozen=True)
class SortedRows:
    """The rows of a segment, wherever they lie.

    Attributes:
        schema: Arrow schema of the blocks.
        blocks: in ascending order of family and locator, without overlap.
    """

    schema: pa.Schema
    blocks: Sequence[Block]

    @staticmethod
    def of(blocks: Sequence[Block]) -> SortedRows:
        """Sorted blocks, without empty ones, which no file shows; with columns of the types that all of them fit."""
        schema = schema_of(blocks)
        return SortedRows(schema, [conform(block, schema) for block in blocks if len(block)])

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
    for array in (block.locator, block.h):
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    columns = [block.key, block.value] + ([] if block.appended is None else [block.appended])
    for column in columns:
        for buffer in _written(column):
            digest.update(buffer)
    if block.written is not None:
        digest.update(np.ascontiguousarray(block.written).view(np.uint8).data)
    if block.family:
        digest.update(block.family.to_bytes(2, "little"))


def _written(column: pa.Array) -> Iterator[memoryview]:
    """What an Arrow file holds of a column: memory may hold more, such as a mask without a null, or spare room."""
    n = len(column)
    if n == 0:
        return
    whole = pa.concat_arrays([column]) if column.offset else column
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
