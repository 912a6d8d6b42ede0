"""The layout of a column family's UnsafeRows, derived from the schemas in the catalog."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from keygroups.checkpoint.catalog import Family
from keygroups.decoding import decode

_VARIABLE = re.compile(
    r"(string|char|varchar|geometry|geography).*|binary|variant|interval|decimal\((19|[23]\d),-?\d+\)"
)
"""Types of columns whose word is an offset and a size; ``interval`` without a unit is Spark's calendar interval."""
_WIDTHS = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4}


@dataclass(frozen=True)
class RowShape:
    """The position of an UnsafeRow in a stored key or value, and its columns of variable length.

    Attributes:
        fields: number of columns.
        variable: columns whose word is an offset and a size.
        head: bytes before the row.
        tail: bytes after it.
    """

    fields: int
    variable: tuple[int, ...]
    head: int = 0
    tail: int = 0

    @property
    def bits(self) -> int:
        """Number of 8-byte words of null bits."""
        return (self.fields + 63) // 64

    @property
    def fixed(self) -> int:
        """Bytes of the null bits and of one word per column: no row is shorter."""
        return 8 * (self.bits + self.fields)


def key_shape(family: Family) -> RowShape:
    """The shape of stored keys. Raises ValueError if the catalog does not define it."""
    columns = _columns(family.key_schema)
    encoder = _json(family.encoder)
    kind = str(encoder.get("keyStateEncoderType", ""))
    if kind.startswith("RangeKeyScan"):
        return _shape(columns, head=_encoded(columns, encoder.get("orderingOrdinals")))
    if kind.startswith("TimestampAsPrefix"):
        return _shape(columns, head=_encoded(columns, [len(columns) - 1]))
    if kind.startswith("TimestampAsPostfix"):
        return _shape(columns[:-1], tail=8)
    return _shape(columns)


def value_shape(family: Family) -> RowShape:
    """The shape of a value, or of each value of a list. Raises as ``key_shape``."""
    return _shape(_columns(family.value_schema))


def _shape(columns: list[Any], *, head: int = 0, tail: int = 0) -> RowShape:
    return RowShape(len(columns), tuple(i for i, kind in enumerate(columns) if _is_variable(kind)), head, tail)


def _encoded(columns: list[Any], ordinals: object) -> int:
    """Bytes of the ordering columns before a key: a marker and the value of each, padded to a multiple of 8."""
    if not isinstance(ordinals, list) or not all(isinstance(i, int) and 0 <= i < len(columns) for i in ordinals):
        raise ValueError(f"ordering columns {ordinals} of {len(columns)}")
    used = sum(1 + _WIDTHS.get(columns[i] if isinstance(columns[i], str) else "", 8) for i in ordinals)
    return -(-used // 8) * 8


def _is_variable(kind: object) -> bool:
    """Whether a column's word is the offset and size of its value."""
    if isinstance(kind, dict):
        return _is_variable(kind.get("sqlType")) if kind.get("type") == "udt" else True
    return _VARIABLE.fullmatch(str(kind)) is not None


def _columns(schema: str) -> list[Any]:
    """The types of a schema's columns, as in Spark's JSON."""
    fields = _json(schema).get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) and "type" in field for field in fields):
        raise ValueError(f"not a schema of Spark: {schema[:100]}")
    return [field["type"] for field in fields]


def _json(text: str) -> dict[str, Any]:
    try:
        return decode(text, dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"not a JSON object ({error}): {text[:100]}") from error
