"""Python rows as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.state.arrays import array_maker, require_values
from keygroups.state.arrow import MISTAKES
from keygroups.state.errors import StateError
from keygroups.state.misfit import MisfitError, shown
from keygroups.state.rules import arrow_type
from keygroups.streams.main_rows import main_parts, require_main


def batch_maker(schema: spark.StructType, operator: str) -> Callable[[Sequence[Any]], pa.RecordBatch]:
    """Give what makes a batch of rows: tuples, rows, dicts or, if there is one column, its values.

    Args:
        schema: Of the rows.
        operator: Named in errors.

    Returns:
        A function that raises ``StateError`` if a row does not fit the schema.
    """
    arrow = arrow_schema(schema, operator)
    makers = [array_maker(field.dataType) for field in schema.fields]
    parts = main_parts(schema, operator)

    def batch(rows: Sequence[Any]) -> pa.RecordBatch:
        # Looking at each row takes longer than all the rest where they are what most functions give.
        is_plain = set(map(type, rows)) == {tuple} and set(map(len, rows)) == {len(schema.fields)}
        plain = rows if is_plain else list(map(parts, rows))
        arrays = []
        for number, (field, make) in enumerate(zip(schema.fields, makers, strict=True)):
            try:
                arrays.append(require_values(make(list(map(itemgetter(number), plain))), field))
            except MISTAKES as error:
                for row in rows:
                    require_main(row, operator)
                raise wrong_value(operator, field, error, plain) from error
        return pa.RecordBatch.from_arrays(arrays, schema=arrow)

    return batch


def arrow_schema(schema: spark.StructType, operator: str) -> pa.Schema:
    """Give the Arrow schema of an output.

    Raises:
        StateError: A column has a type that no function can give.
    """
    fields = []
    for field in schema.fields:
        try:
            fields.append(pa.field(field.name, arrow_type(field.dataType)))
        except StateError as error:
            raise StateError(
                f"operator {operator!r} cannot give column {field.name!r} of {field.dataType.simpleString()}",
                found=error,
                fix="give another type, and cast it in the DataFrame that comes out",
            ) from error
    return pa.schema(fields)


def wrong_value(
    operator: str, field: spark.StructField, error: Exception, rows: Sequence[Any] | None = None
) -> StateError:
    """Give the error of a column that does not fit the output type."""
    column = f" for column {field.name!r}"
    if isinstance(error, MisfitError):
        row = "" if error.row is None else f", in row {shown(rows[error.row]) if rows else error.row}"
        return error.error(f"operator {operator!r} gave", column + row)
    return StateError(
        f"operator {operator!r} gave a wrong value{column}",
        expected=field.dataType.simpleString(),
        found=str(error)[:300],
    )
