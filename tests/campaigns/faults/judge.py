"""Compares what a disturbed query has shown with an undisturbed run."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from campaigns.faults.attempts import Shown
from support.rows import difference

NAMES = ("the disturbed run", "the undisturbed run")


def verdict(found: Shown, expected: Shown) -> str:
    """How they differ; an empty text means that all is right.

    Every attempt at a batch must have had exactly the rows of that batch, each as often as in the undisturbed run; no
    batch may be missing or be too many; and the state of every store must be the same at the end.
    """
    right = {_label(batch, 1): attempts[0] for batch, attempts in expected.batches.items()}
    left = {}
    for batch, attempts in found.batches.items():
        for number, rows in enumerate(attempts, 1):
            left[_label(batch, number)] = rows
            if batch in expected.batches:
                right[_label(batch, number)] = expected.batches[batch][0]
    return difference(_sorted(left | found.state), _sorted(right | expected.state), NAMES)


def _label(batch: int, attempt: int) -> str:
    return f"batch {batch}, attempt {attempt}"


def _sorted(records: Mapping[str, Sequence[str]]) -> dict[str, list[Hashable]]:
    return {label: list[Hashable](sorted(rows)) for label, rows in records.items()}
