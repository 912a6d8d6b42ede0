"""Side outputs: each is a column of the result, a struct, which is null in all rows but its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from keygroups.functions.output_tag import OutputTag
from keygroups.keyed.operator import Output, tagged
from keygroups.state.errors import StateError
from keygroups.streams.key_columns import quoted
from keygroups.streams.main_rows import as_tuple, undeclared

VALUE: Final = "value"
"""The column of a side output whose type is no struct."""


def side_output(frame: DataFrame, tag: OutputTag) -> DataFrame:
    """Give the rows of a side output.

    Args:
        frame: What ``process`` gave, or a batch of it in ``foreachBatch``.
        tag: The side output.

    Returns:
        Its rows, with the columns of its type, or a column ``value``.
    """
    column = sql.col(quoted(tag.tag_id))
    return frame.where(column.isNotNull()).select(f"{quoted(tag.tag_id)}.*")


def main_output(frame: DataFrame, *tags: OutputTag) -> DataFrame:
    """Give the rows of the main output.

    Args:
        frame: What ``process`` gave, or a batch of it in ``foreachBatch``.
        *tags: All side outputs of the function.

    Returns:
        Its rows, without the columns of the side outputs.
    """
    columns = [sql.col(quoted(tag.tag_id)) for tag in tags]
    if not columns:
        return frame
    return frame.where(reduce(lambda a, b: a & b, (column.isNull() for column in columns))).drop(*columns)


def with_sides(output: spark.StructType, tags: Sequence[OutputTag], uid: str) -> spark.StructType:
    """Give the schema of the result.

    Raises:
        StateError: Two columns would have one name.
    """
    fields = [*output.fields, *(spark.StructField(tag.tag_id, struct_of(tag.type)) for tag in tags)]
    names = [field.name for field in fields]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise StateError(
            f"two output columns of operator {uid!r} have one name",
            found=", ".join(sorted(doubled)),
            fix="name each side output and each column of the output type differently",
        )
    return spark.StructType([spark.StructField(field.name, field.dataType) for field in fields])


def row_of(output: spark.StructType, tags: Sequence[OutputTag], uid: str) -> Callable[[Output], Any]:
    """Give what makes a row of the result from a row of any output, where there are side outputs.

    Returns:
        A function that raises ``StateError`` if the side output was not declared, or a row does not fit its output: it
        could become one of another output, or be null.
    """
    places = {tag.tag_id: i for i, tag in enumerate(tags)}
    nothing = (None,) * len(tags)
    names = output.names

    def make(given: Output) -> Any:
        tag, row = tagged(given)
        if tag is None:
            return (*as_tuple(row, output, uid), *nothing)
        place = places.get(tag.tag_id)
        if place is None:
            raise undeclared(uid, tags, tag)
        side: list[Any] = list(nothing)
        side[place] = _side_row(row, tags[place], uid)
        return (*(None for _ in names), *side)

    return make


def _side_row(row: Any, tag: OutputTag, uid: str) -> Any:
    kind = tag.type
    if not isinstance(kind, spark.StructType):
        return (row,)
    if row is None or (isinstance(row, Mapping) and not row.keys() <= set(kind.names)):
        raise StateError(
            f"operator {uid!r} gave a wrong row for side output {tag.tag_id!r}",
            expected=kind.simpleString(),
            found=repr(row)[:200],
            fix="yield the tag with a tuple that has a value for each column of its type",
        )
    return row


def struct_of(kind: spark.DataType) -> spark.StructType:
    """Give the struct that a side output's column has."""
    return kind if isinstance(kind, spark.StructType) else spark.StructType([spark.StructField(VALUE, kind)])
