"""The number of key groups of a query, Flink's maximum parallelism."""

from __future__ import annotations

from keygroups.segment.block import MAX_PARALLELISM

DEFAULT = 28_800
"""Divisible by 8, 10, 12, 16, 20, 24, 32, 36, 48, 50, 64, 96, 100, 128, 144, 150, 200, 300, 400, 600, 800, ..."""


def default_max_parallelism(partitions: int) -> int:
    """Number of key groups where none is set.

    Args:
        partitions: state partitions of the query, 0 if unknown.

    Returns:
        28,800 if ``partitions`` divides it, else the multiple of ``partitions`` up to 32,768 with the most divisors,
        so that as many later partition counts as possible own whole key groups.
    """
    if partitions <= 0 or DEFAULT % partitions == 0:
        return DEFAULT
    if partitions > MAX_PARALLELISM:
        return MAX_PARALLELISM
    multiples = range(partitions, MAX_PARALLELISM + 1, partitions)
    return max(multiples, key=lambda m: (_divisors(m), m))


def _divisors(n: int) -> int:
    count, factor = 1, 2
    while factor * factor <= n:
        power = 0
        while n % factor == 0:
            n, power = n // factor, power + 1
        count, factor = count * (power + 1), factor + 1
    return count * 2 if n > 1 else count
