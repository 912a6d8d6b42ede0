"""How much of the local disk the sorted runs of all stores of this process take."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path

from keygroups.errors import CapacityError
from keygroups.segment.file import Segment


class LocalDisk:
    """Counts the bytes of segments while they exist. Methods may run in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0

    def counted(self, segment: Segment) -> Segment:
        """Count a segment from now on until it is deleted; returns it."""
        self._add(segment.nbytes)
        weakref.finalize(segment, self._add, -segment.nbytes)
        return segment

    def require(self, nbytes: int, budget: int, folder: Path) -> None:
        """Raise CapacityError if there is no room for more bytes. A budget of 0 is none."""
        found = self._bytes + nbytes
        if 0 < budget < found:
            raise CapacityError(
                "the sorted runs of this executor's stores would take more local disk than they may",
                path=folder,
                expected=f"{budget} bytes at most",
                found=f"{self._bytes} bytes, and {nbytes} more",
                fix="raise keyGroups.diskBudget, or give the query more executors",
            )

    def _add(self, nbytes: int) -> None:
        with self._lock:
            self._bytes += nbytes


LOCAL_DISK = LocalDisk()
"""Of this process: its stores share the disk."""
