"""Compaction of one store: merge adjacent runs, a piece at a time, while sessions continue."""

from __future__ import annotations

from itertools import chain, groupby

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import new_name
from keygroups.progress import Turn
from keygroups.runs.local import LocalRuns
from keygroups.runs.merging import Merge
from keygroups.runs.run import Piece, Plan, pieces_of, place_of
from keygroups.runs.tiers import select_runs
from keygroups.segment.file import Segment
from keygroups.store.checkpoint_writer import CheckpointWriter, Upload
from keygroups.store.version import Version
from keygroups.store.versions import Versions


class Compaction:
    """Compaction of a store.

    Args:
        runs: merges runs.
        checkpoint: writes merged segments for the checkpoint.
        versions: whose plans get the merged runs.
        fanout: runs of similar size that make a merge.
        piece_bytes: about how many bytes of input make a piece.
    """

    def __init__(
        self, runs: LocalRuns, checkpoint: CheckpointWriter, versions: Versions, *, fanout: int, piece_bytes: int
    ) -> None:
        self._runs = runs
        self._checkpoint = checkpoint
        self._versions = versions
        self._fanout, self._piece_bytes = fanout, piece_bytes
        self._one_step = Turn()
        self._merges: list[Merge] = []
        self._uploading: dict[str, tuple[Segment, FileRef]] = {}

    def is_due(self, version: Version) -> bool:
        """Whether there is something to merge."""
        return bool(self._merges) or self._select(version.plan, version, thorough=False) is not None

    def run(self, *, thorough: bool) -> tuple[Version, Upload | None] | None:
        """Do one piece of a merge of the latest version, if one is under way or due.

        Returns:
            The latest version with the piece, and the file to upload if there is one; None if nothing was due.
        """
        with self._one_step:
            if (latest := self._versions.latest()) is None:
                return None
            with self._versions.pinned(latest) as version:
                if (piece := self._not_uploaded(version.plan)) is not None:
                    return version, self._upload(piece, version)
                if (merge := self._next(version, thorough=thorough)) is None:
                    return None
                step = merge.step(self._runs, self._piece_bytes)
                after = self._versions.replace(step) or version
                following = step.next()
                self._merges = [*([following] if following else []), *self._merges[1:]]
                merged = next((p for p in pieces_of(after.plan) if p.segment is step.segment), None)
                return after, None if merged is None else self._upload(merged, after)

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

    def _next(self, version: Version, *, thorough: bool) -> Merge | None:
        """The merge to go on with, which comes first in ``_merges``: of the newest runs, so that these stay few."""
        ids, plan = version.catalog.ids, version.plan
        self._merges = [merge for merge in self._merges if merge.catalog.ids == ids and merge.is_in(plan)]
        place = place_of(plan, self._merges[0].runs) if self._merges else None
        newer = plan if place is None else plan[: place.start]
        if (chosen := self._select(newer, version, thorough=thorough)) is not None:
            self._merges.insert(0, Merge(chosen, bottom=chosen[-1] is plan[-1], catalog=version.catalog))
        return self._merges[0] if self._merges else None

    def _select(self, plan: Plan, version: Version, *, thorough: bool) -> Plan | None:
        """Runs to merge, among the newest; what is not uploaded yet is not merged again.

        The runs of one batch count as one: a batch that spilled writes has several.
        """
        first = next((number for number, run in enumerate(plan) if not run.is_durable), len(plan))
        batches = [list(runs) for _, runs in groupby(plan[:first], key=lambda run: run.version)]
        rows = [sum(run.rows for run in runs) for runs in batches]
        start, stop = select_runs(rows, version.catalog.num_keys, self._fanout, thorough=thorough)
        return tuple(chain.from_iterable(batches[start:stop])) or None

    def _not_uploaded(self, plan: Plan) -> Piece | None:
        """A piece whose upload has failed, or the rows of a file with a filter: they become a file of the store's own.

        A merge in pieces says of each input which rows are left, by their numbers in a file that has just these rows.
        """
        uploading = [segment for segment, _ in self._uploading.copy().values()]
        return next((p for p in pieces_of(plan) if not p.is_durable and p.segment not in uploading), None)

    def _upload(self, piece: Piece, version: Version) -> Upload:
        """Write a piece for the checkpoint, with its own families: the version may have others by now."""
        assert piece.made_with is not None
        name = new_name("segment", piece.version)
        file = self._checkpoint.write(name, piece.blocks(), piece.made_with, version)
        piece.segment.release_pages()
        self._uploading[str(name)] = (piece.segment, file.ref)
        return file.upload
