"""Queries that are started for one batch and end: what is due is done with their commits."""

from __future__ import annotations

from functools import partial
from math import log
from pathlib import Path
from typing import Final

import pytest

from keygroups.store.store import VERSIONS_PER_LISTING
from keygroups.store.version import VersionKey
from support.everyday import seldom
from support.workloads import Measured, new_keys, updates
from unit.test_merged_bytes import WORKLOADS

RUNS: Final = 110
RETAINED: Final = 3
MOST_FILES: Final = 20
EVERYDAY: Final = ("timers beside large values", "updates of 1%")
SMALL_PIECES: Final = {"blockBytes": "4k"}
"""Of 64 KB, five times what a commit of 30 rows merges."""


@pytest.mark.parametrize("name", [name if name in EVERYDAY else seldom(name) for name in WORKLOADS])
def test_files_stay_few(tmp_path: Path, name: str) -> None:
    """Merges go with the commits, which delete what they supersede, without listings but for that of a cleanup."""
    measured = Measured(tmp_path, WORKLOADS[name]())
    measured.run_once(RETAINED)
    measured.written.clear()
    listed = len(measured.local.listed)
    files = [measured.run_once(RETAINED) for _ in range(RUNS)]
    assert max(files[5:]) <= MOST_FILES
    assert len(measured.local.listed) - listed <= RUNS // VERSIONS_PER_LISTING
    assert_goal(measured)


@pytest.mark.parametrize("workload", ["updates", "new keys"])
def test_a_merge_goes_on_where_the_run_before_has_left_it(
    tmp_path: Path, workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit merges a few times its batch, or a piece now and then: a merge of the whole state takes several runs."""
    monkeypatch.setattr("keygroups.store.at_once.LEAST_BYTES", 0)
    measured = Measured(tmp_path, updates(3000, 0.01) if workload == "updates" else new_keys(30), SMALL_PIECES)
    measured.run_once(RETAINED)
    measured.written.clear()
    contents, begun, files = dict[VersionKey, dict[int, int]](), 0, list[int]()
    for _ in range(RUNS):
        files.append(measured.run_once(RETAINED))
        begun += any(len(run.pieces) > 1 for run in measured.version.plan)
        contents[measured.version.key] = dict(measured.live[0])
    assert begun > RUNS // 10
    assert max(files) <= MOST_FILES
    assert_goal(measured)
    measured.local.reopened()
    for key, live in list(contents.items())[-1 - RETAINED :]:
        loaded = measured.local.call(partial(measured.local.store.load, key))
        assert measured.values(loaded, 0) == live


def assert_goal(measured: Measured) -> None:
    """Merges cost no more than in a query that goes on."""
    for family, written in measured.written.items():
        size = measured.live_bytes(family) / (written / RUNS)
        assert measured.merged[family] / written <= 1 + log(max(size, 1), 4)
    assert measured.merged.keys() <= measured.written.keys(), "a family that did not change"
