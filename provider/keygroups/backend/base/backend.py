"""The small interface behind which a backend keeps the working state of one store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from pathlib import Path

from keygroups.backend.base.run import Plan, Run
from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.segment.restore import BlockCheck
from keygroups.segment.rows import SortedRows


class Backend(ABC):
    """Working state of one store.

    A version is a plan, which never changes in place; sessions on older plans go on undisturbed. Methods may run at the
    same time in several threads, but for ``compact``.
    """

    @abstractmethod
    def sort(self, chunks: Sequence[Chunk], written: int) -> SortedRows:
        """Sort chunks of a session's writes, one a column family; see ``read_chunk`` for ``written``."""

    @abstractmethod
    def keep(self, rows: SortedRows) -> Segment:
        """Take rows into the working state. Raises CapacityError."""

    @abstractmethod
    def merge(self, segments: Sequence[Segment], families: Container[int], *, bottom: bool) -> Segment:
        """Merge rows of these families, newest segment first; at the bottom tombstones go. Raises CapacityError."""

    @abstractmethod
    def restore(self, source: Path, ref: FileRef, check: BlockCheck) -> Run:
        """Bring a downloaded checkpoint file into the working state, if it is whole and its blocks pass a check.

        Raises:
            CheckpointError: they do not.
            CapacityError: the local disk is full.
        """

    @abstractmethod
    def advance(self, plan: Plan, change: Run, num_keys: int) -> Plan:
        """The plan after a commit.

        Args:
            plan: the plan that the session was built on.
            change: the rows that the session changed.
            num_keys: keys of the new version.
        """

    @abstractmethod
    def select(self, plan: Plan, num_keys: int, *, thorough: bool) -> Plan:
        """Neighbouring runs of ``plan`` that should be merged now; empty if none.

        Args:
            plan: the latest plan.
            num_keys: its keys.
            thorough: True where time is cheap (Spark's maintenance) and space is worth more.
        """
