"""A load restores the files that have arrived while others are on their way."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from pathlib import Path

import pytest

from keygroups.checkpoint.catalog import Catalog
from keygroups.checkpoint.manifest import FileRef
from keygroups.errors import CheckpointError
from keygroups.runs.local import LocalRuns
from keygroups.segment.file import Segment
from keygroups.store.downloads import Downloads, Wanted
from keygroups.store.restored import RestoredFiles
from keygroups.store.version import Version, VersionKey
from support.local_store import LocalStore, rows_of

BATCHES = 5
ALL = {n: n for n in range(10 * BATCHES)}


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    """A store that merges nothing, so that every version file is needed."""
    return LocalStore(tmp_path, {"compactionFanout": "16"})


@pytest.fixture
def latest(local: LocalStore) -> Version:
    """A version of one file for each batch, which no process has loaded yet."""
    version = local.first()
    for keys in range(10, 10 * BATCHES + 1, 10):
        version = local.write(version, {n: n for n in range(keys - 10, keys)}, keys)
    local.reopened()
    return version


def damage(path: Path) -> None:
    """Change one bit of a file's last block."""
    content = bytearray(path.read_bytes())
    content[-60] ^= 1
    path.write_bytes(content)


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was restored."""
    counts: Counter[str] = Counter()
    restore = LocalRuns.restore

    def counted(runs: LocalRuns, source: Path, ref: FileRef, catalog: Catalog, max_parallelism: int) -> Segment:
        counts[ref.path] += 1
        return restore(runs, source, ref, catalog, max_parallelism)

    monkeypatch.setattr(LocalRuns, "restore", counted)
    return counts


def test_a_file_is_restored_once_however_late_the_others_are(
    local: LocalStore, latest: Version, restored: Counter[str]
) -> None:
    """They arrive one at a time, and the JVM calls again after each."""
    assert rows_of(local.load(latest)) == ALL
    assert len(restored) == BATCHES
    assert set(restored.values()) == {1}


def test_what_arrives_during_a_call_is_restored_by_it(
    local: LocalStore, latest: Version, restored: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first file is restored, all others arrive: no further call is needed."""
    calls: list[int] = []
    load, restore = local.store.load, LocalRuns.restore

    def called(key: VersionKey, downloads: Downloads) -> Version:
        calls.append(len(restored))
        return load(key, downloads)

    def restored_slowly(runs: LocalRuns, source: Path, ref: FileRef, catalog: Catalog, max_parallelism: int) -> Segment:
        for file in local.checkpoint.iterdir():
            (source.parent / f"0~{file.name}").write_bytes(file.read_bytes())
        return restore(runs, source, ref, catalog, max_parallelism)

    monkeypatch.setattr(LocalRuns, "restore", restored_slowly)
    monkeypatch.setattr(local.store, "load", called)
    assert rows_of(local.load(latest)) == ALL
    assert len(restored) == BATCHES
    assert calls == [0, 0]


def test_an_operation_that_the_jvm_gave_up_leaves_no_local_file(local: LocalStore, latest: Version) -> None:
    """As when a later download has failed: the next operation, whatever it is, frees what that one had restored."""

    def give_up(downloads: Downloads) -> Version:
        if len(list(segments.iterdir())) == BATCHES - 1:
            raise InterruptedError
        return local.store.load(latest.key, downloads)

    (segments,) = Path(local.store._folder).glob("segments")
    with pytest.raises(InterruptedError):
        local.call(give_up)
    version = local.load(latest)
    gc.collect()
    assert rows_of(version) == ALL
    assert len(list(segments.iterdir())) == BATCHES


def test_a_load_that_fails_holds_nothing(local: LocalStore, latest: Version, caplog: pytest.LogCaptureFixture) -> None:
    """What it has restored goes at once, not when Python next collects garbage."""
    oldest, *_ = sorted(local.checkpoint.iterdir())
    damage(oldest)
    gc.disable()
    try:
        with contextlib.suppress(CheckpointError), caplog.at_level("ERROR"):  # pytest keeps what is logged
            local.load(latest)
        assert not list(Path(local.store._folder).glob("segments/*"))
    finally:
        gc.enable()


def test_a_change_that_cannot_be_read_holds_nothing(
    local: LocalStore, latest: Version, caplog: pytest.LogCaptureFixture
) -> None:
    """As a load; the first of its files to be restored is whole."""
    parent = local.load(latest)
    local.keep_segments_of(1)
    for start in (100, 200):
        local.spill(parent, {n: n for n in range(start, start + 50)}, save=True)
    changed = local.write(parent, {n: n for n in range(300, 350)}, 10 * BATCHES + 150)
    _, second, *_ = local.manifest(changed).segments
    assert second.name.kind == "segment"
    damage(local.checkpoint / str(second.name))
    local.reopened()
    gc.disable()
    try:
        with contextlib.suppress(CheckpointError), caplog.at_level("ERROR"):
            local.change(changed)
        assert not list(Path(local.store._folder).glob("segments/*"))
    finally:
        gc.enable()


def test_attempts_share_no_restored_file(local: LocalStore, latest: Version) -> None:
    """Rows are checked against a catalog: those that have passed that of one attempt need not pass that of another."""
    piece = local.load(latest).plan[0].pieces[0]
    segment, file = piece.segment, piece.files[0]
    files = RestoredFiles()
    files.of("operation", "0/v1")[file] = segment
    assert files.of("operation", "0/v2") == {}
    assert files.of("operation", "0/v1") == {file: segment}
    assert files.of("another", "0/v1") == {}


def test_a_damaged_attempt_has_no_file_restored_again(
    local: LocalStore, latest: Version, restored: Counter[str]
) -> None:
    """Each call meets it anew, and goes on with what the other attempt has so far."""
    parent = local.load(latest)
    attempts = [local.write(parent, {n: n for n in range(50, 60)}, 60) for _ in range(2)]
    local.reopened()
    restored.clear()
    (newest,) = local.checkpoint.glob(f"v*_{attempts[1].key.checkpoint_id}.*")
    newest.write_bytes(newest.read_bytes()[:-40])
    version = local.call(lambda downloads: local.store.load(VersionKey(BATCHES + 1), downloads))
    assert rows_of(version) == {n: n for n in range(60)}
    assert version.key == attempts[0].key
    assert [restored[f"0/{path.name}"] for path in sorted(local.checkpoint.iterdir())[:BATCHES]] == [1] * BATCHES


def test_the_files_of_two_operations_are_apart(local: LocalStore, latest: Version, restored: Counter[str]) -> None:
    """A task that Spark has given up may still load the version that the next attempt loads: both end."""
    other: list[Version] = []

    def interleaved(downloads: Downloads) -> Version:
        try:
            return local.store.load(latest.key, downloads)
        except Wanted:
            if restored and not other:
                other.append(local.load(latest))
            raise

    assert rows_of(local.call(interleaved)) == ALL
    assert rows_of(other[0]) == ALL
    assert max(restored.values()) == 2
