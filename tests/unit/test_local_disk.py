"""The budget of local disk: what would exceed it is refused with numbers, and leaves nothing behind."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from keygroups.errors import CapacityError
from keygroups.runs.local_disk import LOCAL_DISK
from keygroups.store.version import Version, VersionKey
from support.local_store import LocalStore, rows_of

MESSAGE = r"local disk than they may \(path .*, expected {} bytes at most, found \d+ bytes, and \d+ more\).*diskBudget"
ROWS = 1000


def limited(folder: Path, more: int) -> tuple[LocalStore, int]:
    """A store that may take so many bytes beside what others of this process have, and its budget."""
    gc.collect()  # the stores of earlier tests
    budget = LOCAL_DISK.nbytes + more
    settings = {"diskBudget": f"{budget}b", "blockBytes": "4k", "compactionFanout": "2"}
    return LocalStore(folder, settings), budget


def write(local: LocalStore, parent: Version, start: int) -> Version:
    """Commit new rows, of which there are ``ROWS`` a version."""
    return local.write(parent, {n: n for n in range(start, start + ROWS)}, start + ROWS)


def versions(folder: Path, count: int) -> VersionKey:
    """Write versions; the key of the last. Their segments are gone."""
    local = LocalStore(folder)
    latest = local.first()
    for number in range(count):
        latest = write(local, latest, number * ROWS)
    return latest.key


def loaded(local: LocalStore, key: VersionKey) -> Version:
    """A version."""
    return local.call(lambda downloads: local.store.load(key, downloads))


def test_a_commit_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """The version before stays good."""
    local, budget = limited(tmp_path, 100_000)
    latest = local.first()
    with pytest.raises(CapacityError, match=MESSAGE.format(budget)):  # noqa: PT012 - one of these
        for start in range(0, 20 * ROWS, ROWS):
            latest = write(local, latest, start)
    assert latest.key.version > 1
    assert len(rows_of(local.load(latest))) == latest.key.version * ROWS
    assert len(list(tmp_path.rglob("segments/*"))) == latest.key.version


def test_a_load_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """It fits once another store has freed its files."""
    (tmp_path / "other").mkdir()
    other = LocalStore(tmp_path / "other")
    write(other, write(other, other.first(), 0), ROWS)
    key = versions(tmp_path, 2)
    local, budget = limited(tmp_path, 40_000)
    with pytest.raises(CapacityError, match=MESSAGE.format(budget)):
        loaded(local, key)
    other.store.close()
    gc.collect()
    assert len(rows_of(loaded(local, key))) == 2 * ROWS


def test_a_merge_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    """It is done when there is room."""
    key = versions(tmp_path, 2)
    local, budget = limited(tmp_path, 100_000)
    loaded(local, key)
    with pytest.raises(CapacityError, match=MESSAGE.format(budget)):
        local.compact()
    assert len(rows_of(loaded(local, key))) == 2 * ROWS
    local.store._compaction._runs._disk_budget += 100_000
    local.compact()
    assert len(rows_of(loaded(local, key))) == 2 * ROWS
