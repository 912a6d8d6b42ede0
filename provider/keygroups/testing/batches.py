"""Batches of a harness: their keys, and what a function gives for them as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from keygroups.keyed.forms import frozen
from keygroups.keyed.operator import Output, tagged
from keygroups.keyed.scope import Scope
from keygroups.state.arrow import inferred, values_of
from keygroups.state.batch_keys import BatchKeys

KEY = "key"
"""The column of a key that a callable gave."""


def batch_keys(keys: Sequence[Any], names: Sequence[str], scope: Scope) -> BatchKeys:
    """Give the keys of a batch. Tables in memory know them by themselves.

    Args:
        keys: That of each row.
        names: Columns of a key; empty if a callable gave it.
        scope: Has the current key.
    """
    found: dict[Any, tuple[int, Any]] = {}
    groups = [found.setdefault(frozen(key), (len(found), key))[0] for key in keys]
    ordered = [key for _, key in found.values()]

    def one_by_one() -> Iterator[Any]:
        before = scope.key
        try:
            for key in ordered:
                scope.key = key
                yield key
        finally:
            scope.key = before

    return BatchKeys(len(ordered), np.array(groups, np.int64), lambda: _columns(ordered, names), one_by_one, ordered)


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


def _columns(keys: Sequence[Any], names: Sequence[str]) -> dict[str, pa.Array]:
    if len(names) == 1 or not isinstance(keys[0], Row):
        return {names[0] if names else KEY: inferred(keys)}
    return {name: inferred([key[name] for key in keys]) for name in keys[0].__fields__}
