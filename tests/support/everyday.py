"""What `make test` leaves to `make test-all`."""

from __future__ import annotations

import pytest
from hypothesis import settings


def first_every_day(first: object, *others: object) -> list[object]:
    """Returns parameters of a test of which the first runs every day: the others take the same way through the code."""
    return [first, *(seldom(other) for other in others)]


def seldom(*values: object) -> object:
    """Returns the values of one parameter set that runs in `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.slow)


def examples(everyday: int, at_length: int) -> int:
    """Returns how many examples a hypothesis test draws.

    Args:
        everyday: In `make test`, which draws the same ones each time.
        at_length: In `make test-all`.
    """
    return everyday if settings().derandomize else at_length
