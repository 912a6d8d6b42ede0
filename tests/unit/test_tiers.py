"""The choice of runs to merge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log
from random import Random
from typing import Final

import pytest

from keygroups.runs.extent import Size, total
from keygroups.runs.tiers import MOST_TIERS, select_runs, superseded_bytes

FANOUT: Final = 4
KEY, VALUE = 40, 60
ROW: Final = KEY + VALUE


def rows_of(number: int, *, tombstones: int = 0, appended: int = 0, value: int = VALUE) -> Size:
    """So many rows, and as many removals as are wanted besides."""
    rows = number + tombstones
    return Size(rows, tombstones, appended, rows * KEY, number * value)


class Runs:
    """The runs of a family, and the rows that merges have written.

    Args:
        merge: what a merge makes of runs, newest first.
        first: runs to begin with.
    """

    def __init__(self, merge: Callable[[Iterable[Size]], Size] = total, first: Iterable[Size] = ()) -> None:
        self.runs, self.merge = list(first), merge
        self.merged = self.written = 0

    def add(self, size: Size, keys: int) -> None:
        """Commit a batch, and do what is due."""
        self.written += size.nbytes
        self.runs.insert(0, size)
        while (chosen := select_runs(self.runs, keys, FANOUT)) != (0, 0):
            start, stop = chosen
            self.runs[start:stop] = [one := self.merge(self.runs[start:stop])]
            self.merged += one.nbytes

    @property
    def sizes(self) -> list[int]:
        """Rows of each run."""
        return [size.rows for size in self.runs]


def after(batches: Iterable[int]) -> Runs:
    """Runs after batches of so many new rows each."""
    runs, keys = Runs(), 0
    for rows in batches:
        runs.add(rows_of(rows), keys := keys + rows)
    return runs


@pytest.mark.parametrize(("batches", "runs"), [(3, [1] * 3), (4, [4]), (7, [1, 1, 1, 4]), (8, [4, 4]), (16, [16])])
def test_equal_batches_are_merged_by_powers_of_the_fanout(batches: int, runs: list[int]) -> None:
    assert after([1] * batches).sizes == runs


def test_a_row_is_merged_once_a_power_of_the_fanout() -> None:
    assert after([1] * 8).merged == 8 * ROW
    assert after([1] * 256).merged == 4 * 256 * ROW


@pytest.mark.parametrize("seed", range(5))
def test_runs_stay_few_whatever_the_sizes(seed: int) -> None:
    random = Random(seed)
    runs, keys = Runs(), 0
    for _ in range(300):
        rows = int(10 ** random.uniform(0, 6))
        runs.add(rows_of(rows), keys := keys + rows)
        assert len(runs.runs) <= MOST_TIERS * FANOUT


def test_too_many_runs_cost_the_cheapest_merge() -> None:
    sizes = [rows_of(4**n) for n in range(MOST_TIERS * FANOUT + 1)]
    keys = 10**12
    assert select_runs(sizes[:-1], keys, FANOUT) == (0, 0)
    assert select_runs(sizes, keys, FANOUT) == (0, FANOUT)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("batches", [200, 3000])
def test_updates_of_random_rows_cost_no_more_than_the_goal(share: float, batches: int) -> None:
    """Whatever the share of the rows that a batch updates: one, and once for each power of four of the batch."""
    keys = 100_000

    def merge(runs: Iterable[Size]) -> Size:
        missing = 1.0
        for size in runs:
            missing *= 1 - size.rows / keys
        return rows_of(round(keys * (1 - missing)))

    runs, most = Runs(merge, [rows_of(keys)]), 0
    batch = rows_of(round(share * keys))
    for _ in range(batches):
        runs.add(batch, keys)
        most = max(most, total(runs.runs).nbytes)
    assert runs.merged / runs.written <= 1 + log(1 / share, 4)
    assert most <= 2 * keys * ROW + 4 * batch.nbytes


def test_superseded_rows_have_the_size_of_those_that_came_later() -> None:
    """Small values that are written again and again beside large ones do not justify to merge these."""
    large, small = rows_of(1000, value=10_000), rows_of(1000, value=10)
    assert superseded_bytes([rows_of(1000, value=10), total([large, small])], 2000) == 1000 * (KEY + 10)
    assert superseded_bytes([rows_of(0, tombstones=1000), rows_of(1000)], 0) == 1000 * (KEY + ROW)
    assert superseded_bytes([rows_of(1000, appended=1000), rows_of(1000)], 1000) == 0


def test_one_run_is_never_merged_for_its_superseded_rows() -> None:
    assert select_runs([rows_of(100)], 1, FANOUT) == (0, 0)
