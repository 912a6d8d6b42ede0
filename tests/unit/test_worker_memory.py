"""Memory of a Python worker."""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keygroups.partition.chunks import ROWS_AT_ONCE, ChunkRows
from keygroups.partition.keys import Key, Keys
from keygroups.partition.lists import FileLists
from keygroups.partition.maps import FileMaps
from keygroups.partition.sealed import Sealed
from keygroups.partition.values import FileValues
from keygroups.segment.chunk import HEADER
from keygroups.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from keygroups.streams.memory import OBJECTS, few_collections

ENTRIES = 16 * ROWS_AT_ONCE + 1
TEXT = 1000
"""Bytes of an entry."""
UNSAFE_KEY = struct.Struct("<qq")


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("given", "meanwhile"), [((700, 10, 10), OBJECTS), ((OBJECTS + 1, 5, 5), OBJECTS + 1), ((0, 10, 10), 0)]
)
def test_collections_are_few_for_a_while(given: tuple[int, int, int], meanwhile: int) -> None:
    """Not more than the worker's user wants, and none where there were none."""
    gc.set_threshold(*given)
    with few_collections():
        assert gc.get_threshold() == (meanwhile, *given[1:])
    assert gc.get_threshold() == given


def texts(count: int) -> list[tuple[str, int]]:
    return [(f"{number:08}" * (TEXT // 8), 0) for number in range(count)]


def keys_of(count: int) -> list[Key]:
    return [Key(UNSAFE_KEY.pack(0, number), number, number) for number in range(count)]


def values_written() -> FileValues:
    table = FileValues(ValueStateDescriptor("state", "string"), Sealed([]), Keys(lambda _: [], lambda values: values))
    for key, text in zip(keys_of(ENTRIES), texts(ENTRIES), strict=True):
        table.write(key, text)
    return table


def lists_written() -> FileLists:
    table = FileLists(ListStateDescriptor("state", "string"), Sealed([]))
    for key, text in zip(keys_of(ENTRIES), texts(ENTRIES), strict=True):
        table.append(key, [text])
    return table


def maps_written() -> FileMaps:
    table = FileMaps(MapStateDescriptor("state", "bigint", "string"), Sealed([]))
    keys = keys_of(100)
    for number, text in enumerate(texts(ENTRIES)):
        table.write(keys[number % len(keys)], number, text)
    return table


@pytest.mark.parametrize("written", [values_written, lists_written, maps_written])
def test_writes_are_not_in_memory_twice(written: Callable[[], FileValues | FileLists | FileMaps]) -> None:
    """While they are encoded, those that are encoded already are forgotten; nor are they joined to be written."""
    values_written().take()  # what is imported by the first call is not counted
    tracemalloc.start()
    try:
        table = written()
        before = tracemalloc.get_traced_memory()[0]
        assert before > ENTRIES * TEXT
        tracemalloc.reset_peak()
        rows = table.take()
        assert len(rows) == ENTRIES
        assert tracemalloc.get_traced_memory()[1] < before + ENTRIES * TEXT / 2
    finally:
        tracemalloc.stop()


def test_a_chunk_is_not_joined_to_be_written(tmp_path: Path) -> None:
    """Its file has the pieces one after another: header, keys, values."""
    rows = values_written().take()
    assert isinstance(rows, ChunkRows)
    tracemalloc.start()
    try:
        chunk = rows.write(tmp_path / "0.chunk")
        assert tracemalloc.get_traced_memory()[1] < ENTRIES * TEXT / 2
    finally:
        tracemalloc.stop()
    assert (chunk.rows, chunk.key_bytes, chunk.value_bytes) == (ENTRIES, ENTRIES * 16, ENTRIES * (16 + TEXT))
    written = (tmp_path / "0.chunk").read_bytes()
    assert written[ENTRIES * HEADER.itemsize :] == b"".join(rows.keys) + b"".join(rows.values)
