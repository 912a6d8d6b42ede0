"""How values and second keys of a state lie in UnsafeRows, and the schemas that Spark's state reader shows."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import types as spark

from keygroups.keyed.forms import is_mutable
from keygroups.keyed.tables import Entry
from keygroups.rows.decode import Bytes, bytes_of, row_decoder
from keygroups.rows.encode import encoder_of_columns, row_encoder
from keygroups.rows.pickled import PickleType
from keygroups.state.descriptors import StateDescriptor

VALUE = "value"
WRITTEN = "written_ms"
"""When the life of a value began."""
WRAPPED = "keygroups.wrapped"
"""Metadata of columns that no user has named."""
PICKLED = "keygroups.pickled"
"""The same of columns whose values are pickled."""
KIND = "keygroups.kind"
"""Metadata of the first column: what the state is, such as ``reducing``. One of another kind has other values."""


@dataclass(frozen=True)
class EntryForm:
    """How entries are stored.

    Attributes:
        schema: Of the rows.
        encode: Gives the UnsafeRow of each entry.
        decode: Gives the entries that lie at places.
        decode_one: Gives the entry of one row. Whole numbers and texts take 1 us here, and 20 us by ``decode``.
    """

    schema: spark.StructType
    encode: Callable[[Sequence[Entry]], list[bytes]]
    decode: Callable[[Bytes], list[Entry]]
    decode_one: Callable[[bytes], Entry]


def entry_form(descriptor: StateDescriptor, *, nullable: bool = False) -> EntryForm:
    """Give the form of a state's values.

    A struct is a row of its own, anything else the column ``value`` of one; so is a struct that may be None or has no
    fields. A time to live adds a column.

    Raises:
        SettingError: The type cannot be stored.
    """
    kind, state = descriptor.type, state_kind(descriptor)
    if descriptor.ttl:
        return _timed(_of_kind(state, _column(VALUE, kind), _column(WRITTEN, spark.LongType())))
    if isinstance(kind, spark.StructType) and kind.fields and not nullable:
        return _struct(_of_kind(state, *kind.fields))
    return _single(_of_kind(state, _column(VALUE, kind)))


def state_kind(descriptor: StateDescriptor) -> str:
    """Give the kind that is stored with a state: a sorted map is stored as a map."""
    return descriptor.kind.removeprefix("sorted ")


def stored_kind(schema: spark.StructType) -> str | None:
    """Give the kind of the state that values were stored for; None if they are older than that it is stored."""
    kind: str | None = schema.fields[0].metadata.get(KIND)
    return kind


def has_same_rows(one: spark.StructType, other: spark.StructType) -> bool:
    """Tell whether rows of one schema are rows of another: nullability and comments do not matter."""
    return is_wrapper(one) == is_wrapper(other) and _form(one) == _form(other)


def name_schema(kind: spark.DataType) -> spark.StructType:
    """Give the schema of the second key of a map."""
    return spark.StructType([spark.StructField("key", kind)])


def is_wrapper(schema: spark.StructType) -> bool:
    """Tell whether rows have a value in a column of ours, rather than a user's columns of the same names."""
    return any(WRAPPED in field.metadata for field in schema.fields)


def stored_schema(text: str) -> spark.StructType:
    """Give the schema of stored values from Spark's JSON of it, in which pickled ones are binary."""
    schema = spark.StructType.fromJson(json.loads(text))
    fields = [_with_type(field, PickleType()) if PICKLED in field.metadata else field for field in schema.fields]
    return spark.StructType(fields)


def _of_kind(state: str, first: spark.StructField, *others: spark.StructField) -> spark.StructType:
    metadata = {**first.metadata, KIND: state}
    return spark.StructType([spark.StructField(first.name, first.dataType, first.nullable, metadata), *others])


def _form(kind: spark.DataType) -> Any:
    """What of a type decides on the bytes of its values, and on what is made of them."""
    match kind:
        case spark.StructType():
            return [(field.name, _form(field.dataType)) for field in kind.fields]
        case spark.ArrayType():
            return "array", _form(kind.elementType)
        case spark.MapType():
            return "map", _form(kind.keyType), _form(kind.valueType)
        case PickleType():
            return PickleType
    return kind


def _with_type(field: spark.StructField, kind: spark.DataType) -> spark.StructField:
    return spark.StructField(field.name, kind, field.nullable, field.metadata)


def _column(name: str, kind: spark.DataType) -> spark.StructField:
    pickled = {PICKLED: True} if isinstance(kind, PickleType) else {}
    return spark.StructField(name, kind, metadata={WRAPPED: True, **pickled})


def _timed(schema: spark.StructType) -> EntryForm:
    decode = row_decoder(schema)

    def decoded(rows: Bytes) -> list[Entry]:
        return list(zip(*decode(rows), strict=True))

    return EntryForm(schema, row_encoder(schema), decoded, _one(decoded))


def _single(schema: spark.StructType) -> EntryForm:
    encode, decode = encoder_of_columns(schema), row_decoder(schema)

    def encoded(entries: Sequence[Entry]) -> list[bytes]:
        return encode([[entry[0] for entry in entries]], len(entries))

    def decoded(rows: Bytes) -> list[Entry]:
        return [(value, 0) for value in decode(rows)[0]]

    one = _QUICK.get(type(schema.fields[0].dataType), _one(decoded))
    return EntryForm(schema, encoded, decoded, one)


def _struct(schema: spark.StructType) -> EntryForm:
    encode, decode, make = row_encoder(schema), row_decoder(schema), spark.Row(*schema.names)

    def decoded(rows: Bytes) -> list[Entry]:
        return [(make(*values), 0) for values in zip(*decode(rows), strict=True)]

    return EntryForm(schema, lambda entries: encode([entry[0] for entry in entries]), decoded, _one(decoded))


def _one(decoded: Callable[[Bytes], list[Entry]]) -> Callable[[bytes], Entry]:
    return lambda row: decoded(bytes_of([row]))[0]


def _long(row: bytes) -> Entry:
    null, value = struct.unpack("<qq", row)
    return (None if null else value), 0


def _text(row: bytes) -> Entry:
    null, place = struct.unpack_from("<qq", row)
    return (None if null else row[16 : 16 + (place & 0xFFFFFFFF)].decode()), 0


_QUICK: Final[dict[type[spark.DataType], Callable[[bytes], Entry]]] = {
    spark.LongType: _long,
    spark.StringType: _text,
}


def copier(kind: spark.DataType, copied: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """Give what copies a value, None where values cannot be changed."""
    return copied if is_mutable(kind) else None
