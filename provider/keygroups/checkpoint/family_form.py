"""Rows of a column family as record batches of a checkpoint file, and back.

Of each row the key group, the key and the value, the last two as structs of the columns that Spark's schemas define.
What follows from these is not stored: locators, and how Spark lays out rows. A key or value that would not give the
same bytes again is stored as bytes, and so are lists and Spark's own encodings of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.columns.kinds import fields_of
from keygroups.columns.rows import columns_type, to_columns, to_rows
from keygroups.columns.slots import placed
from keygroups.columns.stored_keys import KeyForm
from keygroups.segment.arrays import arrow, numpy
from keygroups.segment.block import Block, Locators

ROW_ENCODING = "unsaferow"
MOST_NULL_COLUMNS: Final = 64
"""Of tombstones: in columns, 50,000 removals of 300 longs took 16 MB and 2.1 s, as bytes that are null 0.1 MB."""
FORMS_IN_MEMORY: Final = 256
"""Those of the families in use. Reading their schemas takes 50 us or more, for each file of a commit."""


class FamilyForm:
    """The form of a family's rows in files. It never changes, so threads may share it.

    Args:
        family: as the catalog of a file describes it; the number of keys does not matter.

    Raises:
        ValueError: the catalog does not define it.
    """

    def __init__(self, family: Family) -> None:
        self._family = family.id
        self._keys = KeyForm.of(family.key_schema, family.encoder)
        has_rows = family.encoding == ROW_ENCODING and not family.lists
        self._values = fields_of(family.value_schema) if has_rows else None
        wanted = {"key_group": [pa.uint16()], "locator": [pa.uint64()], "key": [pa.binary()], "value": [pa.binary()]}
        self._wanted = wanted | {"appended": [pa.bool_()], "written": [pa.uint32()]}
        self._wanted["key"] += [columns_type(self._keys.fields)] if self._keys.fields is not None else []
        self._wanted["value"] += [columns_type(self._values)] if self._values is not None else []

    def batch(self, block: Block, *, numbered: bool = False) -> pa.RecordBatch:
        """A block as it is stored.

        Args:
            block: rows of the family.
            numbered: whether the locators are the numbers of the rows in their file, as in a changelog.
        """
        key = self._keys.to_columns(block.key)
        value = None
        if self._values is not None and not self._is_wide_removal(block):
            value = to_columns(block.value, self._values)
        columns = {"key_group": arrow(block.key_group)}
        if not numbered and not self._has_locators(block, in_columns=key is not None):
            columns["locator"] = arrow(block.locator)
        columns["key"] = _as_bytes(block.key) if key is None else key
        columns["value"] = _as_bytes(block.value) if value is None else value
        if block.appended is not None:
            columns["appended"] = block.appended
        if block.written is not None:
            columns["written"] = arrow(block.written)
        fields = [pa.field(name, column.type, nullable=name == "value") for name, column in columns.items()]
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))

    def block(self, batch: pa.RecordBatch, first: int | None = None) -> Block:
        """The rows of a batch whose schema has passed ``check``.

        Args:
            batch: with rows.
            first: of a changelog, the number of the first row.

        Raises:
            ValueError: a column has nulls that it may not have, or keys have no locators.
        """
        for column, field in zip(batch.columns, batch.schema, strict=True):
            if column.null_count and not field.nullable:
                raise ValueError(f"column {field.name} has {column.null_count} nulls")
        names = batch.schema.names
        key, value, groups = batch.column("key"), batch.column("value"), numpy(batch.column("key_group"))
        key = self._keys.to_keys(key) if pa.types.is_struct(key.type) else key
        value = to_rows(value, self._values or ()) if pa.types.is_struct(value.type) else value
        if first is not None:
            locator: Locators | None = np.arange(first, first + len(batch), dtype=np.uint64)
        else:
            locator = numpy(batch.column("locator")) if "locator" in names else self._keys.locators(key, groups)
        if locator is None:
            raise ValueError("rows without locators")
        return Block(
            locator,
            groups,
            key,
            value,
            self._family,
            batch.column("appended") if "appended" in names else None,
            numpy(batch.column("written")) if "written" in names else None,
        )

    def check(self, schema: pa.Schema) -> None:
        """Raise ValueError unless the columns are those of the family, in their order and of their types."""
        optional = [name for name in ("locator", "appended", "written") if name not in schema.names]
        if schema.names != [name for name in self._wanted if name not in optional]:
            raise ValueError(f"columns {', '.join(schema.names[:16])}")
        for field in schema:
            if field.nullable != (field.name == "value") or not any(
                _is(field.type, kind) for kind in self._wanted[field.name]
            ):
                raise ValueError(f"a column of another type: {str(field)[:500]}")

    def begins_with_groups(self, schema: pa.Schema) -> bool:
        """Whether locators in a file of this schema begin with the key group: one that is stored may be any number."""
        return self._keys.order != "ordered" and "locator" not in schema.names

    def _is_wide_removal(self, block: Block) -> bool:
        """Whether the block has nothing but tombstones, of rows with many columns."""
        return len(self._values or ()) > MOST_NULL_COLUMNS and block.value.null_count == len(block)

    def _has_locators(self, block: Block, *, in_columns: bool) -> bool:
        """Whether the locators follow from the keys: judged by the first row and the last.

        Those of a prefix follow from its columns alone, which keys in bytes may have in other bytes.
        """
        if self._keys.order == "prefixed" and not in_columns:
            return False
        ends = [0, len(block) - 1]
        try:
            placed(block.key)
            keys = pa.concat_arrays([block.key.slice(end, 1) for end in ends])
            found = self._keys.locators(keys, block.key_group[ends])
        except ValueError:
            return False
        return found is not None and bool((found == block.locator[ends]).all())


class Forms:
    """The forms of the families of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._families = {family.id: family for family in catalog.families}
        self._known: dict[int, FamilyForm] = {}

    def of(self, family: int) -> FamilyForm:
        """The form of a family. Raises ValueError if the catalog does not have it."""
        if family not in self._known:
            if family not in self._families:
                raise ValueError(f"rows of column family {family}, which the file's catalog does not have")
            self._known[family] = _form(msgspec.structs.replace(self._families[family], num_keys=0))
        return self._known[family]


@lru_cache(FORMS_IN_MEMORY)
def _form(family: Family) -> FamilyForm:
    return FamilyForm(family)


def _as_bytes(column: pa.Array) -> pa.BinaryArray:
    return column if pa.types.is_binary(column.type) else pc.cast(column, pa.binary())


def _is(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a type is the wanted one, where texts may be bytes."""
    if not pa.types.is_struct(wanted):
        return bool(found == wanted)
    if not pa.types.is_struct(found) or found.num_fields != wanted.num_fields:
        return False
    return all(a.name == b.name and a.nullable and a.type in _alike(b.type) for a, b in _pairs(found, wanted))


def _pairs(found: pa.StructType, wanted: pa.StructType) -> Iterator[tuple[pa.Field, pa.Field]]:
    return ((found.field(i), wanted.field(i)) for i in range(found.num_fields))


def _alike(kind: pa.DataType) -> tuple[pa.DataType, ...]:
    return (kind, pa.binary()) if pa.types.is_string(kind) else (kind,)
