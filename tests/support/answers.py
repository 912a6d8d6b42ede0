"""The answers that a disturbed query must give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Batches = dict[int, list[Any]]
"""The rows of each batch; a row begins with its key."""


def same_answers(found: Batches, expected: Batches) -> bool:
    """Whether after each batch the answers so far are those of the undisturbed run after as many files.

    Not batch by batch: when Spark has noted a file but fails to note the batch, its next batch takes two files.
    """
    left = iter(_answers(expected))
    answers = list(_answers(found))
    return answers[-1:] == list(_answers(expected))[-1:] and all(any(a == e for e in left) for a in answers)


def _answers(batches: Batches) -> Iterator[dict[str, list[object]]]:
    """The latest row of each key, after each batch."""
    latest: dict[str, list[object]] = {}
    for _, rows in sorted(batches.items()):
        latest = latest | {row[0]: row[1:] for row in rows}
        yield latest
