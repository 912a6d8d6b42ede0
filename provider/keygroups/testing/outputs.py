"""What a function yields, as a test sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.functions import KeyedBatchFunction, KeyedProcessFunction, OutputTag
from keygroups.keyed.operator import Output, tagged
from keygroups.keyed.yielded import copied
from keygroups.state.arrow import values_of
from keygroups.state.errors import StateError
from keygroups.state.types import parse_type
from keygroups.streams.column_outputs import columns_maker
from keygroups.streams.rows import in_batches
from keygroups.streams.side_outputs import VALUE
from keygroups.streams.spec import Operator
from keygroups.testing.batches import rows_of
from keygroups.testing.keys import NO_SCHEMA

MEMORY = 1 << 30


class Raw:
    """Takes any row to any output, as it was yielded."""

    def rows(self, outputs: Iterable[Output]) -> Iterator[tuple[OutputTag | None, Any]]:
        """Return each row with its side output."""
        return map(tagged, map(copied, outputs))

    def columns(self, outputs: Iterable[Any]) -> Iterator[tuple[OutputTag | None, Any]]:
        """Return the same of columns, row by row."""
        return self.rows(chain.from_iterable(map(rows_of, outputs)))


class Typed:
    """Checks and converts rows as a query does.

    Args:
        operator: The function and its outputs.
    """

    def __init__(self, operator: Operator) -> None:
        """See the class."""
        self._operator, self._columns = operator, columns_maker(operator)
        self._make = Row(*operator.output.names)

    def rows(self, outputs: Iterable[Output]) -> Iterator[tuple[OutputTag | None, Any]]:
        """Return each row with its side output."""
        return chain.from_iterable(map(self._split, in_batches(self._operator, iter(outputs))))

    def columns(self, outputs: Iterable[Any]) -> Iterator[tuple[OutputTag | None, Any]]:
        """Return the same of columns, row by row."""
        return chain.from_iterable(map(self._split, map(self._columns, outputs)))

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[OutputTag | None, Any]]:
        tags, width = self._operator.tags, len(self._operator.output)
        for values in zip(*map(values_of, batch.columns), strict=True):
            sides = [(tag, row) for tag, row in zip(tags, values[width:], strict=True) if row is not None]
            if not sides:
                yield None, self._make(*values[:width])
            for tag, row in sides:
                yield tag, row if isinstance(tag.type, spark.StructType) else row[VALUE]


def collector(
    function: KeyedProcessFunction | KeyedBatchFunction,
    name: str,
    output_type: str | spark.DataType | None,
    side_outputs: Sequence[OutputTag],
) -> Raw | Typed:
    """Return what takes the rows of a function.

    Raises:
        StateError: The output type has no columns, or is missing where there are side outputs.
    """
    if output_type is None and not side_outputs:
        return Raw()
    output = None if output_type is None else parse_type(output_type)
    if not isinstance(output, spark.StructType):
        raise StateError(
            f"the output type of operator {name!r} has no columns",
            expected="DDL such as 'user string, n bigint'",
            found="None" if output is None else output.simpleString(),
        )
    return Typed(Operator(function, name, (), NO_SCHEMA, output, tuple(side_outputs), None, MEMORY))
