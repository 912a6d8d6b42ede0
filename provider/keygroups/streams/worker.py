"""A keyed function in a Python worker of a stream.

The node in the shim that runs it is KeyedNode.scala. Its first row has the version in place of a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasFuncMode as Mode

from keygroups.decoding import decode
from keygroups.errors import SettingError
from keygroups.partition.keys import StoredKeys
from keygroups.partition.view import View
from keygroups.state.grouped import Groups
from keygroups.streams.declare import declare, opened
from keygroups.streams.incoming import distinct
from keygroups.streams.rows import open_task, results
from keygroups.streams.spec import Operator


@dataclass(frozen=True)
class StreamingFunction:
    """What Spark pickles, and calls in its workers.

    Args:
        operator: What it runs.
    """

    operator: Operator

    def __call__(self, *given: Any) -> Iterator[Any]:
        """Run over the batches of a partition; or, on the driver before a query begins, declare the states.

        Raises:
            SettingError: Spark's own node calls it: the session runs without our extension.
        """
        if len(given) == 1:
            return self._batches(given[0])
        client, mode = given[:2]
        if mode != Mode.PRE_INIT:
            raise SettingError(
                f"operator {self.operator.uid!r} runs without the provider",
                fix="set spark.sql.extensions and the state store provider as `keygroups conf` prints them",
            )
        operator = self.operator
        declare(client, opened(operator.function, operator.uid, operator.parameters).states)
        return iter(())

    def _batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(batches)
        view = decode(first.column(len(self.operator.columns))[0].as_py(), View)
        with closing(open_task(self.operator, view)) as task:
            rows = chain((first.slice(1),), batches)
            yield from results(self.operator, task, rows, self._keys_of, is_bounded=False)

    def _keys_of(self, batch: pa.RecordBatch) -> tuple[StoredKeys, Groups]:
        """The key and its locator come after the columns of the input."""
        first = len(self.operator.columns)
        return distinct(batch.column(first), batch.column(first + 1))
