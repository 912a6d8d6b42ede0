"""Which suites share a JVM, and in which order they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from campaigns.conformance.suites import OURS

SECONDS: Final = 120
"""Short suites share a JVM up to this sum: one JVM ran 9 suites in 60 s that take 25 s each by themselves."""
UNKNOWN: Final = 15
"""Assumed for a suite that has not run yet."""
STATE_READER: Final = "datasources.v2.state."
"""In the names of the suites that read state, and compare the change feed with that of Spark's providers."""


def batches(suites: Iterable[str], seconds: Mapping[str, float]) -> list[list[str]]:
    """Divide suites into batches of one JVM each, the longest first.

    Suites of the state reader and the contract have settings of their own.
    """
    made: list[list[str]] = []
    left: dict[tuple[bool, bool], float] = {}
    last: dict[tuple[bool, bool], list[str]] = {}
    for suite in sorted(suites, key=lambda suite: -seconds.get(suite, UNKNOWN)):
        kind, takes = (suite == OURS, STATE_READER in suite), seconds.get(suite, UNKNOWN)
        if kind not in last or left[kind] < takes:
            last[kind], left[kind] = [], SECONDS
            made.append(last[kind])
        last[kind].append(suite)
        left[kind] -= takes
    return made
