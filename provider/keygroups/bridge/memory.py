"""Keeps little memory that is not in use."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Final, cast

import pyarrow as pa

from keygroups.segment.chunk import Chunk

BIG_ROWS: Final = 65_536
"""Rows of a call above which this is worth its 1 to 5 ms; allocators would keep several times the rows' bytes."""
_BIG_BYTES: Final = 16 << 20
"""Of fewer rows: a budget of 256 MB has memtables of 32 MB."""

_ARENAS: Final = 2
_M_ARENA_MAX: Final = -8  # of malloc.h


def _find(name: str) -> Callable[..., int]:
    try:
        return cast(Callable[..., int], getattr(ctypes.CDLL(None), name))
    except (OSError, AttributeError):  # not glibc
        return lambda *_: 0


_malloc_trim: Final = _find("malloc_trim")
_mallopt: Final = _find("mallopt")


def limit_arenas() -> None:
    """Have threads share the C library's arenas; it would make 8 for each processor, and each keeps fragments."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        _mallopt(_M_ARENA_MAX, _ARENAS)


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
