"""Merges in pieces, with commits, failed uploads, restarts and retention between the pieces, against a dict."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from keygroups.bridge.messages import version_view
from keygroups.errors import CancelledError
from keygroups.progress import Progress
from keygroups.runs.run import batches_of, pieces_of
from keygroups.segment.block import Block
from keygroups.segment.file import Segment
from keygroups.store.checkpoint_writer import Upload
from keygroups.store.version import Version
from support.everyday import examples
from support.local_store import LocalStore, rows_of

ROWS = st.dictionaries(st.integers(0, 40), st.none() | st.integers(0, 100), min_size=1, max_size=12)


@contextmanager
def during_merge(local: LocalStore, action: Callable[[], object]) -> Iterator[None]:
    """Do something once, while the next piece is merged."""
    compaction = local.store._compaction
    runs = compaction._runs

    def merge(blocks: Sequence[Sequence[Block]], *, bottom: bool) -> Segment:
        compaction._runs = runs
        action()
        return runs.merge(blocks, bottom=bottom)

    compaction._runs = SimpleNamespace(merge=merge)  # type: ignore[assignment]
    try:
        yield
    finally:
        compaction._runs = runs


class Merging(RuleBasedStateMachine):
    """A store under every order of calls that a query, maintenance and restarts can bring."""

    @initialize()
    def open(self) -> None:
        """Begin with an empty store."""
        self.folder = Path(mkdtemp())
        self.local = LocalStore(self.folder, {"compactionFanout": "2"})
        self.version, self.model = self.local.first(), dict[int, int]()
        self.late: list[str] = []
        self.changed = dict[int, int | None]()

    def teardown(self) -> None:
        """Delete all files."""
        shutil.rmtree(self.folder)

    @rule(rows=ROWS)
    def commit(self, rows: dict[int, int | None]) -> None:
        """Write keys, and remove those that exist."""
        kept = self.seen(rows)
        self.version = self.local.write(self.local.store.known(self.version.key), kept, len(self.model))
        self.changed = kept

    @rule(
        parts=st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=8), large=st.sampled_from([0, 700, 2**30])
    )
    def spill(self, parts: list[tuple[dict[int, int | None], bool]], large: int) -> None:
        """Write keys, of which some go to the store before the commit; large parts of these become files."""
        parent = self.local.store.known(self.version.key)
        self.local.keep_segments_of(large)
        spilled: dict[int, int | None] = {}
        for rows, save in parts:
            kept = self.seen(rows)
            self.local.spill(parent, kept, save=save)
            spilled |= kept
        self.commit({1: 1})
        self.changed = spilled | self.changed

    def seen(self, rows: dict[int, int | None]) -> dict[int, int | None]:
        """The model takes rows; returns them without removals of what is not there."""
        kept = {key: value for key, value in rows.items() if value is not None or key in self.model}
        self.model |= {key: value for key, value in kept.items() if value is not None}
        self.model = {key: value for key, value in self.model.items() if kept.get(key, 0) is not None}
        return kept

    @rule(upload=st.sampled_from(["success", "failure", "late"]))
    def merge(self, upload: str) -> None:
        """Do a piece of a merge; its upload may fail, or end later."""
        self.merge_and_then(upload, lambda: None)

    @rule(rows=ROWS, upload=st.sampled_from(["success", "late", "unusable"]))
    def commit_before_a_piece_is_read(self, rows: dict[int, int | None], upload: str) -> None:
        """A batch is committed once a piece is merged, before versions read it; or no version ever does."""
        self.merge_and_then(upload, lambda: self.commit(rows))

    def merge_and_then(self, upload: str, action: Callable[[], None]) -> None:
        """Do a piece of a merge, then something, and then have versions read the piece."""
        self.local.merge_few_rows()
        segment = self.local.store.compact(thorough=True)
        action()
        if segment is None:
            return
        if upload == "unusable":
            self.local.store.abandon(segment.id)
            return
        done = self.local.store.install(segment.id)
        if done is None or done[1] is None:
            return
        if upload == "failure":
            self.local.store.uploaded(done[1].name, success=False)
            return
        self.local.upload(done[1])
        self.late.append(done[1].name)
        if upload == "success":
            self.end_uploads()

    @rule(batches=st.lists(ROWS, min_size=1, max_size=4), upload=st.sampled_from(["success", "failure", "late"]))
    def merge_beside_a_piece(self, batches: list[dict[int, int | None]], upload: str) -> None:
        """While a piece is merged, batches are committed and their runs merged."""

        def commit_and_merge() -> None:
            for rows in batches:
                self.commit(rows)
            done = self.local.merge_piece(newest=True)
            if done is not None and done[1] is not None:
                self.local.upload(done[1])
                self.local.store.uploaded(done[1].name, success=True)

        with during_merge(self.local, commit_and_merge):
            self.merge(upload)

    @rule()
    def end_uploads(self) -> None:
        """Uploads under way end."""
        for name in self.late:
            self.local.store.uploaded(name, success=True)
        self.late = []

    @rule()
    def restart(self) -> None:
        """Load the version from the checkpoint."""
        self.local.reopened()
        self.late = []
        self.version = self.local.load(self.version)

    @rule()
    def read_change(self) -> None:
        """What the version changed is what was written, each key once."""
        if self.version.key.version:
            change = self.local.change(self.version)
            rows = [row for run in change.plan for block in run.blocks() for row in block.key.to_pylist()]
            assert len(rows) == len(set(rows))
            assert rows_of(change) == {key: value for key, value in self.changed.items() if value is not None}

    @rule(retain=st.integers(0, 2))
    def clean_up(self, retain: int) -> None:
        """Delete what retention allows."""
        self.local.clean_up(retain)

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        """Whatever happened, the version has the rows that were written."""
        if hasattr(self, "version"):
            assert rows_of(self.local.store.known(self.version.key)) == self.model


TestMerging = Merging.TestCase
TestMerging.settings = settings(deadline=None, stateful_step_count=40, max_examples=examples(30, 100))


def test_a_merge_in_pieces_goes_on_while_batches_commit(tmp_path: Path) -> None:
    """Each piece is a file of its own; newer runs are merged before the merge of older ones goes on."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    version = local.write(local.first(), {n: n for n in range(100)}, 100)
    version = local.write(version, {n: n for n in range(100, 200)}, 200)
    uploads = []
    local.merge_few_rows()
    for batch in range(3):
        upload = local.compact()
        uploads.append(upload.name)
        local.store.uploaded(upload.name, success=True)
        version = local.write(local.store.known(version.key), {300 + batch: 1}, 201 + batch)
    merging = local.store.known(version.key)
    while (done := local.merge_piece()) is not None:
        assert done[1] is not None
        local.upload(done[1])
        local.store.uploaded(done[1].name, success=True)
    assert len(set(uploads)) == 3
    assert len(merging.plan) > 3
    final = local.store.known(version.key)
    assert len(rows_of(final)) == 203
    assert len(list(pieces_of(final.plan))) > 20
    local.write(final, {400: 1}, 204)
    local.reopened()


