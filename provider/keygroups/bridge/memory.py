"""Returns memory to the operating system after large calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final

import pyarrow as pa

BIG_ROWS: Final = 65_536
"""Rows of a call above which this is worth its 1 to 5 ms; allocators would keep several times the rows' bytes."""


def _find_malloc_trim() -> Callable[[int], int]:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # not glibc
        return lambda _: 0
    return trim


_malloc_trim: Final = _find_malloc_trim()


def release_unused() -> None:
    """Return the memory that Arrow's pool and the C library have allocated and do not use."""
    pa.default_memory_pool().release_unused()
    _malloc_trim(0)
