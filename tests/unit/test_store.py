"""A store under overlapping calls: commits, compactions, uploads, retention and loads."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.file_writer import write_file
from keygroups.checkpoint.manifest import FileRef
from keygroups.checkpoint.names import new_name
from keygroups.errors import CheckpointError, RetryError
from keygroups.runs.local import LocalRuns
from keygroups.runs.run import durable_files
from keygroups.segment.file import Segment, write_segment
from keygroups.store.downloads import Downloads
from keygroups.store.version import Version, VersionKey
from support.local_store import HEAD_BYTES, LocalStore, rows_of

FANOUT = {"compactionFanout": "2"}


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    """A store that merges two runs of similar size."""
    return LocalStore(tmp_path, FANOUT)


@contextmanager
def during_write(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> Iterator[None]:
    """Run ``action`` once, just after the next file of the checkpoint is written."""
    actions = [action]

    def interrupted(*arguments: object, **more: object) -> None:
        write_file(*arguments, **more)  # type: ignore[arg-type]
        if actions:
            actions.pop()()

    with monkeypatch.context() as patch:
        patch.setattr("keygroups.store.checkpoint_writer.write_file", interrupted)
        yield
    assert not actions


def two_versions(local: LocalStore) -> Version:
    """Version 2 of two runs, of which a merge is due."""
    first = local.write(local.first(), {n: n for n in range(10)}, 10)
    return local.write(first, {n: n for n in range(10, 20)}, 20)


def test_retention_keeps_what_a_manifest_lists_when_an_upload_ends_during_the_commit(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest lists the files that were merged; from the same moment later manifests list the merged segment."""
    parent = two_versions(local)
    upload = local.compact()
    parent = local.store.known(parent.key)
    with during_write(monkeypatch, lambda: local.store.uploaded(upload.name, success=True)):
        version = local.write(parent, {30: 3}, 21)
    listed = {str(ref.name) for ref in local.manifest(version).segments}
    assert upload.name not in listed
    assert listed <= local.clean_up(retain=0)
    local.reopened()
    assert len(rows_of(local.load(version))) == 21


