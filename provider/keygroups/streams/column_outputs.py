"""Columns that a function of batches gives, as Arrow batches of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.keyed.operator import tagged
from keygroups.state.arrays import column_maker, require_values
from keygroups.state.arrow import MISTAKES
from keygroups.state.errors import StateError
from keygroups.streams.main_rows import undeclared
from keygroups.streams.outgoing import arrow_schema, wrong_value
from keygroups.streams.side_outputs import struct_of, with_sides
from keygroups.streams.spec import Operator

Make = Callable[[Any], pa.RecordBatch]


def columns_maker(operator: Operator) -> Make:
    """Give what makes a batch of the result of what a function yields: columns, or a side output and columns.

    Returns:
        A function that raises ``StateError`` if columns do not fit their output.
    """
    schema = with_sides(operator.output, operator.tags, operator.uid)
    arrow = arrow_schema(schema, operator.uid)
    main = _Fitting(operator.output, operator.uid)
    sides = {tag.tag_id: _Fitting(struct_of(tag.type), operator.uid) for tag in operator.tags}

    def make(given: Any) -> pa.RecordBatch:
        tag, columns = tagged(given)
        if tag is None:
            named = dict(zip(operator.output.names, main(columns), strict=True))
        elif tag.tag_id in sides:
            fields = list(arrow.field(tag.tag_id).type)
            named = {tag.tag_id: pa.StructArray.from_arrays(sides[tag.tag_id](columns), fields=fields)}
        else:
            raise undeclared(operator.uid, operator.tags, tag)
        count = len(next(iter(named.values())))
        arrays = [named[field.name] if field.name in named else pa.nulls(count, field.type) for field in arrow]
        return pa.RecordBatch.from_arrays(arrays, schema=arrow)

    return make


def sliced(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Give a batch in pieces of some rows."""
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


class _Fitting:
    """Makes arrays of the types of an output."""

    def __init__(self, schema: spark.StructType, uid: str) -> None:
        self._schema, self._uid = schema, uid
        self._makers = [column_maker(field.dataType) for field in schema.fields]

    def __call__(self, given: Any) -> list[pa.Array]:
        named = self._named(given)
        arrays = []
        for field, make in zip(self._schema.fields, self._makers, strict=True):
            try:
                arrays.append(require_values(make(named[field.name]), field))
            except MISTAKES as error:
                raise wrong_value(self._uid, field, error) from error
        if len({len(array) for array in arrays}) > 1:
            raise self._wrong(", ".join(f"{name}: {len(values)} values" for name, values in named.items()))
        return arrays

    def _named(self, given: Any) -> Mapping[str, Any]:
        if isinstance(given, pa.RecordBatch | pa.Table):
            given = dict(zip(given.schema.names, given.columns, strict=True))
        if not isinstance(given, Mapping):
            raise self._wrong(repr(given)[:200])
        if set(given) != set(self._schema.names):
            raise self._wrong(", ".join(map(repr, given)) or "no column")
        return given

    def _wrong(self, found: str) -> StateError:
        return StateError(
            f"operator {self._uid!r} gave wrong columns",
            expected=self._schema.simpleString(),
            found=found,
            fix="yield a RecordBatch, or a dict with an array for each column of the output type, all of one length",
        )
