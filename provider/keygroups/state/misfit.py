"""A value that its type does not take."""

from __future__ import annotations

from typing import Any

from pyspark.sql import types as spark

from keygroups.state.errors import StateError


class MisfitError(ValueError):
    """A value that its type does not take, and where it is in what was given.

    Args:
        kind: The type.
        value: The value.
        reason: What is wrong, or what to give.

    Attributes:
        path: Names of fields, and places in lists and maps, from the outermost inwards.
        row: Its number in a column.
    """

    def __init__(self, kind: spark.DataType, value: Any, reason: str) -> None:
        """See the class."""
        super().__init__(reason)
        self.kind, self.value, self.reason = kind, value, reason
        self.path: list[str] = []
        self.row: int | None = None

    def at(self, place: str) -> MisfitError:
        """Give the same, one level further out."""
        self.path.insert(0, place)
        return self

    def error(self, what: str, under: str = "") -> StateError:
        """Give the error of who was given the value.

        Args:
            what: What was done, such as ``value state 'count' was given``.
            under: For which key or row.
        """
        place = "".join(self.path).lstrip(".")
        return StateError(
            f"{what} a wrong value{f' in {place}' if place else ''}{under}",
            expected=self.kind.simpleString(),
            found=shown(self.value),
            fix=self.reason,
        )


def missing(kind: spark.DataType) -> MisfitError:
    """Give the error of None where the type says NOT NULL."""
    return MisfitError(kind, None, "it is NOT NULL: give a value")


def shown(value: Any) -> str:
    """Give a value as messages have it."""
    try:
        return repr(value)[:200]
    except Exception as error:  # noqa: BLE001 - of an object of the user
        return f"a {type(value).__name__}, whose repr fails: {error}"[:200]
