"""The choice of runs to merge."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from keygroups.runs.tiers import MOST_TIERS, SMALL, select_runs

FANOUT: Final = 4
PLENTY: Final = 10**12
"""So many keys that no row counts as obsolete."""


def merged(batches: list[int], *, keys: int = PLENTY, thorough: bool = False) -> tuple[list[int], int]:
    """The runs, newest first, after batches of so many rows, and the rows that merges have written."""
    runs: list[int] = []
    written = 0
    for rows in batches:
        runs.insert(0, rows)
        while (chosen := select_runs(runs, keys, FANOUT, thorough=thorough)) != (0, 0):
            start, stop = chosen
            written += (total := sum(runs[start:stop]))
            runs[start:stop] = [total]
    return runs, written


@pytest.mark.parametrize(("batches", "runs"), [(3, [1] * 3), (4, [4]), (7, [1, 1, 1, 4]), (8, [4, 4]), (16, [16])])
def test_equal_batches_are_merged_by_powers_of_the_fanout(batches: int, runs: list[int]) -> None:
    assert merged([1] * batches)[0] == runs


def test_a_row_is_merged_once_a_power_of_the_fanout() -> None:
    assert merged([1] * 8)[1] == 8
    assert merged([1] * 256)[1] == 4 * 256


@pytest.mark.parametrize("seed", range(5))
def test_runs_stay_few_whatever_the_sizes(seed: int) -> None:
    random = Random(seed)
    runs: list[int] = []
    for _ in range(300):
        runs, _ = merged([*reversed(runs), int(10 ** random.uniform(0, 6))])
        assert len(runs) <= MOST_TIERS * FANOUT


def test_too_many_runs_cost_the_cheapest_merge() -> None:
    runs = [4**n for n in range(MOST_TIERS * FANOUT + 1)]
    assert select_runs(runs[:-1], PLENTY, FANOUT, thorough=False) == (0, 0)
    assert select_runs(runs, PLENTY, FANOUT, thorough=False) == (0, FANOUT)


def test_obsolete_rows_cause_a_merge_of_all_runs() -> None:
    keys = 10 * SMALL
    assert select_runs([keys, keys], keys, FANOUT, thorough=False) == (0, 0)
    assert select_runs([keys, keys + SMALL + 1], keys, FANOUT, thorough=False) == (0, 2)
    assert select_runs([keys // 2, keys], keys, FANOUT, thorough=True) == (0, 2)


def test_one_run_is_never_merged_for_its_obsolete_rows() -> None:
    assert select_runs([100 * SMALL], 1, FANOUT, thorough=True) == (0, 0)
