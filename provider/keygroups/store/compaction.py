"""Compaction of one store: merge adjacent runs, a piece at a time, while sessions continue."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import new_name
from keygroups.checkpoint.retention import may_be_listed
from keygroups.progress import Turn
from keygroups.runs.local import LocalRuns
from keygroups.runs.merging import Merge, Step
from keygroups.runs.run import Piece, Plan, batches_of, pieces_of, place_of
from keygroups.runs.tiers import MOST_TIERS, select_runs
from keygroups.segment.file import Segment
from keygroups.store.checkpoint_writer import CheckpointWriter, Upload
from keygroups.store.version import Version
from keygroups.store.versions import Versions


class Compaction:
    """Compaction of a store. Methods may run in several threads, which merge different runs.

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
        self._lock = threading.Lock()
        self._merges: list[Merge] = []
        """Under way, that of the newest runs first."""
        self._turns: list[tuple[Merge | None, Turn]] = []
        """Calls that work, each on the next piece of another merge, or on the file of one."""
        self._steps: dict[str, Step] = {}
        """Pieces that are merged and wait for ``install``, by their segments."""
        self._writing: list[Segment] = []
        """Pieces whose files will be written, or are."""
        self._uploading: dict[str, tuple[Segment, FileRef]] = {}

    def is_due(self, version: Version) -> bool:
        """Whether there is something to merge that no call works on."""
        with self._lock:
            if any(not self._is_worked_on(merge) for merge in self._merges):
                return True
            return self._select(self._newer(version.plan), version, thorough=False) is not None

    def run(self, *, thorough: bool, newest: bool = False) -> Segment | None:
        """Merge one piece of the latest version, if a merge is under way or due, and no other call works on it.

        Args:
            thorough: see ``select_runs``.
            newest: begin and end a small merge, of runs that are newer than those of the merges under way: batches
                that are committed meanwhile would make too many runs.

        Returns:
            A segment to ``install``; None if nothing was due.

        Raises:
            CancelledError: there is only what a call works on that was cancelled and does not end, and this one was
                cancelled too while it waited for that.
        """
        while True:
            with ExitStack() as stack:
                todo = self._begin(stack, thorough=thorough, newest=newest)
                if isinstance(todo, Merge):
                    return self._merge(todo)
            if not isinstance(todo, Turn):
                return todo
            with todo:
                pass  # it has ended, and left what it worked on

    def _begin(self, stack: ExitStack, *, thorough: bool, newest: bool) -> Merge | Segment | Turn | None:
        """What a call does: merge, have a piece written, wait for another call, or nothing."""
        with self._lock:
            if (latest := self._versions.latest()) is None:
                return None
            version = stack.enter_context(self._versions.pinned(latest))
            if not newest and (piece := self._not_uploaded(version.plan)) is not None:
                self._writing.append(piece.segment)
                return piece.segment
            if (merge := self._next(version, thorough=thorough, newest=newest)) is not None:
                stack.enter_context(self._working(merge))
                return merge
            return None if newest else self._stuck()

    def _merge(self, merge: Merge) -> Segment:
        step = merge.step(self._runs, self._piece_bytes)
        with self._lock:
            self._steps[step.segment.id] = step
        return step.segment

    def install(self, segment: str) -> tuple[Version, Upload | None] | None:
        """Have plans read a segment that ``run`` has returned, and write its file.

        Args:
            segment: its id.

        Returns:
            The latest version, and the file to upload if the segment has rows; None if there is no version.
        """
        with ExitStack() as stack:
            with self._lock:
                if (step := self._steps.pop(segment, None)) is not None:
                    self._replace(step)
                if (latest := self._versions.latest()) is None:
                    self._stop_writing(segment)
                    return None
                version = stack.enter_context(self._versions.pinned(latest))
                found = (p for p in pieces_of(version.plan) if p.segment.id == segment and not p.is_durable)
                if (piece := next(found, None)) is None:
                    self._stop_writing(segment)
                    return version, None
                stack.enter_context(self._working(None))
            upload = self._upload(piece, version)
        return self._versions.get(version.key) or version, upload

    def abandon(self, segment: str) -> None:
        """Leave plans as they are: a segment that ``run`` has returned can't be used. Its rows are merged again."""
        with self._lock:
            self._steps.pop(segment, None)
            self._stop_writing(segment)

    def _replace(self, step: Step) -> None:
        self._versions.replace(step)
        following = step.next()
        left = [following if merge is step.merge else merge for merge in self._merges]
        self._merges = [merge for merge in left if merge is not None]
        self._writing.append(step.segment)

    def _stop_writing(self, segment: str) -> None:
        self._writing = [other for other in self._writing if other.id != segment]

    def uploaded(self, name: str, *, success: bool) -> bool:
        """The upload of a merged segment has ended.

        After a success, later manifests list it in the place of the files it was merged from. After a failure, or if it
        took so long that another executor may delete the file before it is listed, they list those files as before, and
        the next compaction uploads the segment again.

        Returns:
            False if it took so long.
        """
        with self._lock:
            segment, ref = self._uploading.pop(name, (None, None))
            if not success or segment is None or ref is None:
                return True
            if is_young := may_be_listed(ref.name):
                self._versions.set_file(segment, ref)
            return is_young

    def files_in_use(self) -> frozenset[str]:
        """Names of the files that are being uploaded."""
        with self._lock:
            return frozenset(self._uploading)

    @contextmanager
    def _working(self, merge: Merge | None) -> Iterator[None]:
        """This call works on a piece until the end of the block; the lock is held at its beginning, not at its end."""
        turn = Turn()
        self._turns.append((merge, turn))
        try:
            with turn:
                yield
        finally:
            with self._lock:
                self._turns = [other for other in self._turns if other[1] is not turn]

    def _is_worked_on(self, merge: Merge) -> bool:
        merges = chain((other for other, _ in self._turns), (step.merge for step in self._steps.values()))
        return any(other is merge for other in merges)

    def _next(self, version: Version, *, thorough: bool, newest: bool) -> Merge | None:
        """The merge to go on with: of the newest runs, so that these stay few."""
        ids, plan = version.catalog.ids, version.plan
        self._merges = [merge for merge in self._merges if merge.catalog.ids == ids and merge.is_in(plan)]
        chosen = self._select(self._newer(plan), version, thorough=thorough)
        if chosen is not None and (not newest or self._is_small(chosen)):
            merge = Merge(chosen, bottom=chosen[-1] is plan[-1], catalog=version.catalog)
            self._merges.insert(0, merge)
            return merge
        if newest:
            return None
        return next((merge for merge in self._merges if not self._is_worked_on(merge)), None)

    def _stuck(self) -> Turn | None:
        """A call that was cancelled and does not end."""
        return next((turn for _, turn in self._turns if turn.is_stuck), None)

    def _newer(self, plan: Plan) -> Plan:
        """The runs of a plan that are newer than those of the merges under way."""
        places = [place for merge in self._merges if (place := place_of(plan, merge.runs)) is not None]
        return plan[: places[0].start] if places else plan

    def _is_small(self, runs: Plan) -> bool:
        return sum(block.nbytes for run in runs for block in run.blocks()) <= self._piece_bytes

    def _select(self, plan: Plan, version: Version, *, thorough: bool) -> Plan | None:
        """Runs to merge, among the newest; what is not uploaded yet is not merged again.

        The runs of one batch count as one: a batch that spilled writes has several. Only if that makes more runs than
        a store may have, they are merged by themselves.
        """
        first = next((number for number, run in enumerate(plan) if not run.is_durable), len(plan))
        batches = batches_of(plan[:first])
        rows = [sum(run.rows for run in runs) for runs in batches]
        start, stop = select_runs(rows, version.catalog.num_keys, self._fanout, thorough=thorough)
        chosen = tuple(chain.from_iterable(batches[start:stop]))
        most = MOST_TIERS * self._fanout
        return chosen or next((runs for runs in batches if len(runs) > most), None)

    def _not_uploaded(self, plan: Plan) -> Piece | None:
        """A piece whose upload has failed, or the rows of a file with a filter: they become a file of the store's own.

        A merge in pieces says of each input which rows are left, by their numbers in a file that has just these rows.
        """
        known = [*self._writing, *(segment for segment, _ in self._uploading.values())]
        return next((p for p in pieces_of(plan) if not (p.is_durable or any(p.segment is s for s in known))), None)

    def _upload(self, piece: Piece, version: Version) -> Upload:
        """Write a piece for the checkpoint, with its own families: the version may have others by now."""
        assert piece.made_with is not None
        name = new_name("segment", piece.version)
        try:
            file = self._checkpoint.write(name, piece.blocks(), piece.made_with, version)
            piece.segment.release_pages()
            with self._lock:
                self._uploading[str(name)] = (piece.segment, file.ref)
        finally:
            with self._lock:
                self._stop_writing(piece.segment.id)
        return file.upload
