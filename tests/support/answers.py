"""The answers that a disturbed aggregation over files must give."""

from __future__ import annotations

from typing import Any

Batches = dict[int, list[Any]]
"""The rows of each batch; a row begins with its key."""


def same_answers(found: Batches, expected: Batches) -> bool:
    """Whether each batch has the rows of the next file or files, no more and no fewer, and all files are used.

    When Spark has noted a file but fails to note the batch, its next batch takes two files: a key of both has the row
    of the second.

    Args:
        found: what the query wrote.
        expected: what it must write if each batch takes one file.
    """
    files = [rows for _, rows in sorted(expected.items())]
    batches = list(range(len(found)))
    return sorted(found) == batches and all(_take(found[batch], files) for batch in batches) and not files


def _take(rows: list[Any], files: list[list[Any]]) -> bool:
    """Take files off the list until their rows are those of the batch."""
    merged: dict[str, Any] = {}
    while files:
        merged |= {row[0]: row for row in files.pop(0)}
        if sorted(rows, key=str) == sorted(merged.values(), key=str):
            return True
    return False
