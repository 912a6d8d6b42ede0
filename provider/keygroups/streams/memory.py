"""Memory of a Python worker."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from keygroups.partition.task import PartitionTask

PAGE: Final = os.sysconf("SC_PAGESIZE")
OBJECTS: Final = 100_000
"""New objects after which Python looks for unused cycles; 700 is its own number."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Have Python look for unused cycles less often.

    Rows, keys and entries are in none, but Python looks through them: 1.9 of 4.4 us a row.
    """
    before = gc.get_threshold()
    if before[0]:  # else its user has switched it off
        gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Memory:
    """How much a worker's own memory has grown.

    Args:
        limit: Bytes by which it may grow.
    """

    def __init__(self, limit: int) -> None:
        """Begin with what it has."""
        self._limit = limit
        self._first = self._start = self._own()

    def bound(self, task: PartitionTask) -> None:
        """Have a task move its writes to disk if the worker has grown too much.

        What has been given back to Python, but not to the system, is used again; up to twice the limit in all.
        """
        if self._own() - self._start <= self._limit:
            return
        task.spill()
        self._start = min(max(self._start, self._own() - self._limit // 2), self._first + self._limit)

    @staticmethod
    def _own() -> int:
        """Bytes of pages that are not those of files."""
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * PAGE
