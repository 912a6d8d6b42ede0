"""The table of types: which values each takes, what is kept of them, and their Arrow type.

States, single and by batch, outputs and arguments all follow it: a value that one of them takes is taken by all, and is
kept as the same. ``docs/keyed/types.md`` shows it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.rows.pickled import PickleType
from keygroups.state import nested, scalars
from keygroups.state.errors import StateError
from keygroups.state.misfit import MisfitError
from keygroups.state.scalars import Take, Wrong

NUMPY_INTEGERS: Final = tuple(np.dtype(code).type for code in "bhilqBHILQ")


@dataclass(frozen=True)
class Rule:
    """How values of a type are taken.

    Attributes:
        make: Gives what takes one value.
        arrow: The Arrow type, or what gives it.
        exact: Python types whose values Arrow takes as they are; others are looked at one by one.
        takes: What is taken, for messages and the documentation.
        gives: What a state gives.
        refuses: What looks like one of its values and is not.
    """

    make: Callable[[Any, Wrong], Take]
    arrow: pa.DataType | Callable[[Any], pa.DataType]
    exact: tuple[type, ...]
    takes: str
    gives: str
    refuses: str


def rule_of(kind: spark.DataType) -> Rule:
    """Return the rule of a type. Raises StateError if there is none."""
    for known, rule in RULES.items():
        if isinstance(kind, known):
            return rule
    raise StateError(
        f"Python has no values of the type {kind.simpleString()}",
        fix="use another type, such as a string, binary or a number",
    )


def taker(kind: spark.DataType) -> Take:
    """Return what takes values of a type. Raises StateError if a part of it has no rule."""
    rule = rule_of(kind)
    return rule.make(kind, lambda value: MisfitError(kind, value, f"give {rule.takes}"))


def exact_types(kind: spark.DataType) -> frozenset[type]:
    """Return the Python types whose values Arrow takes as they are, and that of None."""
    return frozenset((*rule_of(kind).exact, type(None)))


def arrow_type(kind: spark.DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type. Raises StateError if there is none."""
    arrow = rule_of(kind).arrow
    return arrow(kind) if callable(arrow) else arrow


def _no_arrow(_kind: spark.DataType) -> pa.DataType:
    raise StateError("pickled values are no Arrow values", fix="use the methods of one key, in `for key in keys`")


def _whole(arrow: pa.DataType) -> Rule:
    return Rule(
        scalars.whole,
        arrow,
        (int, *NUMPY_INTEGERS),
        takes="an int, or a whole number of numpy",
        gives="int",
        refuses="a bool, a float, a Decimal, a number out of range",
    )


def _real(arrow: pa.DataType) -> Rule:
    return Rule(
        scalars.real,
        arrow,
        (float, int, np.float64, np.float32),
        takes="a float or a number of numpy, or an int that the type holds exactly",
        gives="float",
        refuses="a bool, a Decimal, an int with more digits, a float beyond the type",
    )


RULES: Final[dict[type[spark.DataType], Rule]] = {
    PickleType: Rule(
        scalars.pickled,
        _no_arrow,
        (),
        takes="an object that can be pickled",
        gives="a copy of the object",
        refuses="a connection, a lock",
    ),
    spark.BooleanType: Rule(
        scalars.boolean,
        pa.bool_(),
        (bool, np.bool_),
        takes="True or False, or a boolean of numpy",
        gives="bool",
        refuses="0 and 1, a text",
    ),
    spark.ByteType: _whole(pa.int8()),
    spark.ShortType: _whole(pa.int16()),
    spark.IntegerType: _whole(pa.int32()),
    spark.LongType: _whole(pa.int64()),
    spark.FloatType: _real(pa.float32()),
    spark.DoubleType: _real(pa.float64()),
    spark.DecimalType: Rule(
        scalars.decimal,
        lambda kind: pa.decimal128(kind.precision, kind.scale),
        (Decimal, int),
        takes="a Decimal or a whole number, with no more digits than the type",
        gives="Decimal",
        refuses="a bool, a float, a value that would be rounded",
    ),
    spark.StringType: Rule(
        scalars.text,
        pa.string(),
        (str,),
        takes="a str, also of a subclass such as an Enum",
        gives="str",
        refuses="bytes, a number",
    ),
    spark.BinaryType: Rule(
        scalars.data,
        pa.binary(),
        (bytes, bytearray),
        takes="bytes, a bytearray or a memoryview",
        gives="bytes",
        refuses="a text",
    ),
    spark.DateType: Rule(
        scalars.date,
        pa.date32(),
        (dt.date,),
        takes="a date, or a datetime64[D] of numpy",
        gives="date",
        refuses="a datetime",
    ),
    spark.TimestampType: Rule(
        scalars.instant,
        pa.timestamp("us", "UTC"),
        (dt.datetime,),
        takes="a datetime, which is local if it has no zone, or a datetime64 of numpy",
        gives="a datetime in local time, without a zone",
        refuses="a date, a number, parts of a microsecond",
    ),
    spark.TimestampNTZType: Rule(
        scalars.local,
        pa.timestamp("us"),
        (dt.datetime,),
        takes="a datetime without a zone, or a datetime64 of numpy",
        gives="a datetime without a zone",
        refuses="a datetime with a zone, a date, parts of a microsecond",
    ),
    spark.DayTimeIntervalType: Rule(
        scalars.interval,
        pa.duration("us"),
        (dt.timedelta,),
        takes="a timedelta, or a timedelta64 of numpy",
        gives="timedelta",
        refuses="a number, more than 106,751,991 days",
    ),
    spark.NullType: Rule(scalars.nothing, pa.null(), (), takes="None", gives="None", refuses="a value"),
    spark.ArrayType: Rule(
        lambda kind, wrong: nested.sequence(kind, wrong, taker),
        lambda kind: pa.list_(arrow_type(kind.elementType)),
        (list, tuple),
        takes="a list, a tuple or an array of numpy",
        gives="list",
        refuses="a text, a set, an iterator",
    ),
    spark.MapType: Rule(
        lambda kind, wrong: nested.mapping(kind, wrong, taker),
        lambda kind: pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType)),
        (dict,),
        takes="a dict or another mapping",
        gives="dict",
        refuses="a list of pairs, None for a key",
    ),
    spark.StructType: Rule(
        lambda kind, wrong: nested.struct(kind, wrong, taker),
        lambda kind: pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in kind.fields]),
        (),
        takes="a Row, a named tuple or a dict with names of its fields, or a tuple with a value for each field",
        gives="Row",
        refuses="a name that it does not have, another number of values",
    ),
}
"""By Spark's type, a subclass before its parent."""
