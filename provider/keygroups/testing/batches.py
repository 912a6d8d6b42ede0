"""What a function gives for a batch, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from keygroups.keyed.operator import Output, tagged
from keygroups.state.arrow import values_of


def rows_of(given: Any) -> Iterator[Output]:
    """Give what a function yields for a batch as rows."""
    tag, columns = tagged(given)
    if not isinstance(columns, Mapping):
        columns = dict(zip(columns.schema.names, columns.columns, strict=True))
    make = Row(*columns)
    lists = [values_of(_array(values)) for values in columns.values()]
    rows = (make(*values) for values in zip(*lists, strict=True))
    return rows if tag is None else ((tag, row) for row in rows)


def _array(values: Any) -> pa.Array:
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
