"""``key_by``: a DataFrame whose rows a function takes key by key."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from pyspark.serializers import CPickleSerializer
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as spark
from pyspark.util import PythonEvalType

from keygroups.errors import SettingError
from keygroups.functions.base import (
    FilterFunction,
    FlatMapFunction,
    KeyedBatchFunction,
    KeyedProcessFunction,
    MapFunction,
)
from keygroups.functions.output_tag import OutputTag
from keygroups.settings import PREFIX, declaration
from keygroups.state.errors import StateError
from keygroups.state.folding import ReduceFunction
from keygroups.state.types import nullable, parse_type
from keygroups.streams.adapters import Filter, FilterWithState, FlatMapper, FlatWithState, Mapper, Reducer, WithState
from keygroups.streams.bounded import bounded
from keygroups.streams.declare import opened
from keygroups.streams.inputs import readable, readable_schema, restored
from keygroups.streams.key_columns import KeyColumns, key_columns, quoted
from keygroups.streams.outgoing import batch_maker
from keygroups.streams.session import python_column, require_protobuf, require_provider
from keygroups.streams.side_outputs import with_sides
from keygroups.streams.spec import Operator
from keygroups.streams.worker import StreamingFunction

FUNCTION: Final = "keygroups.process "
"""What begins the name by which the shim knows our functions: KeyedNode.scala."""
WATERMARK: Final = "spark.watermarkDelayMs"
"""Metadata of the column that has the event time."""
MEMORY: Final = "workerBytes"
Output = str | spark.DataType
Keyed = KeyedProcessFunction | KeyedBatchFunction


class KeyedStream:
    """The rows of a DataFrame by their keys. Each method gives a DataFrame, of a stream if the rows are one.

    All take ``uid``, the name of the operator: its state is found by it, and so it must not change. They raise
    ``StateError`` if the function is wrong, and ``SettingError`` if the session is.

    Those that take ``event_time`` give a DataFrame in which that column has the watermark, for operators behind it.

    Args:
        frame: The rows.
        columns: What the key is made of.
        event_time: Name of the column with the time of a row; None for the one that has the watermark.
    """

    def __init__(self, frame: DataFrame, columns: Sequence[str | Column], event_time: str | None = None) -> None:
        """See the class."""
        self._frame = frame
        marked = [field.name for field in frame.schema.fields if WATERMARK in field.metadata]
        self._watermarked = marked[0] if marked else None
        self._event_time = event_time or self._watermarked
        if self._event_time is not None:
            _require_time(frame.schema, self._event_time)
        self._key = key_columns(frame, columns)
        self._seen = readable_schema(frame.schema)

    def process(
        self,
        function: Keyed,
        output_type: Output,
        *,
        uid: str,
        event_time: str | None = None,
        side_outputs: Sequence[OutputTag] = (),
    ) -> DataFrame:
        """Give what a function makes of rows and timers.

        Args:
            function: A function of rows, or one of batches.
            output_type: Columns of what it yields, as DDL or a ``StructType``.
            uid: Name of the operator.
            event_time: Column of the output that has its event time.
            side_outputs: Other outputs that it writes to. Each becomes a column: see ``side_output``.
        """
        operator = self._operator(function, output_type, uid, tuple(side_outputs))
        if not self._frame.isStreaming:
            return bounded(self._frame, self._key.columns, operator)
        return _streaming(self._frame, self._key, operator, event_time, watermarked=self._watermarked is not None)

    def map(
        self,
        function: MapFunction | Callable[[Any], Any],
        output_type: Output,
        *,
        uid: str,
        event_time: str | None = None,
    ) -> DataFrame:
        """Give one row for each row."""
        return self.process(Mapper(function), output_type, uid=uid, event_time=event_time)

    def flat_map(
        self,
        function: FlatMapFunction | Callable[[Any], Any],
        output_type: Output,
        *,
        uid: str,
        event_time: str | None = None,
    ) -> DataFrame:
        """Give any number of rows for each row."""
        return self.process(FlatMapper(function), output_type, uid=uid, event_time=event_time)

    def filter(self, function: FilterFunction | Callable[[Any], bool], *, uid: str) -> DataFrame:
        """Give the rows for which a function gives true."""
        return self._same_columns(Filter(function), uid)

    def reduce(self, function: ReduceFunction[Any] | Callable[[Any, Any], Any], *, uid: str) -> DataFrame:
        """Give for each row what all rows of its key have come to by then.

        Args:
            function: Makes one row of two, the older one first.
            uid: Name of the operator.
        """
        # Without metadata, where Spark has the delay of the watermark.
        columns = [spark.StructField(f.name, nullable(f.dataType)) for f in self._seen.fields]
        return self._same_columns(Reducer(function, spark.StructType(columns)), uid)

    def map_with_state(
        self,
        function: Callable[[Any, Any], Any],
        output_type: Output,
        state_type: Output,
        *,
        uid: str,
        event_time: str | None = None,
    ) -> DataFrame:
        """Give one row for each row.

        Args:
            function: ``(row, state) -> (row of the output, new state)``; None is no state.
            output_type: Columns of the output.
            state_type: Type of the state.
            uid: Name of the operator.
            event_time: Column of the output that has its event time.
        """
        return self.process(WithState(function, state_type, uid), output_type, uid=uid, event_time=event_time)

    def flat_map_with_state(
        self,
        function: Callable[[Any, Any], Any],
        output_type: Output,
        state_type: Output,
        *,
        uid: str,
        event_time: str | None = None,
    ) -> DataFrame:
        """Give any number of rows for each row: ``(row, state) -> (rows of the output, new state)``."""
        return self.process(FlatWithState(function, state_type, uid), output_type, uid=uid, event_time=event_time)

    def filter_with_state(self, function: Callable[[Any, Any], Any], state_type: Output, *, uid: str) -> DataFrame:
        """Give some of the rows: ``(row, state) -> (whether it stays, new state)``."""
        return self._same_columns(FilterWithState(function, state_type, uid), uid)

    def _same_columns(self, function: KeyedProcessFunction, uid: str) -> DataFrame:
        made = self.process(function, nullable(self._seen), uid=uid, event_time=self._watermarked)
        return restored(made, self._frame.schema)

    def _operator(self, function: Keyed, output_type: Output, uid: str, tags: tuple[OutputTag, ...]) -> Operator:
        _require_function(function, uid)
        output = parse_type(output_type)
        if not isinstance(output, spark.StructType):
            raise StateError(
                f"the output type of operator {uid!r} has no columns",
                expected="DDL such as 'user string, n bigint'",
                found=output.simpleString(),
            )
        key = self._frame.select(*self._key.columns).schema
        batch_maker(with_sides(output, tags, uid), uid)
        columns = tuple(self._frame.columns)
        time = None if self._event_time is None else columns.index(self._event_time)
        session = self._frame.sparkSession
        default = declaration(MEMORY)
        memory = default.parse(str(session.conf.get(PREFIX + MEMORY, str(default.default))))
        parameters = session.conf.getAll
        return Operator(function, uid, columns, key, output, tags, time, int(memory), parameters)


def key_by(frame: DataFrame, *columns: str | Column, event_time: str | None = None) -> KeyedStream:
    """Give the rows of a DataFrame by their keys.

    Args:
        frame: The rows; of a stream or not.
        *columns: What the key is made of.
        event_time: Name of the column with the time of a row, which ``ctx.timestamp()`` gives. Without it that is the
            one with the watermark. A DataFrame that is no stream has none: there it has to be named.

    Raises:
        SettingError: There is no column, that of the time is no timestamp, or the DataFrame is one of Spark Connect.
    """
    if not columns:
        raise SettingError("key_by has no column", fix="name the columns of the key")
    if not hasattr(frame, "_jdf"):
        raise SettingError(
            "key_by does not work on a Spark Connect client",
            expected="a DataFrame of a classic session",
            found=type(frame).__module__,
            fix="run the query where the driver is: Connect has no way to plan our operator",
        )
    return KeyedStream(frame, columns, event_time)


def _streaming(
    frame: DataFrame, key: KeyColumns, operator: Operator, event_time: str | None, *, watermarked: bool
) -> DataFrame:
    session = frame.sparkSession
    require_provider(session, operator.uid)
    require_protobuf(operator.uid)
    function = StreamingFunction(operator)
    declared = opened(_pickled_copy(operator.function, operator.uid), operator.uid, operator.parameters)

    def run(*given: Any) -> Any:
        return function(*given)

    run.__name__ = FUNCTION + json.dumps({"uid": operator.uid, "metrics": declared.metrics})
    output = with_sides(operator.output, operator.tags, operator.uid)
    given = readable(frame.select("*", *key.computed))
    seen = [given[quoted(name)] for name in frame.columns]
    column = python_column(seen, run, output, PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF)
    grouped: Any = given.groupBy(*map(quoted, operator.key.names))
    parsed = session._jsparkSession.parseDataType(output.json())
    time_mode = "EventTime" if watermarked else "ProcessingTime"  # decides which timers Spark's state reader shows
    java = grouped._jgd.transformWithStateInPySpark(
        column._jc, parsed, "Update", time_mode, None, (event_time or "") if watermarked else ""
    )
    return DataFrame(java, session)


def _require_time(schema: spark.StructType, column: str) -> None:
    kinds = {field.name: field.dataType for field in schema.fields}
    if not isinstance(kinds.get(column), spark.TimestampType | spark.TimestampNTZType):
        raise SettingError(
            "event_time is no column with a time",
            expected="the name of a timestamp column of the DataFrame",
            found=f"{column} in {schema.simpleString()}",
        )


def _require_function(function: object, uid: str) -> None:
    if not uid or uid.__class__ is not str or uid != uid.strip():
        raise StateError(
            "an operator has no name",
            expected="uid=, a text that is not empty and has no space at its ends",
            found=repr(uid),
        )
    if not isinstance(function, Keyed):
        raise StateError(
            f"operator {uid!r} has a wrong function",
            expected="a KeyedProcessFunction or a KeyedBatchFunction",
            found=repr(function),
        )
    _pickled_copy(function, uid)


def _pickled_copy(function: Keyed, uid: str) -> Keyed:
    """A copy as a worker gets it."""
    pickled: Any = CPickleSerializer()
    try:
        copy: Keyed = pickled.loads(pickled.dumps(function))
    except Exception as error:
        raise StateError(
            f"the function of operator {uid!r} cannot be sent to a worker",
            found=str(error)[:300],
            fix="make connections, locks and files in open, not in __init__",
        ) from error
    return copy
