"""How much of the local disk the sorted runs of all stores of this process take."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakValueDictionary

from keygroups.errors import CapacityError
from keygroups.segment.file import Segment


class LocalDisk:
    """Knows the segments that exist. Methods may run in several threads."""

    def __init__(self) -> None:
        # A count that a finalizer lowers would need a lock, which the thread that runs the finalizer may hold.
        self._segments: WeakValueDictionary[str, Segment] = WeakValueDictionary()

    @property
    def nbytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.nbytes for ref in self._segments.valuerefs() if (segment := ref()) is not None)

    def counted(self, segment: Segment) -> Segment:
        """Count a segment from now on until it is deleted; returns it."""
        self._segments[segment.id] = segment
        return segment

    def require(self, nbytes: int, budget: int, folder: Path) -> None:
        """Raise CapacityError if there is no room for more bytes. A budget of 0 is none."""
        if budget and (found := self.nbytes) + nbytes > budget:
            raise CapacityError(
                "the sorted runs of this executor's stores would take more local disk than they may",
                path=folder,
                expected=f"{budget} bytes at most",
                found=f"{found} bytes, and {nbytes} more",
                fix="raise keyGroups.diskBudget, or give the query more executors",
            )


LOCAL_DISK = LocalDisk()
"""Of this process: its stores share the disk."""
