"""What a task is told of its operator."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import types as spark

from keygroups.functions.base import KeyedBatchFunction, KeyedProcessFunction
from keygroups.functions.output_tag import OutputTag


@dataclass(frozen=True)
class Operator:
    """A function and the form of its rows; Spark pickles it.

    Attributes:
        function: What the user wrote.
        uid: Name of the operator.
        columns: Names of the input's columns.
        key: Schema of the key.
        output: Schema of the main output.
        tags: The side outputs.
        event_time: Number of the column that has the time of a row; None if the input has no watermark.
        memory_bytes: A worker that has grown by more moves its writes to disk.
        parameters: What ``get_job_parameter`` gives.
    """

    function: KeyedProcessFunction | KeyedBatchFunction
    uid: str
    columns: tuple[str, ...]
    key: spark.StructType
    output: spark.StructType
    tags: tuple[OutputTag, ...]
    event_time: int | None
    memory_bytes: int
    parameters: dict[str, str] = field(default_factory=dict)
