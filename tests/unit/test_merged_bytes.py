"""What merges write, for each byte that commits write, in each column family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log
from pathlib import Path
from typing import Final

import pytest

from keygroups.runs.tiers import MOST_TIERS
from support.workloads import Batch, Measured, appends, large_beside_counters, new_keys, timers_beside_large, updates

BATCHES: Final = 200
WORKLOADS: Final[dict[str, Callable[[], Iterator[Batch]]]] = {
    "half of the counters beside large values": lambda: large_beside_counters(500, 0.5),
    "all counters beside large values": lambda: large_beside_counters(500, 1),
    "list appends": lambda: appends(4000, 0.1),
    "timers beside large values": lambda: timers_beside_large(200, 5),
    "updates of 0.1%": lambda: updates(50_000, 0.001),
    "updates of 1%": lambda: updates(20_000, 0.01),
    "updates of 10%": lambda: updates(5_000, 0.1),
    "equal new batches": lambda: new_keys(200),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_merges_write_no_more_than_the_goal(tmp_path: Path, name: str) -> None:
    """For each family: one byte for each, and one for each power of four that it is larger than a batch."""
    measured = Measured(tmp_path, WORKLOADS[name]())
    measured.run(1)
    measured.written.clear()  # what a query begins with is no batch of its workload
    measured.run(BATCHES)
    for family, written in measured.written.items():
        size = measured.live_bytes(family) / (written / BATCHES)
        amplification = measured.merged[family] / written
        assert amplification <= 1 + log(max(size, 1), 4)
    assert measured.merged.keys() <= measured.written.keys(), "a family that did not change"
    assert measured.depth <= MOST_TIERS * 4
    assert measured.most_space <= 1
