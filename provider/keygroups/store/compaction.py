"""Compaction of one store: merge neighbouring runs while sessions go on, then put the result in their place."""

from __future__ import annotations

import threading

import msgspec

from keygroups.backend.base import Backend, Plan, Run
from keygroups.checkpoint.manifest import FileRef
from keygroups.store.spec import Version


class Compaction:
    """State of a store's compaction.

    Args:
        backend: chooses and merges.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.exclusive = threading.Lock()
        """One merge at a time."""
        self.pending: dict[str, tuple[Run, FileRef]] = {}
        """By name in the checkpoint: runs that the JVM is uploading as one file."""

    def merge(self, version: Version, *, thorough: bool) -> tuple[Run, Plan] | None:
        """Merge what the backend selects from a version's plan.

        Returns:
            The merged run and the runs it covers; None if nothing is to be merged. A run whose upload failed earlier
            comes back as it is, to be uploaded again.
        """
        covered = self._backend.select(version.plan, version.catalog.num_keys, thorough=thorough)
        if not covered:
            uploading = [run for run, _ in self.pending.values()]
            again = next((run for run in version.plan if len(run.files) > 1 and run not in uploading), None)
            return (again, (again,)) if again is not None else None
        bottom = covered[-1] is version.plan[-1]
        segment = self._backend.merge([run.segment for run in covered], version.catalog.ids, bottom=bottom)
        return Run(segment, tuple(ref for run in covered for ref in run.files)), covered

    @staticmethod
    def substitute(version: Version, covered: Plan, merged: Run) -> Version:
        """The version with ``merged`` in place of ``covered``, if its plan holds these runs next to each other."""
        plan, length = version.plan, len(covered)
        for start in range(len(plan) - length + 1):
            if all(a is b for a, b in zip(plan[start : start + length], covered, strict=True)):
                return msgspec.structs.replace(version, plan=(*plan[:start], merged, *plan[start + length :]))
        return version