def test_retention_during_a_commit_keeps_what_its_manifest_lists(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its version file is in no listing yet, and the files that it lists have been replaced in memory meanwhile."""
    parent = two_versions(local)
    first_merge = local.compact()
    parent = local.write(local.store.known(parent.key), dict.fromkeys(range(20, 60), 1), 60)
    parent = local.write(parent, {100: 1}, 61)
    local.store.uploaded(first_merge.name, success=True)
    parent = local.store.known(parent.key)

    def merge_and_clean_up() -> None:
        upload = local.compact()
        local.store.uploaded(upload.name, success=True)
        local.clean_up(0)

    with during_write(monkeypatch, merge_and_clean_up):
        version = local.write(parent, {101: 1}, 62)
    listed = {str(ref.name) for ref in local.manifest(version).segments}
    assert first_merge.name in listed
    assert listed <= {path.name for path in local.checkpoint.iterdir()}


def test_a_commit_takes_over_a_merge_that_ends_meanwhile(local: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new version is built on the parent's present runs, not on those that it had when the commit began."""
    parent = two_versions(local)
    with during_write(monkeypatch, local.compact):
        version = local.write(parent, {30: 3}, 21)
    assert len(version.plan) == 2
    assert version.plan[1].shape == local.store.known(parent.key).plan[0].shape
    assert len(rows_of(version)) == 21


def test_an_upload_that_ends_during_the_next_merge_is_not_undone(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maintenance and a commit each merge a piece; retention runs between them."""
    parent = two_versions(local)
    local.merge_few_rows()
    first_piece = local.compact()
    later: list[Version] = []

    def end_the_upload() -> None:
        local.store.uploaded(first_piece.name, success=True)
        later.append(local.write(local.store.known(parent.key), {100: 1}, 21))
        local.clean_up(0)

    with during_write(monkeypatch, end_the_upload):
        local.compact()
    version = local.write(local.store.known(later[0].key), {101: 1}, 22)
    listed = {str(ref.name) for ref in local.manifest(version).segments}
    assert first_piece.name in listed
    assert listed <= {path.name for path in local.checkpoint.iterdir()}
    local.reopened()
    assert len(rows_of(local.load(version))) == 22


def test_another_executor_does_not_delete_a_segment_that_is_about_to_be_listed(
    local: LocalStore, tmp_path: Path
) -> None:
    """Its upload took many batches. A task of the next batch has run elsewhere, and runs again here."""
    parent = two_versions(local)
    upload = local.compact()
    for number in range(20, 24):
        parent = local.write(local.store.known(parent.key), {number: number}, number + 1)
    elsewhere = LocalStore(tmp_path, FANOUT)
    elsewhere.write(elsewhere.load(parent), {24: 24}, 25)
    assert upload.name in elsewhere.clean_up(retain=2)
    local.store.uploaded(upload.name, success=True)
    version = local.write(local.store.known(parent.key), {24: 25}, 25)
    assert upload.name in {str(ref.name) for ref in local.manifest(version).segments}
    local.reopened()
    assert len(rows_of(local.load(version))) == 25


def test_what_was_listed_goes_with_the_versions_that_list_it(local: LocalStore) -> None:
    """It does not wait as a segment does that nobody has listed yet."""
    parent = two_versions(local)
    upload = local.compact()
    local.store.uploaded(upload.name, success=True)
    for number in range(1, 12):
        rows = {20 * number + n: n for n in range(20)}
        parent = local.write(local.store.known(parent.key), rows, 20 * number + 20)
        if (merged := local.merge_piece()) is not None and merged[1] is not None:
            local.upload(merged[1])
            local.store.uploaded(merged[1].name, success=True)
    assert upload.name not in local.clean_up(retain=2)


def test_what_was_merged_again_before_a_version_listed_it_goes(local: LocalStore) -> None:
    """This process has written it, so it knows that nobody is about to list it."""
    parent = two_versions(local)
    upload = local.compact()
    for number in range(1, 4):
        rows = {20 * number + n: n for n in range(20)}
        parent = local.write(local.store.known(parent.key), rows, 20 * number + 20)
    local.store.uploaded(upload.name, success=True)
    again = local.compact()
    local.store.uploaded(again.name, success=True)
    for number in range(4, 8):
        parent = local.write(local.store.known(parent.key), {20 * number: 1}, 80 + number - 3)
    listed = {str(ref.name) for ref in local.manifest(parent).segments}
    assert again.name in listed
    assert upload.name not in listed
    assert upload.name not in local.clean_up(retain=1)


def test_an_upload_that_took_too_long_is_made_again(local: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """By now another executor may delete its file."""
    parent = two_versions(local)
    upload = local.compact()
    later = time.time_ns() + 31 * 60 * 10**9
    monkeypatch.setattr("keygroups.checkpoint.retention.time", SimpleNamespace(time_ns=lambda: later))
    local.store.uploaded(upload.name, success=True)
    version = local.write(local.store.known(parent.key), {20: 20}, 21)
    assert upload.name not in {str(ref.name) for ref in local.manifest(version).segments}
    monkeypatch.undo()
    again = local.compact()
    local.store.uploaded(again.name, success=True)
    version = local.write(local.store.known(version.key), {21: 21}, 22)
    assert again.name in {str(ref.name) for ref in local.manifest(version).segments}


def test_a_version_file_that_goes_while_retention_reads_ends_that_round(local: LocalStore) -> None:
    """Another executor's cleanup, or an upload that failed late, has deleted it since it was listed."""
    parent = two_versions(local)
    local.store.uploaded(local.compact().name, success=True)
    for number in range(20, 24):
        parent = local.write(local.store.known(parent.key), {number: number}, number + 1)
    local.reopened()
    local.load(parent)
    assert parent.file is not None
    rival = str(new_name("version", parent.key.version))
    shutil.copy(local.checkpoint / str(parent.file.name), local.checkpoint / rival)
    before = {path.name for path in local.checkpoint.iterdir()} - {rival}

    def deletable(downloads: Downloads) -> list[str]:
        if downloads.listings:  # and before it is read
            (local.checkpoint / rival).unlink(missing_ok=True)
        return local.store.files_to_delete(1, downloads)

    assert local.call(deletable) == []
    assert local.clean_up(retain=1) < before


def test_versions_that_are_written_during_a_cleanup_keep_their_files(local: LocalStore) -> None:
    """One by another executor, unknown here: what it needs is in no manifest that the cleanup has seen."""
    parent = two_versions(local)
    needing: list[Version] = []

    def deletable(downloads: Downloads) -> list[str]:
        if downloads.listings and not needing:
            needing.append(local.write(local.store.known(parent.key), {20: 20}, 21))
            file = needing[0].file
            assert file is not None
            del local.store._references._listed[f"0/{file.name}"]
            local.store.uploaded(local.compact().name, success=True)
            local.write(local.store.known(needing[0].key), {21: 21}, 22)
        return local.store.files_to_delete(1, downloads)

    assert local.call(deletable) == []
    assert needing


def test_a_segment_that_cannot_be_mapped_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has no file handle left."""

    def no_handle(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("keygroups.segment.file.mmap.mmap", no_handle)
    with pytest.raises(OSError, match="Too many open files"):
        write_segment(tmp_path, [])
    assert not list(tmp_path.iterdir())


def test_what_is_not_uploaded_is_not_merged_again(local: LocalStore) -> None:
    """Its rows are in several files, of which a merge in pieces would have to list parts."""
    parent = two_versions(local)
    upload = local.compact()
    version = local.write(local.store.known(parent.key), dict.fromkeys(range(20, 60), 1), 60)
    assert local.merge_piece() is None
    local.store.uploaded(upload.name, success=True)
    local.compact()
    assert len(local.store.known(version.key).plan) == 1


def test_writes_that_another_process_sorted_are_not_left_out(local: LocalStore) -> None:
    """A session whose first chunk was sorted by a process that has died must not commit the rest of its rows alone."""
    with pytest.raises(RetryError, match="sorted writes of a session"):
        local.store.take("session", ["a segment of another process"], [])


def test_a_batch_can_run_again_on_the_version_before(local: LocalStore) -> None:
    """The latest version may not be the one of a batch that Spark has in its commit log."""
    first = local.write(local.first(), {n: n for n in range(10)}, 10)
    local.write(first, {n: n + 1 for n in range(10)}, 10)
    local.clean_up(retain=1)
    local.reopened()
    assert len(rows_of(local.load(first))) == 10


def test_a_merge_is_not_taken_over_by_a_version_with_other_families(local: LocalStore) -> None:
    """The parent has family 1, the new version has not: the merge may not drop rows that the parent still needs."""
    first = local.write(local.first(), {1: 1}, 1, families=2)
    second = local.write(first, {2: 2}, 2, families=2)
    third = local.write(second, {3: 3}, 3)
    local.compact()
    assert len(local.store.known(third.key).plan) == 1
    assert len(local.store.known(second.key).plan) == 2


def test_an_upload_that_failed_is_made_again(local: LocalStore) -> None:
    """Until it succeeds, manifests list the files that were merged."""
    two_versions(local)
    upload = local.compact()
    local.store.uploaded(upload.name, success=False)
    again = local.compact()
    assert again.name != upload.name
    latest = local.merge_piece()
    assert latest is None  # it is being uploaded
    local.store.uploaded(again.name, success=True)
    version = local.write(two_versions_of(local), {5: 5}, 20)
    assert [str(ref.name) for ref in local.manifest(version).segments] == [again.name]


def test_an_upload_that_failed_is_made_again_after_a_family_was_removed(local: LocalStore) -> None:
    """The merged rows have those of the family."""
    version = local.first()
    for number in range(2):
        local.spill(version, {number: number}, save=False, family=1)
        version = local.write(version, {number: number}, 2 * number + 2, families=2)
    upload = local.compact()
    local.store.uploaded(upload.name, success=False)
    version = local.write(version, {2: 2}, 3)
    again = local.compact()
    assert again.name != upload.name
    local.store.uploaded(again.name, success=True)
    version = local.write(local.store.known(version.key), {3: 3}, 4)
    assert [str(ref.name) for ref in local.manifest(version).segments][-1] == again.name
    local.reopened()
    assert rows_of(local.load(version), family=0) == {number: number for number in range(4)}


def test_rows_of_a_family_that_was_removed_replace_none(local: LocalStore) -> None:
    """There are as many of them as keys, and they are in a file of their own: nothing else changed."""
    first = local.write(local.first(), {number: number for number in range(40)}, 40)
    local.keep_segments_of(0)
    local.spill(first, {number: number for number in range(100, 140)}, save=True, family=1)
    second = local.write(first, {}, 40)
    assert len(rows_of(second, family=0)) == 40
    local.reopened()
    assert len(rows_of(local.load(second), family=0)) == 40


def two_versions_of(local: LocalStore) -> Version:
    """The latest version of a store."""
    latest = local.store._versions.latest()
    assert latest is not None
    return latest


def test_a_run_is_never_changed_in_place(local: LocalStore) -> None:
    """Plans that were handed out stay as they are."""
    parent = two_versions(local)
    before = durable_files(parent.plan)
    upload = local.compact()
    local.store.uploaded(upload.name, success=True)
    assert durable_files(parent.plan) == before
    assert [str(ref.name) for ref in durable_files(local.store.known(parent.key).plan)] == [upload.name]
    with pytest.raises(AttributeError):
        parent.plan[0].pieces = ()  # type: ignore[misc]


def test_loads_at_the_same_time_do_not_share_downloads(local: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that Spark has given up on, and its retry: the first to end does not take the other's files away."""
    version = two_versions(local)
    store = local.reopened()
    restore, others = LocalRuns.restore, [lambda: local.load(version)]

    def interrupted(self: LocalRuns, source: Path, ref: FileRef, catalog: Catalog, max_parallelism: int) -> Segment:
        if others:
            others.pop()()
        return restore(self, source, ref, catalog, max_parallelism)

    monkeypatch.setattr(LocalRuns, "restore", interrupted)
    loaded = local.call(lambda downloads: store._loader.load(version.key, downloads))
    assert len(rows_of(loaded)) == 20
    assert not others


def test_a_damaged_download_is_not_used_again(local: LocalStore) -> None:
    """After the file in the checkpoint is restored, the same process loads it."""
    version = two_versions(local)
    assert version.file is not None
    path = local.checkpoint / str(version.file.name)
    whole = path.read_bytes()
    local.reopened()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError):
        local.load(version)
    path.write_bytes(whole)
    assert len(rows_of(local.load(version))) == 20


@pytest.mark.parametrize("checkpoint_id", ["../" * 8 + "etc/passwd", "0" * 31, "0" * 31 + "/", "", "g" * 32])
def test_a_checkpoint_id_of_another_form_is_never_part_of_a_path(local: LocalStore, checkpoint_id: str) -> None:
    """It comes from Spark's commit log. Nothing is downloaded."""
    with pytest.raises(CheckpointError, match="version 1 of the state does not exist"):
        local.store.load(VersionKey(1, checkpoint_id), Downloads("/nowhere", {"0": []}))


def test_retention_reads_a_manifest_that_is_longer_than_the_head(local: LocalStore) -> None:
    """The whole file is downloaded then."""
    latest, keys = local.first(), 0
    for _ in range(4):
        keys += 10
        latest = local.write(latest, {n: n for n in range(keys - 10, keys)}, keys, families=3000)
    assert len(msgspec.json.encode(local.manifest(latest))) > HEAD_BYTES
    local.reopened()
    local.load(latest)
    local.store.uploaded(local.compact().name, success=True)
    assert latest.file is not None
    listed = {str(ref.name) for ref in [latest.file, *local.manifest(latest).segments]}
    assert local.clean_up(0) >= listed


def test_a_version_whose_upload_has_not_ended_is_no_base_of_another(local: LocalStore) -> None:
    """A task that has lost may still write its version here, and fail; Spark then asks for the number alone."""
    first = local.write(local.first(), {1: 1}, 1)
    zombie, _ = local.commit(first, {2: 2}, 2)
    here = local.store
    local.reopened()  # another executor, whose attempt wins
    winner = local.write(local.load(first), {2: 2}, 2)
    local.store = here
    base = local.call(lambda downloads: here.load(VersionKey(2), downloads))
    assert base.key == winner.key
    third = local.write(base, {3: 3}, 3)
    here.forget(zombie.key)
    local.reopened()
    assert rows_of(local.load(third)) == {1: 1, 2: 2, 3: 3}


def test_a_version_that_a_session_was_built_on_is_loaded_from_memory(local: LocalStore) -> None:
    """A batch that runs again asks for it by its number."""
    first = local.write(local.first(), {1: 1}, 1)
    local.write(first, {2: 2}, 2)
    for path in local.checkpoint.iterdir():
        path.unlink()
    assert local.store.load(VersionKey(1), Downloads("/nowhere")).key == first.key


def test_a_commit_that_failed_says_that_its_base_is_uploaded(local: LocalStore) -> None:
    """The task that runs again loads it from memory, with all that was merged since."""
    first = local.write(local.first(), {1: 1}, 1)
    base = local.store.known(first.key)
    with pytest.raises(RetryError):
        local.store.take("session", ["a segment of another process"], [])
    for path in local.checkpoint.iterdir():
        path.unlink()
    assert local.store.load(VersionKey(1), Downloads("/nowhere")) is base
