"""A merge of adjacent runs in pieces, from the first row to the last; each piece is uploaded by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from keygroups.checkpoint.catalog import Catalog
from keygroups.runs.local import LocalRuns
from keygroups.runs.run import Piece, Plan, Run, pieces_of, place_of
from keygroups.segment.file import Segment
from keygroups.segment.merge import cut_after
from keygroups.segment.span import END, Span, rows_before

BLOCKS_PER_PIECE: Final = 16
"""Of input, about: with blocks of 8 MB below a second of work, and 16 pieces of a partition of 2 GB."""


@dataclass(frozen=True)
class Merge:
    """A merge under way.

    Attributes:
        runs: as plans have them: what is merged so far, if anything, and the rest of the inputs, newest first.
        bottom: whether no older run lies below these; tombstones are then dropped.
        catalog: the column families that it keeps.
        has_output: whether the first run is what is merged so far.
    """

    runs: Plan
    bottom: bool
    catalog: Catalog
    has_output: bool = False

    @property
    def inputs(self) -> Plan:
        """What is still to be merged."""
        return self.runs[self.has_output :]

    def is_in(self, plan: Plan) -> bool:
        """Whether a plan has its runs."""
        return place_of(plan, self.runs) is not None

    def step(self, local: LocalRuns, piece_bytes: int) -> Step:
        """Merge the next rows, about so many bytes of input, into a segment. Raises CapacityError."""
        inputs = [run.blocks() for run in self.inputs]
        end = cut_after(inputs, piece_bytes)
        taken = [Span(0, rows_before(blocks, end)) for blocks in inputs]
        parts = [list(span.of(blocks)) for span, blocks in zip(taken, inputs, strict=True)]
        kept = [[block for block in blocks if block.family in self.catalog.ids] for blocks in parts]
        segment = local.merge(kept, bottom=self.bottom)
        for piece in pieces_of(self.inputs):
            piece.segment.release_pages()
        return Step(self, segment, tuple(span.rows for span in taken), is_last=end == END)


@dataclass(frozen=True)
class Step:
    """A piece that was merged.

    Attributes:
        merge: of which it is one.
        segment: the rows.
        taken: how many rows of each input.
        is_last: whether nothing is left.
    """

    merge: Merge
    segment: Segment
    taken: tuple[int, ...]
    is_last: bool

    def runs_after(self, before: Plan) -> Plan:
        """The merge's runs with this piece in place of its rows in the inputs.

        Args:
            before: the runs as a plan has them, which may have other files than when the merge began. A version whose
                parent had left memory before these were uploaded has others: it keeps them, since what a piece covers
                is counted in rows of files.
        """
        has_output = self.merge.has_output
        inputs = before[has_output:]
        if not all(run.is_durable for run in inputs):
            return before
        pairs = list(zip(inputs, self.taken, strict=True))
        done = before[0].pieces if has_output else ()
        if self.segment.rows:
            files = (ref for run, rows in pairs if (part := run.part(0, rows)) is not None for ref in part.files())
            piece = Piece(self.segment, Span(0, self.segment.rows), tuple(files), self.merge.catalog)
            done = (*done, piece)
        rest = (run.part(rows, run.rows) for run, rows in pairs)
        return (*((Run(done),) if done else ()), *(run for run in rest if run is not None))

    def next(self) -> Merge | None:
        """The merge after this piece; None if it was the last."""
        if self.is_last:
            return None
        has_output = bool(self.segment.rows) or self.merge.has_output
        return Merge(self.runs_after(self.merge.runs), self.merge.bottom, self.merge.catalog, has_output)
