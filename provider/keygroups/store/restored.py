"""The files that an operation has restored so far, while others are still on their way.

With 50 million keys on S3, the download takes 3 s and the restore as long: each call of an operation restores what has
arrived, and the JVM downloads meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.file import Segment
from keygroups.store.downloads import Wanted


class RestoredFiles:
    """Segments by what they were restored of, of one operation of a store: the one that came last.

    Those of an operation that never ends, as the JVM has given it up, are freed when the next one begins. Methods may
    run in several threads: an operation that loses its segments to another one restores them again.
    """

    def __init__(self) -> None:
        self._current: tuple[str, dict[str, dict[FileRef, Segment]]] = ("", {})

    @contextmanager
    def kept_for(self, operation: str) -> Iterator[None]:
        """Keep what a call restores if the operation goes on, and free it if it ends.

        Args:
            operation: folder of its downloads.
        """
        goes_on = False
        try:
            yield
        except Wanted:
            goes_on = True
            raise
        finally:
            if not goes_on and self._current[0] == operation:
                self._current = ("", {})

    def of(self, operation: str, version_file: str) -> dict[FileRef, Segment]:
        """What the operation has restored so far for one version file; the caller adds to it.

        Another attempt's version file may have another catalog, which the rows were not checked against.
        """
        current, attempts = self._current
        if current != operation:
            attempts = {}
            self._current = operation, attempts
        return attempts.setdefault(version_file, {})
