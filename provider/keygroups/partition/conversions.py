"""Which types stored values can become, and how. The pairs are in ``conversions.json``, which the JVM reads too.

They are those that Spark's schema evolution takes and that keep the meaning of a value: Avro would read a date as a
number of microseconds. A number of floating point has the digits that it has room for, as in Avro.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from pkgutil import get_data
from typing import Any, Final, TypeAlias

from pyspark.sql import types as spark

from keygroups.decoding import decode
from keygroups.rows.pickled import PickleType
from keygroups.rows.times import BeyondDate, BeyondTime

Convert: TypeAlias = Callable[[Any], Any]

MICROS_OF_DAY: Final = 86_400_000_000
PAIRS: Final[dict[str, list[str]]] = decode(get_data("keygroups", "conversions.json") or b"", dict[str, list[str]])
"""For each type those that its values can become."""


def conversion(old: spark.DataType, new: spark.DataType) -> Convert | None:
    """Return what turns a value of one type into one of another; None if nothing does."""
    if isinstance(old, spark.StructType) and isinstance(new, spark.StructType):
        return _struct(old, new)
    if isinstance(old, spark.ArrayType) and isinstance(new, spark.ArrayType):
        element = conversion(old.elementType, new.elementType)
        return element and (lambda values: [None if value is None else element(value) for value in values])
    if isinstance(old, spark.MapType) and isinstance(new, spark.MapType):
        return _map(old, new)
    if isinstance(old, PickleType) or isinstance(new, PickleType):
        return _same if type(old) is type(new) else None
    names = _name(old), _name(new)
    if names[0] == names[1]:
        return _same
    return _TO.get(type(new), _same) if names[1] in PAIRS.get(names[0], ()) else None


def _name(kind: spark.DataType) -> str:
    """The type as DDL has it. Texts of any collation have the same bytes, and so have intervals of any units."""
    same_bytes = (spark.StringType, spark.DayTimeIntervalType)
    return kind.typeName() if isinstance(kind, same_bytes) else kind.simpleString()


def _struct(old: spark.StructType, new: spark.StructType) -> Convert | None:
    places = {name: i for i, name in enumerate(old.names)}
    parts: list[tuple[int, Convert] | None] = []
    for field in new.fields:
        if field.name not in places:
            if not field.nullable:
                return None
            parts.append(None)
            continue
        convert = conversion(old.fields[places[field.name]].dataType, field.dataType)
        if convert is None:
            return None
        parts.append((places[field.name], convert))
    make = spark.Row(*new.names)

    def converted(row: Any) -> Any:
        return make(*(None if p is None or row[p[0]] is None else p[1](row[p[0]]) for p in parts))

    return converted


def _map(old: spark.MapType, new: spark.MapType) -> Convert | None:
    key, value = conversion(old.keyType, new.keyType), conversion(old.valueType, new.valueType)
    if key is None or value is None:
        return None
    return lambda entries: {key(k): None if v is None else value(v) for k, v in entries.items()}


def _same(value: Any) -> Any:
    return value


def _single(value: float) -> float:
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return float(rounded)


def _midnight(value: Any) -> Any:
    if isinstance(value, BeyondDate):
        return BeyondTime(value.number * MICROS_OF_DAY)
    return dt.datetime.combine(value, dt.time())


_TO: Final[dict[type[spark.DataType], Convert]] = {
    spark.FloatType: _single,
    spark.DoubleType: float,
    spark.TimestampType: _midnight,
    spark.TimestampNTZType: _midnight,
    spark.StringType: lambda value: value.decode(),
    spark.BinaryType: str.encode,
}
"""What makes a value of a type from one of another; whole numbers stay as they are."""
