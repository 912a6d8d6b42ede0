"""Python rows as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.state.arrays import array_maker
from keygroups.state.arrow import MISTAKES, arrow_type
from keygroups.state.errors import StateError
from keygroups.streams.main_rows import as_tuple, require_main


def batch_maker(schema: spark.StructType, operator: str) -> Callable[[Sequence[Any]], pa.RecordBatch]:
    """Give what makes a batch of rows: tuples, rows, dicts or, if there is one column, its values.

    Args:
        schema: Of the rows.
        operator: Named in errors.

    Returns:
        A function that raises ``StateError`` if a row does not fit the schema.
    """
    arrow = pa.schema([pa.field(field.name, arrow_type(field.dataType)) for field in schema.fields])
    makers = [array_maker(field.dataType) for field in schema.fields]

    def batch(rows: Sequence[Any]) -> pa.RecordBatch:
        # Looking at each row takes longer than all the rest where they are what most functions give.
        is_plain = set(map(type, rows)) == {tuple} and set(map(len, rows)) == {len(schema.fields)}
        plain = rows if is_plain else [as_tuple(row, schema, operator) for row in rows]
        arrays = []
        for number, (field, array) in enumerate(zip(schema.fields, makers, strict=True)):
            try:
                arrays.append(array(list(map(itemgetter(number), plain))))
            except MISTAKES as error:
                for row in rows:
                    require_main(row, operator)
                raise wrong_value(operator, field, error) from error
        return pa.RecordBatch.from_arrays(arrays, schema=arrow)

    return batch


def wrong_value(operator: str, field: spark.StructField, error: Exception) -> StateError:
    """Give the error of a column that does not fit the output type."""
    return StateError(
        f"operator {operator!r} gave a wrong value for column {field.name!r}",
        expected=field.dataType.simpleString(),
        found=str(error)[:300],
    )
