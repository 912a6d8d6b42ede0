"""Rows in a normal form, and a readable difference between the rows of two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

Records: TypeAlias = Mapping[str, list[Hashable]]
"""Rows in normal form by label, such as "batch 3" or "state of 0 dedupe/default"."""

SHOWN_ROWS = 5
SHOWN_LABELS = 4


def normal(value: object) -> Hashable:
    """Returns a hashable value that is equal to another only where Spark's values are the same.

    Rows and lists become tuples, maps become sorted tuples, and floats become text: NaN is equal to NaN, -0.0 differs
    from 0.0.

    Args:
        value: A value of a collected row, or a whole row.
    """
    match value:
        case float():
            return f"{value!r}"
        case dict():
            return tuple(sorted(((normal(k), normal(v)) for k, v in value.items()), key=repr))
        case tuple() | list():
            return tuple(normal(item) for item in value)
        case bytearray():
            return bytes(value)
        case Hashable():
            return value
        case _:
            raise TypeError(f"a row holds {type(value).__name__}, which has no normal form: add it to normal()")


def normal_rows(rows: Iterable[object]) -> list[Hashable]:
    """Returns the rows in normal form, sorted by their text, so that the order of arrival does not matter."""
    return sorted((normal(row) for row in rows), key=repr)


def difference(left: Records, right: Records, names: tuple[str, str]) -> str:
    """Describes where two runs differ; an empty text means that they are equal.

    Args:
        left: Records of the first run.
        right: Records of the second run.
        names: What to call the two runs in the text.

    Returns:
        One paragraph per differing label (the first 4 of them): how many rows each side has alone, and the first 5.
    """
    labels = [label for label in dict.fromkeys([*left, *right]) if left.get(label) != right.get(label)]
    parts = [_paragraph(label, left.get(label), right.get(label), names) for label in labels[:SHOWN_LABELS]]
    if len(labels) > SHOWN_LABELS:
        parts.append(f"... and {len(labels) - SHOWN_LABELS} more: {', '.join(labels[SHOWN_LABELS:])}")
    return "\n".join(parts)


def _paragraph(label: str, left: list[Hashable] | None, right: list[Hashable] | None, names: tuple[str, str]) -> str:
    for rows, name in ((left, names[0]), (right, names[1])):
        if rows is None:
            return f"{label}: missing in {name}"
    ours, theirs = Counter(left), Counter(right)
    return "\n".join([f"{label}:", *_only(ours - theirs, names[0]), *_only(theirs - ours, names[1])])


def _only(rows: Counter[Hashable], name: str) -> list[str]:
    shown = [f"    {row!r}" for row in list(rows.elements())[:SHOWN_ROWS]]
    return [f"  only in {name}: {rows.total()} rows", *shown] if rows else []