def test_the_newest_runs_are_merged_beside_a_piece(tmp_path: Path) -> None:
    """Each merge has runs of its own; the older one goes on with its next piece."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    version = local.write(local.first(), {n: n for n in range(100)}, 100)
    version = local.write(version, {n: n for n in range(100, 200)}, 200)
    compaction = local.store._compaction
    due: list[bool] = []

    def commit_and_merge() -> None:
        latest = local.store.known(version.key)
        for number in range(2):
            due.append(compaction.is_due(latest))
            assert local.merge_piece(newest=True) is None
            latest = local.write(latest, {300 + number: 1}, 201 + number)
        due.append(compaction.is_due(latest))
        compaction._piece_bytes = 0
        assert local.merge_piece(newest=True) is None, "a merge that is not small"
        local.merge_few_rows()
        merged, upload = local.merge_piece(newest=True) or pytest.fail("no merge is due")
        assert [run.rows for run in merged.plan] == [2, 100, 100]
        assert upload is not None
        local.upload(upload)

    local.merge_few_rows()
    with during_merge(local, commit_and_merge):
        after, _ = local.merge_piece() or pytest.fail("no merge is due")
    assert due == [False, False, True]
    assert after.plan[0].rows == 2
    assert sum(run.rows for run in after.plan) == 202
    assert len(after.plan) == 4
    assert len(compaction._merges) == 1
    assert rows_of(after) == {n: n for n in range(200)} | {300: 1, 301: 1}


@pytest.mark.parametrize(("parts", "is_due"), [(5, False), (6, True)])
def test_a_batch_of_many_runs_is_merged(tmp_path: Path, parts: int, is_due: bool) -> None:
    """A lookup asks each run: one batch does not make more of them than a store may have, which are six here."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    local.keep_segments_of(0)
    version = local.write(local.first(), {n: n for n in range(1000)}, 1000)
    for number in range(parts):
        local.spill(version, {2000 + number: 1}, save=True)
    version = local.write(version, {3000: 1}, 1001 + parts)
    assert len(version.plan) == parts + 2
    assert [len(runs) for runs in batches_of(version.plan)] == [parts + 1, 1]
    assert version_view(version).batches == 2
    assert local.store._compaction.is_due(version) is is_due
    if is_due:
        local.store.uploaded(local.compact().name, success=True)
        merged = local.store.known(version.key)
        assert [run.rows for run in merged.plan] == [parts + 1, 1000]
        assert len(batches_of(merged.plan)) == 2
        assert len(rows_of(merged)) == 1001 + parts


