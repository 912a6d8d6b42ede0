"""Runs and plans: the working state that a session sees."""

from __future__ import annotations

from dataclasses import dataclass

from keygroups.checkpoint.manifest import FileRef
from keygroups.segment.block import has_appends
from keygroups.segment.file import Segment


@dataclass(frozen=True, eq=False)
class Run:
    """A local segment and the durable files that hold the same rows.

    Attributes:
        segment: the rows, mapped.
        files: newest first. One file, or, of a merged segment that is not uploaded yet, those it was merged from.
    """

    segment: Segment
    files: tuple[FileRef, ...]


Plan = tuple[Run, ...]
"""Runs, newest first; together with the overlay they are the state a session sees."""


def advance(plan: Plan, change: Run, num_keys: int) -> Plan:
    """The plan after a commit.

    Args:
        plan: the plan that the session was built on.
        change: the rows that the session changed.
        num_keys: keys of the new version.
    """
    blocks = change.segment.blocks
    tombstones = sum(block.value.null_count for block in blocks)
    if change.segment.rows - tombstones == num_keys and not any(map(has_appends, blocks)):
        return (change,) if num_keys else ()  # every key was written or removed: no older run is needed
    return (change, *plan) if change.segment.rows else plan


def substitute(plan: Plan, covered: Plan, merged: Segment) -> Plan:
    """The plan with the merged segment in place of the covered ones, if it holds these next to each other.

    The files are those that the plan has for them: an upload may have ended during the merge.
    """
    length, segments = len(covered), [run.segment for run in covered]
    for start in range(len(plan) - length + 1):
        replaced = plan[start : start + length]
        if all(run.segment is other for run, other in zip(replaced, segments, strict=True)):
            return (*plan[:start], Run(merged, durable_files(replaced)), *plan[start + length :])
    return plan


def durable_files(plan: Plan) -> tuple[FileRef, ...]:
    """The files of a plan, newest first."""
    return tuple(ref for run in plan for ref in run.files)
