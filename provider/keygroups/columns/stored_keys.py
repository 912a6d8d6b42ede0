"""Stored keys as columns and back, and the locators that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keygroups.columns.hashes import xxh64
from keygroups.columns.kinds import Fields, fields_of
from keygroups.columns.ordering import encoded, width_of
from keygroups.columns.rows import columns_type, to_columns, to_rows
from keygroups.columns.slots import WORD, Words, beside, inner, join, placed, split
from keygroups.decoding import decode

KeyGroups = npt.NDArray[np.uint16]

_TIME: Final = WORD
_SIGN: Final = np.uint64(1 << 63)


@dataclass(frozen=True)
class KeyForm:
    """How the keys of a column family are stored.

    Attributes:
        order: ``hashed``: the key's row. ``prefixed``: the same; rows of a prefix lie together. ``ordered``: the bytes
            that some columns sort by, then the row. ``timed``: the row of all columns but the last, then the last, a
            timestamp, in bytes that sort as it does.
        fields: of the key; None if rows of it can't be shown as columns.
        prefix: of a ``prefixed`` key, its leading columns that are the prefix.
        ordinals: of an ``ordered`` or ``timed`` key, the columns.
    """

    order: Literal["hashed", "prefixed", "ordered", "timed"]
    fields: Fields | None
    prefix: int = 0
    ordinals: tuple[int, ...] = ()

    @staticmethod
    def of(key_schema: str, encoder: str) -> KeyForm:
        """The form that Spark's schema and KeyStateEncoderSpec, both JSON, define. Raises ValueError."""
        fields = fields_of(key_schema)
        try:
            declared = decode(encoder, _Encoder)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"not an encoder of Spark ({error}): {encoder[:100]}") from error
        kind, last = declared.keyStateEncoderType, len(fields or ()) - 1
        if kind.startswith("PrefixKeyScan"):
            fits = fields is not None and 0 <= declared.numColsPrefixKey <= len(fields)
            return KeyForm("prefixed", fields if fits else None, declared.numColsPrefixKey)
        if kind.startswith("RangeKeyScan"):
            return _sorted("ordered", fields, declared.orderingOrdinals)
        if kind.startswith("TimestampAsPrefix"):
            return _sorted("ordered", fields, (last,))
        if kind.startswith("TimestampAsPostfix"):
            return _sorted("timed", fields, (last,))
        return KeyForm("hashed", fields)

    def to_columns(self, keys: pa.Array) -> pa.StructArray | None:
        """Keys as a column of structs, None if it would not give the same bytes again."""
        if self.fields is None:
            return None
        try:
            columns = self._columns(keys, self.fields)
            same = columns is not None and (self.order in _PLAIN or _equal(keys, self.to_keys(columns)))
        except ValueError:
            return None
        return columns if same else None

    def to_keys(self, columns: pa.StructArray) -> pa.Array:
        """The stored keys of such a column."""
        fields = self.fields or ()
        if self.order == "timed":
            *others, last = columns.flatten()
            rows = to_rows(_struct(others, fields[:-1], len(columns)), fields[:-1])
            time = np.frombuffer(last.buffers()[1], np.uint64, len(last), last.offset * WORD) ^ _SIGN
            return beside(rows, time.astype(">u8").view(np.uint64).reshape(-1, 1), after=True)
        rows = to_rows(columns, fields)
        if self.order == "ordered":
            head = encoded(split(rows, fields), fields, self.ordinals)
            return beside(rows, head.view(np.uint64), after=False)
        return rows

    def locators(self, keys: pa.Array, key_groups: KeyGroups) -> Words | None:
        """Where rows lie: see ``keygroups.segment.block``. None if it does not follow from keys of this form."""
        if self.order == "ordered":
            return placed(keys).word(0).byteswap() >> np.uint64(1)
        if self.order == "prefixed":
            if self.fields is None:
                return None
            first = self.fields[: self.prefix]
            keys = join(len(keys), first, split(keys, self.fields)[: self.prefix])
        elif self.order == "timed":
            keys = inner(keys, 0, _TIME)
        return key_groups.astype(np.uint64) << np.uint64(48) | xxh64(keys) >> np.uint64(16)

    def _columns(self, keys: pa.Array, fields: Fields) -> pa.StructArray | None:
        if self.order == "ordered":
            head = width_of([fields[ordinal].kind for ordinal in self.ordinals])
            return to_columns(inner(keys, head, 0), fields)
        if self.order != "timed":
            return to_columns(keys, fields)
        rows = to_columns(inner(keys, 0, _TIME), fields[:-1])
        if rows is None:
            return None
        where = placed(keys)
        time = where.words[where.starts + where.sizes - 1].byteswap() ^ _SIGN
        last = pa.Array.from_buffers(fields[-1].kind.shown, len(keys), [None, pa.py_buffer(time)])
        return _struct([*rows.flatten(), last], fields, len(keys))


class _Encoder(msgspec.Struct):
    """Spark's names."""

    keyStateEncoderType: str = ""  # noqa: N815
    numColsPrefixKey: int = 0  # noqa: N815
    orderingOrdinals: tuple[int, ...] = ()  # noqa: N815


_PLAIN: Final = ("hashed", "prefixed")


def _sorted(order: Literal["ordered", "timed"], fields: Fields | None, ordinals: tuple[int, ...]) -> KeyForm:
    """A form of keys that some columns sort; keys of others are not shown as columns."""
    numbers = {number: field.kind.number for number, field in enumerate(fields or ())}
    fits = bool(ordinals) and len(set(ordinals)) == len(ordinals) and all(map(numbers.get, ordinals))
    fits = fits and (order != "timed" or numbers[ordinals[0]] == "u8")
    return KeyForm(order, fields if fits else None, ordinals=ordinals)


def _struct(values: Sequence[pa.Array], fields: Fields, length: int) -> pa.StructArray:
    names = [field.name for field in columns_type(fields)]
    kind = pa.struct([pa.field(name, part.type) for name, part in zip(names, values, strict=True)])
    return pa.Array.from_buffers(kind, length, [None], 0, 0, list(values))


def _equal(keys: pa.Array, others: pa.Array) -> bool:
    return bool(keys.cast(pa.binary()).equals(others.cast(pa.binary())))
