"""The files that an operation has restored so far, while others are still on their way.

With 50 million keys on S3, the download takes 3 s and the restore as long: each call of an operation restores what has
arrived, and the JVM downloads meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.file import Segment
from keygroups.store.downloads import Wanted


class RestoredFiles:
    """Segments by what they were restored of, of each operation of a store that is under way.

    Two may load it at the same time, as an attempt that Spark has given up on and the next one. What an operation has
    downloaded is deleted once it is restored, so each has segments of its own. Methods may run in several threads.
    """

    def __init__(self) -> None:
        self._operations: dict[str, dict[str, dict[FileRef, Segment]]] = {}

    @contextmanager
    def kept_for(self, operation: str) -> Iterator[None]:
        """Keep what a call restores if the operation goes on, and free it if it ends.

        Args:
            operation: folder of its downloads. The JVM deletes it at the end, also if it gives the operation up.
        """
        for other in list(self._operations):
            if not Path(other).exists():
                self._operations.pop(other, None)
        goes_on = False
        try:
            yield
        except Wanted:
            goes_on = True
            raise
        finally:
            if not goes_on:
                self._operations.pop(operation, None)

    def of(self, operation: str, version_file: str) -> dict[FileRef, Segment]:
        """What the operation has restored so far for one version file; the caller adds to it.

        Another attempt's version file may have another catalog, which the rows were not checked against.
        """
        return self._operations.setdefault(operation, {}).setdefault(version_file, {})
