"""Rows of the main output, and the errors of those that fit no output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pyspark.sql import types as spark

from keygroups.functions.output_tag import OutputTag
from keygroups.keyed.operator import tagged
from keygroups.state.errors import StateError
from keygroups.state.misfit import shown
from keygroups.state.nested import parts_of

Parts: TypeAlias = Callable[[Any], Sequence[Any]]


def row_parts(schema: spark.StructType, refused: Callable[[Any], StateError]) -> Parts:
    """Give what finds a value for each column in a row that a function yields.

    A row is a tuple, a list, a ``Row``, a dict or, if there is one column, its value. A list is the value of the only
    column if that has lists: only a tuple is a row there.

    Args:
        schema: The columns.
        refused: Gives the error of a row that does not fit.
    """
    parts = parts_of(schema.names)
    only = schema.fields[0] if len(schema.fields) == 1 else None

    def found(row: Any) -> Sequence[Any]:
        given: Any = (row,) if only is not None and _is_value(row, only) else parts(row)
        if given is None:
            raise refused(row)
        return given  # type: ignore[no-any-return]

    return found


def main_parts(schema: spark.StructType, operator: str) -> Parts:
    """Give what finds the values of a row of the main output. It raises ``StateError`` if the row does not fit."""

    def refused(row: Any) -> StateError:
        require_main(row, operator)
        return StateError(
            f"operator {operator!r} gave a wrong row",
            expected=schema.simpleString(),
            found=shown(row),
            fix="yield a tuple with a value for each column of the output type, or a Row or a dict with their names",
        )

    return row_parts(schema, refused)


def _is_value(row: Any, only: spark.StructField) -> bool:
    """Whether what was yielded is the value of the only column, rather than a row."""
    if isinstance(row, Mapping):
        return only.name not in row and isinstance(only.dataType, spark.MapType)
    if isinstance(row, list):
        return isinstance(only.dataType, spark.ArrayType)
    return not isinstance(row, tuple)


def require_main(row: Any, operator: str) -> None:
    """Refuse a row of a side output: where some are declared, it has become a row of the result by now."""
    tag, _ = tagged(row)
    if tag is not None:
        raise undeclared(operator, (), tag)


def undeclared(uid: str, tags: Sequence[OutputTag], tag: OutputTag) -> StateError:
    """Give the error of a row for a side output that nobody knows."""
    return StateError(
        f"operator {uid!r} gave a row for a side output that it did not declare",
        expected=", ".join(known.tag_id for known in tags) or "no side output",
        found=tag.tag_id,
        fix="list each OutputTag in process(..., side_outputs=[...])",
    )
