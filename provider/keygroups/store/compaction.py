"""Compaction of one store: merge adjacent runs while sessions continue, then put the result in their place."""

from __future__ import annotations

import threading

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import new_name
from keygroups.runs.local import LocalRuns
from keygroups.runs.run import Plan
from keygroups.runs.tiers import select_runs
from keygroups.segment.file import Segment
from keygroups.store.checkpoint_writer import CheckpointWriter, Upload
from keygroups.store.version import Version
from keygroups.store.versions import Versions


class Compaction:
    """Compaction of a store.

    Args:
        runs: merges segments.
        checkpoint: writes merged segments for the checkpoint.
        versions: whose plans get the merged runs.
        fanout: runs of similar size that make a merge.
    """

    def __init__(self, runs: LocalRuns, checkpoint: CheckpointWriter, versions: Versions, fanout: int) -> None:
        self._runs = runs
        self._checkpoint = checkpoint
        self._versions = versions
        self._fanout = fanout
        self._one_merge = threading.Lock()
        self._uploading: dict[str, tuple[Segment, FileRef]] = {}

    def is_due(self, version: Version) -> bool:
        """Whether a merge is due."""
        return bool(self._select(version, thorough=False))

    def run(self, *, thorough: bool) -> tuple[Version, Upload] | None:
        """Merge runs of the latest version, if a merge is due.

        Returns:
            The latest version with the merged run, and the file to upload; None if no merge was due.
        """
        with self._one_merge:
            if (latest := self._versions.latest()) is None:
                return None
            with self._versions.pinned(latest) as version:
                if (merge := self._merge(version, thorough=thorough)) is None:
                    return None
                merged, covered = merge
                name = new_name("segment", max(ref.name.version for run in covered for ref in run.files))
                file = self._checkpoint.write(name, merged.blocks, version.catalog, version)
                merged.release_pages()
                self._uploading[str(name)] = (merged, file.ref)
                replaced = self._versions.replace(covered, merged, version.catalog.ids)
            return replaced or version, file.upload

    def uploaded(self, name: str, *, success: bool) -> None:
        """The upload of a merged segment has ended.

        After a success, later manifests list it in the place of the files it was merged from. After a failure they
        list those files as before, and the next compaction uploads the segment again.
        """
        segment, ref = self._uploading.get(name, (None, None))
        if success and segment is not None and ref is not None:
            self._versions.set_file(segment, ref)
        self._uploading.pop(name, None)

    def files_in_use(self) -> frozenset[str]:
        """Names of the files that are being uploaded."""
        return frozenset(self._uploading.copy())

    def _merge(self, version: Version, *, thorough: bool) -> tuple[Segment, Plan] | None:
        """Merge runs of a version's plan.

        Returns:
            The merged segment and the runs it covers; None if there is nothing to do. The segment of a run whose upload
            failed before is returned as it is, to be uploaded again.
        """
        covered = self._select(version, thorough=thorough)
        if not covered:
            uploading = [segment for segment, _ in self._uploading.copy().values()]
            failed = (run for run in version.plan if len(run.files) > 1 and run.segment not in uploading)
            return next(((run.segment, (run,)) for run in failed), None)
        bottom = covered[-1] is version.plan[-1]
        return self._runs.merge([run.segment for run in covered], version.catalog.ids, bottom=bottom), covered

    def _select(self, version: Version, *, thorough: bool) -> Plan:
        rows = [run.segment.rows for run in version.plan]
        start, stop = select_runs(rows, version.catalog.num_keys, self._fanout, thorough=thorough)
        return version.plan[start:stop]
