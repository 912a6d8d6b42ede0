"""Runs and plans: the working state that a session sees."""

from __future__ import annotations

from dataclasses import dataclass

from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.file import Segment


@dataclass(eq=False)
class Run:
    """A local segment and the durable files that hold the same rows.

    Attributes:
        segment: the rows, mapped.
        files: newest first; one file once a compacted segment is uploaded, until then those it was merged from.
    """

    segment: Segment
    files: tuple[FileRef, ...]


Plan = tuple[Run, ...]
"""Runs, newest first; together with the overlay they are the state a session sees."""


def durable_files(plan: Plan) -> tuple[FileRef, ...]:
    """The files of a plan, newest first."""
    return tuple(ref for run in plan for ref in run.files)
