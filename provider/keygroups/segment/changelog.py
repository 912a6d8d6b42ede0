"""Changelogs: all writes of a batch, in the order in which they were made.

In a changelog the column ``locator`` holds the row's number within the batch. That keeps the order of the writes, and a
key appears once for each write. ``appended`` marks values that were appended to those of the key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keygroups.segment.block import Block
from keygroups.segment.chunk import APPENDED, Chunk, read_columns
from keygroups.segment.split import split_blocks


def read_changelog(chunks: Sequence[Chunk]) -> list[Block]:
    """The rows, in blocks, of chunks whose headers hold row numbers in place of locators.

    Args:
        chunks: in any order of families; those of one family in their own order.

    Raises:
        InternalError: a file is not as long as its parts.
    """
    return split_blocks(_block(chunk) for chunk in sorted(chunks, key=lambda chunk: chunk.family))


def _block(chunk: Chunk) -> Block:
    header, flags, key, value = read_columns(chunk)
    bits = pa.py_buffer(np.packbits((flags & APPENDED) != 0, bitorder="little"))
    appended = pa.Array.from_buffers(pa.bool_(), len(header), [None, bits])
    number = np.ascontiguousarray(header["locator"])
    return Block(number, header["key_group"].astype(np.uint16), key, value, chunk.family, appended)
