"""Merges that go with a commit, for a query that may end with it: the commit's version lists what was merged."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import reduce
from typing import Final, NamedTuple

from keygroups.checkpoint.names import new_name
from keygroups.errors import CapacityError
from keygroups.runs.local import LocalRuns
from keygroups.runs.merging import Merge, Step
from keygroups.runs.plan import Plan, pieces_of
from keygroups.runs.selection import merges_of
from keygroups.store.checkpoint_writer import CheckpointWriter, Upload, deleted_unless_done
from keygroups.store.version import Version

log = logging.getLogger(__name__)

LEAST_BYTES: Final = 8 << 20
"""Of input: 0.1 s. A state of as many bytes is merged whole."""
BATCHES: Final = 8
"""Times the bytes of the batch: what tiers cost up to a state of 4^7 batches, so merges do not fall behind."""


class Merged(NamedTuple):
    """What was merged for a commit.

    Attributes:
        steps: the pieces, with their files.
        uploads: the files, which are to be uploaded before the version's.
    """

    steps: list[Step]
    uploads: list[Upload]

    def substituted(self, plan: Plan) -> Plan:
        """Return the plan with the pieces in the place of the rows that they cover."""
        return reduce(lambda changed, step: step.substituted(changed), self.steps, plan)


class AtOnce:
    """Merges of a store that go with its commits.

    Args:
        runs: merges runs.
        checkpoint: writes merged segments for the checkpoint.
        fanout: runs of similar size that make a merge.
        piece_bytes: about how many bytes of input make a piece.
    """

    def __init__(self, runs: LocalRuns, checkpoint: CheckpointWriter, fanout: int, piece_bytes: int) -> None:
        self._runs = runs
        self._checkpoint = checkpoint
        self._fanout, self._piece_bytes = fanout, piece_bytes

    def merge(self, version: Version, batch_bytes: int) -> Merged:
        """Merge what is due, as many bytes as keep up with batches of this size.

        A merge of more goes on by a whole piece, once in as many versions as that takes: parts of it would be as many
        files.

        Args:
            version: which the commit is built on; it stays as it is.
            batch_bytes: of what the commit writes.

        Raises:
            CancelledError: nothing is left behind.
        """
        most, done = max(LEAST_BYTES, BATCHES * batch_bytes), Merged([], [])
        has_turn = version.key.version % -(-self._piece_bytes // most) == 0
        with deleted_unless_done(done.uploads):
            try:
                self._merge(version, most, self._piece_bytes if has_turn else 0, done)
            except CapacityError as error:
                log.warning("%s; the commit goes on with what is merged", error)
        return done

    def _merge(self, version: Version, most: int, piece_bytes: int, done: Merged) -> None:
        plan = version.plan
        while (merge := self._first(plan, version, most, piece_bytes, done)) is not None:
            is_small = merge.nbytes <= most
            step = merge.step(self._runs, merge.nbytes if is_small else piece_bytes)
            most, piece_bytes = (most - merge.nbytes, piece_bytes) if is_small else (most, 0)
            if step.segment.rows:
                step = self._written(step, version, done.uploads)
            done.steps.append(step)
            plan = step.substituted(plan)

    def _first(self, plan: Plan, version: Version, most: int, piece_bytes: int, done: Merged) -> Merge | None:
        """Return the merge to go on with. What this commit has merged is not merged again: its file is uploaded."""
        due, begun = merges_of(plan, version.catalog, self._fanout, piece_bytes or most)
        new = {step.segment.id for step in done.steps}
        fitting = (merge for merge in (*due, *begun) if piece_bytes or merge.nbytes <= most)
        merges = (m for m in fitting if new.isdisjoint(piece.segment.id for piece in pieces_of(m.inputs)))
        return next(merges, None)

    def _written(self, step: Step, version: Version, uploads: list[Upload]) -> Step:
        name = new_name("segment", max(run.version for run in step.merge.inputs))
        file = self._checkpoint.write(name, step.segment.blocks, version.catalog, version)
        step.segment.release_pages()
        uploads.append(file.upload)
        return replace(step, file=file.ref)
