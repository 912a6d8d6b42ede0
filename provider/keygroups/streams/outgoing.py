"""Python rows as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.keyed.operator import tagged
from keygroups.state.arrays import array_maker
from keygroups.state.arrow import MISTAKES, arrow_type
from keygroups.state.errors import StateError
from keygroups.streams.side_outputs import undeclared


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
        plain = rows if is_plain else [_as_tuple(row, schema, operator) for row in rows]
        arrays = []
        for number, (field, array) in enumerate(zip(schema.fields, makers, strict=True)):
            try:
                arrays.append(array(list(map(itemgetter(number), plain))))
            except MISTAKES as error:
                for row in rows:
                    _require_main(row, operator)
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


def _require_main(row: Any, operator: str) -> None:
    """Refuse a row of a side output: where some are declared, it has become a row of the result by now."""
    tag, _ = tagged(row)
    if tag is not None:
        raise undeclared(operator, (), tag)


def _as_tuple(row: Any, schema: spark.StructType, operator: str) -> Sequence[Any]:
    width = len(schema.fields)
    if isinstance(row, tuple | list) and len(row) == width:
        return row
    if isinstance(row, Mapping) and row.keys() <= set(schema.names):
        return [row.get(name) for name in schema.names]
    if width == 1 and not isinstance(row, tuple | list | Mapping):
        return (row,)
    _require_main(row, operator)
    raise StateError(
        f"operator {operator!r} gave a wrong row",
        expected=schema.simpleString(),
        found=repr(row)[:200],
        fix="yield a tuple with a value for each column of the output type",
    )