def test_the_answer_of_a_piece_has_what_was_merged_during_its_upload(tmp_path: Path) -> None:
    """The JVM takes of two answers the one of the later plan: it has the segments of both merges."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    version = local.write(local.first(), {n: n for n in range(1000)}, 1000)
    version = local.write(version, {n: n for n in range(1000, 2000)}, 2000)
    compaction = local.store._compaction
    checkpoint = compaction._checkpoint
    beside: list[Version] = []

    def commit() -> None:
        latest = version
        for number in range(2):
            latest = local.write(latest, {3000 + number: 1}, 2001 + number)
        compaction._checkpoint = SimpleNamespace(write=write)  # type: ignore[assignment]

    def write(*args: Any) -> Any:  # noqa: ANN401 - what it stands in for takes and returns
        compaction._checkpoint = checkpoint
        merged, upload = local.merge_piece(newest=True) or pytest.fail("no merge is due")
        assert upload is not None
        local.upload(upload)
        local.store.uploaded(upload.name, success=True)
        beside.append(merged)
        return checkpoint.write(*args)

    with during_merge(local, commit):
        merged, upload = local.merge_piece() or pytest.fail("no merge is due")
    assert upload is not None
    assert merged.key == beside[0].key
    assert merged.plan[0].rows == 2
    assert merged.revision > beside[0].revision > version.revision
    assert compaction._writing == []


def test_an_upload_that_took_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another executor may delete the file: the rows are uploaded again, and somebody has to hear of it."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    version = local.write(local.first(), {1: 1}, 1)
    version = local.write(version, {2: 2}, 2)
    upload = local.compact()
    monkeypatch.setattr("keygroups.store.compaction.may_be_listed", lambda _: False)
    assert local.store.uploaded(upload.name, success=True) is False
    monkeypatch.undo()
    assert local.manifest(local.write(local.store.known(version.key), {3: 3}, 3)).segments != ()
    again = local.compact()
    assert again.name != upload.name
    assert local.store.uploaded(again.name, success=True) is True


def test_a_merge_that_does_not_end_is_told(tmp_path: Path) -> None:
    """What a cancelled call whose thread hangs works on can't be merged by another: commits have to hear of it."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    version = local.write(local.first(), {n: n for n in range(10)}, 10)
    local.write(version, {n: n for n in range(10, 20)}, 20)
    stuck = Progress()

    def cancel() -> None:
        assert local.merge_piece() is None
        stuck.cancel(CancelledError("no progress"))
        waiting = Progress()
        waiting.cancel(CancelledError("none while it waits"))
        with waiting.current(), pytest.raises(CancelledError, match="none while it waits"):
            local.merge_piece()
        assert local.merge_piece(newest=True) is None, "the merge beside it may be another one"

    with stuck.current(), during_merge(local, cancel), pytest.raises(CancelledError, match="no progress"):
        local.merge_piece()
    assert local.store._compaction._turns == []
    local.compact()
    after = local.store._versions.latest()
    assert after is not None
    assert len(rows_of(after)) == 20


