"""Rows of the main output, and the errors of those that fit no output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import types as spark

from keygroups.functions.output_tag import OutputTag
from keygroups.keyed.operator import tagged
from keygroups.state.errors import StateError


def as_tuple(row: Any, schema: spark.StructType, operator: str) -> Sequence[Any]:
    """Give a value for each column.

    Args:
        row: A tuple, a list, a row, a dict or, if there is one column, its value.
        schema: The columns.
        operator: Named in errors.

    Raises:
        StateError: The row does not fit the schema.
    """
    width = len(schema.fields)
    if isinstance(row, tuple | list) and len(row) == width:
        return row
    if width == 1 and not isinstance(row, tuple | list) and not (isinstance(row, Mapping) and _is_named(row, schema)):
        return (row,)
    if isinstance(row, Mapping) and row.keys() <= set(schema.names):
        return [row.get(name) for name in schema.names]
    require_main(row, operator)
    raise StateError(
        f"operator {operator!r} gave a wrong row",
        expected=schema.simpleString(),
        found=repr(row)[:200],
        fix="yield a tuple with a value for each column of the output type",
    )


def _is_named(row: Mapping[Any, Any], schema: spark.StructType) -> bool:
    """Whether a dict has columns by their names, and is not itself the value of the only one, which is a map."""
    (column,) = schema.fields
    return column.name in row or not isinstance(column.dataType, spark.MapType)


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
