"""Side outputs: each is a column of the result, a struct, which is null in all rows but its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from keygroups.functions.output_tag import OutputTag
from keygroups.keyed.operator import Output, tagged
from keygroups.state.errors import StateError
from keygroups.state.misfit import missing, shown
from keygroups.streams.key_columns import quoted
from keygroups.streams.main_rows import Parts, main_parts, row_parts, undeclared
from keygroups.streams.outgoing import wrong_value

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
    # A row of a side output has null in the columns of the main one.
    return spark.StructType([spark.StructField(f.name, f.dataType, f.nullable or bool(tags)) for f in fields])


def row_of(output: spark.StructType, tags: Sequence[OutputTag], uid: str) -> Callable[[Output], Any]:
    """Give what makes a row of the result from a row of any output, where there are side outputs.

    Returns:
        A function that raises ``StateError`` if the side output was not declared, or a row does not fit its output: it
        could become one of another output, or be null.
    """
    sides = {tag.tag_id: (i, _side_parts(tag, uid)) for i, tag in enumerate(tags)}
    nothing: Sequence[Any] = (None,) * len(tags)
    no_columns = (None,) * len(output.names)
    main, required = main_parts(output, uid), [i for i, field in enumerate(output.fields) if not field.nullable]

    def make(given: Output) -> Any:
        tag, row = tagged(given)
        if tag is None:
            values = main(row)
            for i in required:
                if values[i] is None:
                    raise wrong_value(uid, output.fields[i], missing(output.fields[i].dataType))
            return (*values, *nothing)
        if tag.tag_id not in sides:
            raise undeclared(uid, tags, tag)
        place, parts = sides[tag.tag_id]
        return (*no_columns, *nothing[:place], tuple(parts(row)), *nothing[place + 1 :])

    return make


def _side_parts(tag: OutputTag, uid: str) -> Parts:
    """What finds the values of a row of a side output."""
    kind = tag.type

    def refused(row: Any) -> StateError:
        return StateError(
            f"operator {uid!r} gave a wrong row for side output {tag.tag_id!r}",
            expected=kind.simpleString(),
            found=shown(row),
            fix="yield the tag with a tuple that has a value for each column of its type",
        )

    if not isinstance(kind, spark.StructType):
        return lambda row: (row,)
    parts = row_parts(kind, refused)

    def found(row: Any) -> Sequence[Any]:
        if row is None:
            raise refused(row)
        return parts(row)

    return found


def struct_of(kind: spark.DataType) -> spark.StructType:
    """Give the struct that a side output's column has."""
    return kind if isinstance(kind, spark.StructType) else spark.StructType([spark.StructField(VALUE, kind)])
