"""What the demo prints: batches, sizes, folders, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from keygroups.demo.check import Comparison
from keygroups.demo.progress import Batch, parse, size
from keygroups.demo.queries import QUERIES
from keygroups.demo.report import check
from keygroups.demo.run import Outcome
from keygroups.demo.tree import tree


def test_line_of_a_batch() -> None:
    operator = {"numRowsTotal": 40, "memoryUsedBytes": 1500, "commitTimeMs": 7, "numRowsDroppedByWatermark": 0}
    report = {
        "name": "delays",
        "batchId": 3,
        "numInputRows": 1000,
        "durationMs": {"addBatch": 1, "triggerExecution": 500},
        "stateOperators": [operator, operator],
        "eventTime": {"watermark": "2013-01-14T23:59:00.000Z"},
    }
    batch = parse(report)
    assert batch is not None
    assert " ".join(batch.line().split()) == "delays 3 1,000 2,000 80 3.0 kB 14 ms 2013-01-14 23:59"
    assert parse(report | {"durationMs": {"triggerExecution": 1}}) is None


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2e6, "2.0 MB"), (3e10, "30.0 GB")]
)
def test_size(count: float, text: str) -> None:
    assert size(count) == text


def test_tree_opens_the_first_folder_only(tmp_path: Path) -> None:
    for partition in (0, 1):
        folder = tmp_path / "state" / "0" / str(partition)
        folder.mkdir(parents=True)
        for version in (9, 10):
            (folder / f"{version}.delta").write_bytes(b"1234")
            (folder / f".{version}.delta.crc").write_bytes(b"1")
    lines = [" ".join(line.split()) for line in tree(tmp_path / "state")]
    assert lines == [
        "state/ 4 files, 16 B",
        "0/ 4 files, 16 B",
        "0/ 2 files, 8 B",
        "9.delta",
        "... 10.delta",
        "1/ 2 files, 8 B",
    ]


def outcome(comparison: Comparison, state_rows: int = 1, dropped: int = 0) -> Outcome:
    batch = Batch("delays", 0, 10, 5, state_rows, 100, 1, dropped, "")
    return Outcome(QUERIES[0], [batch], comparison, held_back=1, state=Path("state"), state_rows=1)


def test_right_outcome_has_no_problems() -> None:
    right = outcome(Comparison(2, 2, 0, 0))
    assert right.problems == []
    assert "all equal" in check(right)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (outcome(Comparison(2, 2, 1, 1, ("expected 1 times, found 0 times: carrier=AA",))), "carrier=AA"),
        (outcome(Comparison(2, 2, 0, 0), state_rows=5), "5 rows in the state after the last batch, expected 1"),
        (outcome(Comparison(2, 2, 0, 0), dropped=3), "3 rows dropped"),
    ],
)
def test_wrong_outcome_says_what_is_wrong(wrong: Outcome, problem: str) -> None:
    assert problem in check(wrong)
