"""UnsafeRows of a checkpoint, checked by the schemas of its catalog."""

from __future__ import annotations

import struct
from contextlib import suppress

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.fuzz.samples import CATALOG, column, contents, encoder, listed, schema
from campaigns.fuzz.unsafe import packed as row
from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.row_check import RowCheck
from keygroups.segment.block import Block

LONG, TEXT = schema("long"), schema("string")


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [
        (Family(0, "f", LONG, LONG, encoder("NoPrefixKey")), row(1)[:8], row(1)),
        (Family(0, "f", LONG, LONG, encoder("NoPrefixKey")), row(1) + b"1", row(1)),
        (Family(0, "f", LONG, LONG, encoder("NoPrefixKey")), row(1), b""),
        (Family(0, "f", TEXT, LONG, encoder("NoPrefixKey")), row(2**40), row(1)),
        (Family(0, "f", LONG, TEXT, encoder("NoPrefixKey")), row(1), row(16 << 32 | 9) + bytes(8)),
        (Family(0, "f", LONG, TEXT, encoder("NoPrefixKey")), row(1), row(8 << 32 | 1) + bytes(8)),
        (Family(0, "f", LONG, TEXT, encoder("NoPrefixKey")), row(1), row(0xFFFFFFFF << 32 | 0xFFFFFFFF)),
        (Family(0, "f", LONG, TEXT, encoder("NoPrefixKey"), lists=True), row(1), row("x")),
        (Family(0, "f", LONG, TEXT, encoder("NoPrefixKey"), lists=True), row(1), listed(row("x"))[:-8]),
        (Family(0, "f", LONG, TEXT, encoder("NoPrefixKey"), lists=True), row(1), listed(row("x"), row(1))),
        (Family(0, "f", LONG, LONG, encoder("NoPrefixKey"), lists=True), row(1), struct.pack("<q", -8) + row(1)),
        (Family(0, "f", LONG, LONG, encoder("RangeKeyScan", orderingOrdinals=[0])), row(1), row(1)),
        (Family(0, "f", LONG, LONG, encoder("RangeKeyScan", orderingOrdinals=[1])), bytes(16) + row(1), row(1)),
        (Family(0, "f", LONG, LONG, encoder("TimestampAsPrefixKey")), row(1), row(1)),
        (Family(0, "f", schema("string", "long"), LONG, encoder("TimestampAsPostfixKey")), row(1), row(1)),
        (Family(0, "f", "{}", LONG, encoder("NoPrefixKey")), row(1), row(1)),
        (Family(0, "f", LONG, "[" * 10_000, encoder("NoPrefixKey")), row(1), row(1)),
        (Family(0, "f", LONG, schema("decimal(38,2)"), encoder("NoPrefixKey")), row(1), row(2**40)),
        (Family(1, "f", LONG, LONG, encoder("NoPrefixKey")), row(1), row(1)),
    ],
)
@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("is_fixed", [False, True])
def test_rows_that_point_outside_of_themselves_are_refused(
    family: Family, key: bytes, value: bytes, count: int, is_fixed: bool
) -> None:
    """Spark would read what lies beside them in memory."""
    n = np.arange(count, dtype=np.uint64)
    keys, values = column([key] * count), column([value] * count)
    if not is_fixed:
        keys, values = keys.cast(pa.binary()), values.cast(pa.binary())
    rows = Block(n, n.astype(np.int32), keys, values, family.id)
    if family.id == 0:
        with pytest.raises(ValueError, match=r"row|list|ordering|JSON|schema"):
            RowCheck(Catalog((family,), 1))(rows)
    else:
        with pytest.raises(ValueError, match="column family 1, but only numbers below 1"):
            RowCheck(Catalog((), 1))(rows)


def test_the_width_of_removed_rows_does_not_matter() -> None:
    """A column without any row has the width that it was padded to."""
    one = np.zeros(1, np.uint64)
    family = Family(0, "f", LONG, LONG, encoder("NoPrefixKey"))
    check = RowCheck(Catalog((family,), 1))
    check(Block(one, one.astype(np.int32), column([row(1)]), pa.nulls(1, pa.binary(8))))
    with pytest.raises(ValueError, match="a row of 8 bytes where its 1 columns take 16"):
        check(Block(one, one.astype(np.int32), column([row(1)]), pa.array([bytes(8)], pa.binary(8))))


def test_good_rows_pass() -> None:
    """Of each family, with tombstones, and with nulls whose word is anything."""
    for rows in contents():
        for part in rows:
            RowCheck(CATALOG)(part)
    null = struct.pack("<QQ", 1, 2**64 - 1)
    one = np.zeros(1, np.uint64)
    family = Family(0, "f", TEXT, TEXT, encoder("NoPrefixKey"))
    RowCheck(Catalog((family,), 1))(Block(one, one.astype(np.int32), column([null]), column([null])))
    avro = msgspec.structs.replace(family, encoding="avro")
    RowCheck(Catalog((avro,), 1))(Block(one, one.astype(np.int32), column([row("x")]), column([b"avro"])))


WORDS = (
    st.integers(0, 2**64 - 1)
    | st.sampled_from([0, 1, 8, 16, 24, 32])
    | st.builds(lambda at, size: at << 32 | size, st.integers(0, 48), st.integers(0, 48))
)
ROWS = st.lists(WORDS, max_size=6).map(lambda words: struct.pack(f"<{len(words)}Q", *words))


def is_good(data: bytes) -> bool:
    """Whether Spark reads a row of a text, a long and a text without leaving it."""
    if len(data) < 32:
        return False
    nulls, *words = struct.unpack_from("<4Q", data)
    shown = [word for i, word in enumerate(words) if i != 1 and not nulls >> i & 1]
    return all(word >> 32 >= 32 and (word >> 32) + (word & 0xFFFFFFFF) <= len(data) for word in shown)


def are_good(data: bytes) -> bool:
    """The same of a list of them."""
    at = 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        if at + 8 + size > len(data) or size % 8 or not is_good(data[at + 8 : at + 8 + size]):
            return False
        at += 8 + size
    return True


@given(
    rows=st.lists(
        st.none() | ROWS | st.lists(ROWS, max_size=4).map(lambda rows: listed(*rows)), min_size=1, max_size=6
    ),
    lists=st.booleans(),
    times=st.sampled_from([1, 20]),
)
def test_rows_pass_that_can_be_read(rows: list[bytes | None], lists: bool, times: int) -> None:
    """As code that looks at one row after another finds it."""
    values = rows * times
    family = Family(0, "f", LONG, schema("string", "long", "string"), encoder("NoPrefixKey"), lists=lists)
    n = np.arange(len(values), dtype=np.uint64)
    block = Block(n, n.astype(np.int32), column([row(1)] * len(values)), column(values))
    passes = False
    with suppress(ValueError):
        RowCheck(Catalog((family,), 1))(block)
        passes = True
    assert passes == all(value is None or (are_good if lists else is_good)(value) for value in values)
