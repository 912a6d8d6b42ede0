"""A keyed function over a DataFrame that is no stream."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.util import PythonEvalType

from keygroups.keyed.forms import one_zero
from keygroups.keyed.scope import NO_TIME
from keygroups.partition.keys import StoredKeys, hashed_locator
from keygroups.partition.view import View
from keygroups.rows.encode import row_encoder
from keygroups.state.arrow import values_of
from keygroups.state.grouped import Groups
from keygroups.streams.incoming import distinct
from keygroups.streams.inputs import readable, unused
from keygroups.streams.key_columns import quoted
from keygroups.streams.rows import open_task, results
from keygroups.streams.session import python_column
from keygroups.streams.side_outputs import with_sides
from keygroups.streams.spec import Operator

KEY_GROUPS: Final = 128


def bounded(frame: DataFrame, key: Sequence[Column], operator: Operator) -> DataFrame:
    """Give what a function makes of all rows, which come in the order of their event time if they have one.

    Args:
        frame: The rows.
        key: What they are keyed by.
        operator: The function.
    """
    names = [unused(f"__key{i}", frame.columns) for i in range(len(key))]
    given = frame.select("*", *(one.alias(name) for one, name in zip(key, names, strict=True)))
    given = given.select("*", sql.hash(*names).alias(unused("__hash", given.columns))).repartition(*names)
    if operator.event_time is not None:
        given = given.sortWithinPartitions(given[quoted(operator.columns[operator.event_time])])
    given = readable(given)
    function = BoundedFunction(operator, int(time.time() * 1000))
    output = with_sides(operator.output, operator.tags, operator.uid)
    columns = [given[quoted(name)] for name in given.columns]
    column: Any = python_column(columns, function, output, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    java: Any = given._jdf
    return DataFrame(java.mapInArrow(column._jc, False, None), frame.sparkSession)


@dataclass(frozen=True)
class BoundedFunction:
    """What Spark pickles, and calls once for each partition.

    Args:
        operator: What it runs.
        now: Its processing time in milliseconds since 1970.
    """

    operator: Operator
    now: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of a partition, and fire all timers at the end."""
        local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
        with TemporaryDirectory(prefix="keygroups-", dir=local) as folder:
            task = open_task(self.operator, View(folder, (), {}, KEY_GROUPS, NO_TIME, self.now))
            with closing(task):
                yield from results(self.operator, task, batches, self._keys_of, is_bounded=True)

    def _keys_of(self, batch: pa.RecordBatch) -> tuple[StoredKeys, Groups]:
        """The columns of the key, and its hash, come after those of the input."""
        first = len(self.operator.columns)
        parts = [list(map(one_zero, values_of(batch.column(first + i)))) for i in range(len(self.operator.key.fields))]
        encoded = pa.array(row_encoder(self.operator.key)(list(zip(*parts, strict=True))), pa.binary())
        stored, groups = distinct(encoded, batch.column(first + len(parts)).cast(pa.int64()))
        hashes = stored.locators.view(np.int64) % KEY_GROUPS
        locators = map(hashed_locator, hashes.tolist(), stored.data.to_pylist())
        return replace(stored, locators=np.fromiter(locators, np.uint64, len(stored))), groups
