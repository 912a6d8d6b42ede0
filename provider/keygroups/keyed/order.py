"""The order of the keys of a sorted map."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyspark.sql import types as spark

from keygroups.rows.times import TIMES, number_of


def order_of(kind: spark.DataType) -> Callable[[Any], Any]:
    """Give what sorts values of a type: None first, NaN after all other numbers, texts by their code points.

    Of the two instants of one local time, where clocks go back, the earlier one comes first.
    """
    if isinstance(kind, spark.StructType):
        fields = [order_of(field.dataType) for field in kind.fields]
        return lambda value: _nulls_first(value, lambda row: tuple(f(v) for f, v in zip(fields, row, strict=True)))
    if isinstance(kind, spark.FloatType | spark.DoubleType):
        return lambda value: _nulls_first(
            value, lambda number: (math.isnan(number), 0.0 if math.isnan(number) else number)
        )
    if isinstance(kind, spark.BinaryType):
        return lambda value: _nulls_first(value, bytes)
    if isinstance(kind, TIMES):
        number = number_of(kind)
        return lambda value: _nulls_first(value, number)
    return lambda value: _nulls_first(value, lambda same: same)


def _nulls_first(value: Any, order: Callable[[Any], Any]) -> tuple[bool, Any]:
    return (False, None) if value is None else (True, order(value))
