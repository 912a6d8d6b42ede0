"""Returns memory to the operating system after large calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from keygroups.segment.chunk import Chunk

BIG_ROWS: Final = 65_536
"""Rows of a call above which this is worth its 1 to 5 ms; allocators would keep several times the rows' bytes."""
_BIG_BYTES: Final = 16 << 20
"""Of fewer rows: a budget of 256 MB has memtables of 32 MB."""


def _find_malloc_trim() -> Callable[[int], int]:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # not glibc
        return lambda _: 0
    return trim


_malloc_trim: Final = _find_malloc_trim()


def are_big(chunks: Sequence[Chunk]) -> bool:
    """Whether memory is to be returned once these writes are sorted."""
    return (
        sum(chunk.rows for chunk in chunks) >= BIG_ROWS
        or sum(chunk.key_bytes + chunk.value_bytes for chunk in chunks) >= _BIG_BYTES
    )


def release_unused() -> None:
    """Return the memory that Arrow's pool and the C library have allocated and do not use."""
    pa.default_memory_pool().release_unused()
    _malloc_trim(0)
