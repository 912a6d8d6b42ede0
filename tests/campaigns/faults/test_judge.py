"""The judge says no to each thing that a store could do wrong, however small."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from campaigns.faults.attempts import Shown, keep_attempt, keep_state, read
from campaigns.faults.judge import verdict

BATCHES = 3
ROWS = [("a", 1), ("b", 2), ("b", 2), ("c", None)]
STORE, TIMERS = "state of 0 dedupe/default", "timers of 0"
Harm = Callable[[Path], object]


def show(folder: Path, attempts: int) -> Path:
    """What a query shows that had so many attempts at its second batch."""
    folder.mkdir()
    for batch in (0, *[1] * attempts, 2):
        keep_attempt(folder, batch, [*ROWS, ("d", batch)])
    keep_state(folder, {STORE: list(ROWS), TIMERS: []})
    return folder


def change(name: str, edit: Callable[[list[str]], object]) -> Harm:
    """Edit the rows of a file."""

    def harm(folder: Path) -> None:
        path = folder / name
        rows = json.loads(path.read_text())
        edit(rows[STORE] if isinstance(rows, dict) else rows)
        path.write_text(json.dumps(rows))

    return harm


def lose(*names: str) -> Harm:
    """Delete files."""

    def harm(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return harm


def grow(folder: Path) -> None:
    """One batch too many."""
    keep_attempt(folder, BATCHES, ROWS)


def replaced(rows: list[str]) -> None:
    """Another value in a row."""
    rows[0] = rows[0].replace("1", "7")


FIRST, RETRIED = "batch-0-attempt-1.json", "batch-1-attempt-1.json"
HARMS: dict[str, tuple[Harm, str]] = {
    "a row is missing": (change(FIRST, list.pop), "batch 0, attempt 1"),
    "a row comes twice": (change(FIRST, lambda rows: rows.append(rows[0])), "batch 0, attempt 1"),
    "one of two equal rows is missing": (change(FIRST, lambda rows: rows.pop(1)), "batch 0, attempt 1"),
    "another value": (change(FIRST, replaced), "batch 0, attempt 1"),
    "the attempt before the last is wrong": (change(RETRIED, replaced), "batch 1, attempt 1"),
    "the last attempt is wrong": (change("batch-1-attempt-2.json", replaced), "batch 1, attempt 2"),
    "a batch is missing": (lose(RETRIED, "batch-1-attempt-2.json"), "batch 1, attempt 1: missing in the disturbed run"),
    "a batch too many": (grow, "batch 3, attempt 1: missing in the undisturbed run"),
    "a row of the state is missing": (change("state.json", list.pop), STORE),
    "a row of the state comes twice": (change("state.json", lambda rows: rows.append(rows[0])), STORE),
    "another value in the state": (change("state.json", replaced), STORE),
    "no state": (lose("state.json"), f"{STORE}: missing in the disturbed run"),
}


@pytest.fixture
def expected(tmp_path: Path) -> Shown:
    return read(show(tmp_path / "expected", attempts=1))


def test_an_attempt_more_is_no_difference(expected: Shown, tmp_path: Path) -> None:
    assert not verdict(read(show(tmp_path / "found", attempts=2)), expected)


def test_an_attempt_that_was_cut_does_not_count(expected: Shown, tmp_path: Path) -> None:
    folder = show(tmp_path / "found", attempts=1)
    (folder / "batch-1-attempt-2.part").write_text("[")
    assert not verdict(read(folder), expected)


@pytest.mark.parametrize("harm", HARMS)
def test_says_what_is_wrong(harm: str, expected: Shown, tmp_path: Path) -> None:
    folder = show(tmp_path / "found", attempts=2)
    do, words = HARMS[harm]
    do(folder)
    assert words in verdict(read(folder), expected)
