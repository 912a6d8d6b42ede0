"""How the types of Spark's schemas lie in an UnsafeRow, and as which Arrow types their values are shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa

from keygroups.decoding import decode

MAX_LONG_DIGITS: Final = 18
"""Decimals of more digits do not fit into the word of a field."""
WIDE_BYTES: Final = 16
"""What a row keeps for a decimal of more digits, however many it has. Source: ``UnsafeRowWriter.write``."""


@dataclass(frozen=True)
class Kind:
    """How values of a type lie in a row.

    Attributes:
        shown: the Arrow type.
        number: numpy's name of the number in the low bytes of a field's word; None if the word is a place and a size.
        is_wide: whether the row keeps ``WIDE_BYTES`` for the value.
    """

    shown: pa.DataType
    number: str | None = None
    is_wide: bool = False


@dataclass(frozen=True)
class Field:
    """A column of a schema.

    Attributes:
        name: in the schema; several may have the same.
        kind: of its values.
    """

    name: str
    kind: Kind


Fields = tuple[Field, ...]

_WORDS: Final = {
    "byte": Kind(pa.int8(), "u1"),
    "short": Kind(pa.int16(), "u2"),
    "integer": Kind(pa.int32(), "u4"),
    "long": Kind(pa.int64(), "u8"),
    "float": Kind(pa.float32(), "u4"),
    "double": Kind(pa.float64(), "u8"),
    "boolean": Kind(pa.bool_(), "u1"),
    "void": Kind(pa.null(), "u8"),
    "date": Kind(pa.date32(), "u4"),
    "timestamp": Kind(pa.timestamp("us", "UTC"), "u8"),
    "timestamp_ntz": Kind(pa.timestamp("us"), "u8"),
}
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(-?\d{1,2})\)")
_BYTES: Final = Kind(pa.binary())
_PATTERNS: Final = (
    (re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?"), Kind(pa.duration("us"), "u8")),
    (re.compile(r"interval (year|month)( to month)?"), Kind(pa.int32(), "u4")),
    (re.compile(r"time\(\d\)"), Kind(pa.time64("ns"), "u8")),
    (re.compile(r"string( collate \S+)?|char\(\d+\)|varchar\(\d+\)"), Kind(pa.utf8())),
    (re.compile(r"binary|variant"), _BYTES),
)


def fields_of(schema: str) -> Fields | None:
    """The columns of a schema, None if rows of it can't be shown as columns.

    Args:
        schema: Spark's JSON.

    Raises:
        ValueError: this is not a schema.
    """
    kinds = [(str(field.get("name", "")), _kind(field.get("type"))) for field in _listed(schema)]
    known = [Field(name, kind) for name, kind in kinds if kind is not None]
    return tuple(known) if len(known) == len(kinds) else None


def _kind(spark: object) -> Kind | None:
    """None for a type whose place in a row is not known."""
    if isinstance(spark, dict):
        return _kind(spark.get("sqlType")) if spark.get("type") == "udt" else _BYTES
    name = str(spark)
    if (digits := _DECIMAL.fullmatch(name)) is not None:
        return _decimal(int(digits[1]), int(digits[2]))
    return _WORDS.get(name) or next((kind for pattern, kind in _PATTERNS if pattern.fullmatch(name)), None)


def _decimal(precision: int, scale: int) -> Kind | None:
    if not 1 <= precision <= 38:
        return None
    shown = pa.decimal128(precision, scale)
    return Kind(shown, "u8") if precision <= MAX_LONG_DIGITS else Kind(shown, is_wide=True)


def _listed(schema: str) -> list[dict[str, Any]]:
    try:
        fields = decode(schema, dict[str, Any]).get("fields")
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"not a schema of Spark ({error}): {schema[:100]}") from error
    if not isinstance(fields, list) or not all(isinstance(field, dict) and "type" in field for field in fields):
        raise ValueError(f"not a schema of Spark: {schema[:100]}")
    return fields
