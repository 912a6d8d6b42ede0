"""A keyed function over the rows of one partition in one batch of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.functions.base import KeyedBatchFunction, KeyedProcessFunction
from keygroups.functions.timers import TimeDomain
from keygroups.keyed.operator import KeyedOperator, Output
from keygroups.keyed.scope import NO_KEY, Scope
from keygroups.keyed.tables import Tables
from keygroups.keyed.timer_queue import KeyTimers
from keygroups.partition.columns import bytes_of_column, column_decoder
from keygroups.partition.keys import Key, Keys, StoredKeys
from keygroups.partition.tables import FileTables
from keygroups.partition.view import View
from keygroups.rows.decode import row_decoder
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.grouped import Groups


class PartitionScope(Scope):
    """The current key, a ``Key``, and the times."""

    def shown_key(self) -> Any:
        """Give the current key as users see it."""
        return super().shown_key().value


MakeContext = Callable[[Tables, Scope], Any]
"""Makes a ``RuntimeContext`` that is a ``Registry`` too."""


class PartitionTask:
    """One attempt at a partition's part of a batch.

    Args:
        function: The function.
        view: The version that it begins with, and the times.
        key_schema: Schema of the keys.
        context: Makes what the function is opened with.
        uid: Name of the operator.

    Attributes:
        keys: The keys that it has met.
        tables: Where its states lie.
    """

    def __init__(
        self,
        function: KeyedProcessFunction | KeyedBatchFunction,
        view: View,
        key_schema: spark.StructType,
        context: MakeContext,
        uid: str = "operator",
    ) -> None:
        """Open the function.

        Raises:
            StateError: The version was written by an operator of another name, or its states have other forms.
        """
        self._view, self._is_closed = view, False
        self._scope: Final = PartitionScope(now=view.now, watermark=view.watermark)
        self._key_schema = key_schema
        self.keys = Keys(row_decoder(key_schema), _shown(key_schema))
        self.tables = FileTables(view, self.keys, key_schema, uid)
        timers = self.tables.timers
        self._operator = KeyedOperator(
            function,
            self._scope,
            KeyTimers(self._scope, timers[TimeDomain.EVENT_TIME], timers[TimeDomain.PROCESSING_TIME]),
        )
        self._runtime = context(self.tables, self._scope)
        try:
            self._operator.open(self._runtime)
            self._runtime.seal()
        except BaseException:
            self.close()
            raise

    def begin(self) -> Iterator[Output]:
        """Fire the timers whose time has come since the batch before."""
        yield from self.advance(self._view.now, self._view.watermark)

    def advance(self, now: int, watermark: int) -> Iterator[Output]:
        """Fire the timers whose time has come."""
        yield from self._operator.advance_watermark(watermark)
        yield from self.advance_processing_time(now)

    def advance_processing_time(self, now: int) -> Iterator[Output]:
        """Fire those that follow the processing time."""
        yield from self._operator.advance_processing_time(now)
        self._scope.key = NO_KEY

    def process(self, rows: Iterable[tuple[Key, Any, int]], count: int) -> Iterator[Output]:
        """Take rows, each with its key and its time; there are so many."""
        self.tables.rows += count
        return self._operator.process(rows)

    def process_batch(
        self, stored: StoredKeys, groups: Groups, batch: pa.RecordBatch, timestamps: pa.Array | None
    ) -> Iterator[Any]:
        """Take rows at once.

        Args:
            stored: Their different keys.
            groups: int64[n], the number of each row's key.
            batch: The rows.
            timestamps: int64[n], the time of each; None if they have none.
        """

        def columns() -> dict[str, pa.Array]:
            decoded = column_decoder(self._key_schema)(bytes_of_column(stored.data))
            return dict(zip(self._key_schema.names, decoded, strict=True))

        self.tables.rows += batch.num_rows
        keys = BatchKeys(len(stored), groups, columns, lambda: self._each(stored), stored)
        yield from self._operator.process_batch(keys, batch, timestamps)

    def _each(self, stored: StoredKeys) -> Iterator[Any]:
        before = self._scope.key
        try:
            for key in self.see(stored):
                self._scope.key = key
                yield key.value
        finally:
            self._scope.key = before

    def see(self, stored: StoredKeys) -> list[Key]:
        """Give the keys, one by one; they become the current ones."""
        return self.keys.see(stored)

    def spill(self) -> None:
        """Move writes from memory to disk."""
        self.tables.spill()

    def end_of_input(self) -> Iterator[Output]:
        """Fire all timers: there are no more rows, in this batch or another."""
        yield from self._operator.end_input()
        self._scope.key = NO_KEY

    def close(self) -> None:
        """Close the function, and give back files and memory. Also after an error, and more than once."""
        if not self._is_closed:
            self._is_closed = True
            try:
                self._operator.close()
            finally:
                self.tables.close()

    def end(self) -> Iterator[Output]:
        """Fire the processing timers that the rows have set for now, close the function, and hand over its writes."""
        yield from self.advance_processing_time(self._view.now)
        metrics = self._runtime.metrics.values()
        self._is_closed = True
        self._operator.close()
        self.tables.finish(metrics)


def _shown(key: spark.StructType) -> Callable[[tuple[Any, ...]], Any]:
    """What users see of a key: the value of a column, or a row of several."""
    if len(key.fields) == 1:
        return itemgetter(0)
    make = spark.Row(*key.names)
    return lambda values: make(*values)
