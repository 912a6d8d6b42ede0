"""States that were stored in another form: a type that has changed, a time to live that was switched on or off.

All rows are rewritten in the batch that meets them, so that a version has one form. Source: Flink's
``TtlAwareSerializerSnapshot``, and the rules by which Spark evolves Avro schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from pyspark.sql import types as spark

from keygroups.keyed.tables import Entry
from keygroups.partition.block_rows import values_of
from keygroups.partition.chunks import ROWS_AT_ONCE, ChunkRows
from keygroups.partition.conversions import conversion
from keygroups.partition.forms import VALUE, WRITTEN, EntryForm, is_wrapper
from keygroups.partition.items import join_items, stored_items
from keygroups.partition.sealed import Sealed
from keygroups.rows.decode import Bytes, row_decoder
from keygroups.segment.arrays import arrow
from keygroups.state.descriptors import StateDescriptor
from keygroups.state.errors import StateError

CHUNK_BYTES: Final = 64 << 20
"""Of keys and values that are rewritten at once."""
Read: TypeAlias = Callable[[Bytes], list[Entry]]


def reader_of(stored: spark.StructType, descriptor: StateDescriptor, now: int) -> Read:
    """Give what reads entries that were stored in another form.

    Args:
        stored: Schema of the stored values.
        descriptor: What the state is.
        now: When the life of values begins that had none.

    Raises:
        StateError: Values of the stored type cannot become values of the state's; it has both types.
    """
    is_wrapped = is_wrapper(stored)
    is_timed = is_wrapped and stored.names == [VALUE, WRITTEN]
    kind = stored.fields[0].dataType if is_wrapped else stored
    convert = conversion(kind, descriptor.type)
    if convert is None:
        raise StateError(
            f"the values of state {descriptor.name!r} cannot become another type",
            expected=kind.simpleString(),
            found=descriptor.type.simpleString(),
            fix="keep the type, or give the state another name",
        )
    decode, begun = row_decoder(stored), now if descriptor.ttl else 0

    def read(rows: Bytes) -> list[Entry]:
        columns = decode(rows)
        values = columns[0] if is_wrapped else list(zip(*columns, strict=True))
        times = columns[1] if is_timed and descriptor.ttl else [begun] * len(values)
        try:
            converted = [None if value is None else convert(value) for value in values]
        except (ValueError, OverflowError) as error:  # such as of bytes that are no text
            raise StateError(
                f"a stored value of state {descriptor.name!r} cannot become another type",
                expected=descriptor.type.simpleString(),
                found=f"{kind.simpleString()}: {error}",
                fix="go back to the type that the state had",
            ) from error
        return list(zip(converted, times, strict=True))

    return read


def rewritten(sealed: Sealed, read: Read, form: EntryForm, *, lists: bool) -> Iterator[ChunkRows]:
    """Give all rows of a family in the form that its state has now, some at a time.

    Args:
        sealed: The rows.
        read: Reads entries as they are stored.
        form: How the state stores them now.
        lists: Whether a row has several entries.
    """
    rows = ChunkRows()
    for block, live in sealed.newest():
        for start in range(0, len(live), ROWS_AT_ONCE):
            at = live[start : start + ROWS_AT_ONCE]
            keys = block.key.take(arrow(at)).to_pylist()
            locators, key_groups = block.locator[at].tolist(), block.key_group[at].tolist()
            if lists:
                found = (stored_items(sealed, one, key, read) for one, key in zip(locators, keys, strict=True))
                values = [join_items(form.encode(items)) for items in found]
            else:
                values = form.encode(read(values_of(block, at)))
            for locator, group, key, value in zip(locators, key_groups, keys, values, strict=True):
                rows.rewrite(locator, group, key, value)
            if rows.nbytes > CHUNK_BYTES:
                yield rows
                rows = ChunkRows()
    yield rows