@pytest.mark.parametrize("remove", [range(1, 100), range(50), range(50, 100)])
def test_a_piece_without_rows_is_no_file(tmp_path: Path, remove: range) -> None:
    """All of its keys were removed."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    version = local.write(local.first(), {n: n for n in range(100)}, 100)
    version = local.write(version, {**dict.fromkeys(remove), 200: 1}, 101 - len(remove))
    local.merge_few_rows()
    while (done := local.merge_piece()) is not None:
        version, upload = done
        if upload is not None:
            local.upload(upload)
            local.store.uploaded(upload.name, success=True)
    assert rows_of(version) == {n: n for n in range(100) if n not in remove} | {200: 1}
    assert all(piece.span.rows for piece in pieces_of(version.plan))


def test_a_version_whose_parent_has_left_memory_keeps_its_runs(tmp_path: Path) -> None:
    """Other attempts at the batch come first, so it does not hear that the rows merged before it were uploaded."""
    local = LocalStore(tmp_path, {"compactionFanout": "2"})
    model: dict[int, int] = {}
    version, uploads = local.first(), []
    for keys in (range(95), range(30), range(200, 220)):
        rows = {key: len(model) + key for key in keys}
        model |= rows
        version = local.write(version, rows, len(model))
    local.store._compaction._piece_bytes = 400
    while (segment := local.store.compact(thorough=False)) is not None:
        version, upload = installed(local, segment)
        uploads.append(upload)
    merged: list[Segment | None] = []

    def come_first() -> None:
        for key in (301, 302):
            local.write(version, {key: 1}, len(model) + 1)
        finish(local, uploads)
        local.store._compaction._piece_bytes = 900
        merged.append(local.store.compact(thorough=True))

    with before_the_end_of_a_commit(local, come_first):
        late, written = local.commit(version, {300: 7}, len(model) + 1)
    local.upload(written[0])
    finish(local, [installed(local, merged[0])[1]])
    last = local.write(local.store.known(late.key), {400: 1}, len(model) + 2)
    local.reopened()
    assert rows_of(local.load(last)) == {**model, 300: 7, 400: 1}


@contextmanager
def before_the_end_of_a_commit(local: LocalStore, action: Callable[[], None]) -> Iterator[None]:
    """Do something once, between the file of a version and the version in memory."""
    writer = local.store._writer

    def write(*given: Any) -> object:  # noqa: ANN401
        local.store._writer = writer
        written = writer.write(*given)
        action()
        return written

    local.store._writer = SimpleNamespace(write=write)  # type: ignore[assignment]
    yield


def installed(local: LocalStore, segment: Segment | None) -> tuple[Version, Upload | None]:
    """The latest version with a merged segment."""
    assert segment is not None
    done = local.store.install(segment.id)
    assert done is not None
    return done


def finish(local: LocalStore, uploads: Sequence[Upload | None]) -> None:
    """Upload merged pieces, those that have a file."""
    for upload in filter(None, uploads):
        local.upload(upload)
        local.store.uploaded(upload.name, success=True)
