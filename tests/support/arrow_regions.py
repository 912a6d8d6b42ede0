"""What the bytes of an Arrow IPC file are, so that tests can damage each part."""

from __future__ import annotations

import struct
from typing import NamedTuple

from keygroups.segment.flatbuffer import I64, U8, Table


class Region(NamedTuple):
    """Bytes ``start`` to ``stop`` (exclusive) of a file."""

    name: str
    start: int
    stop: int


def regions(data: bytes) -> list[Region]:
    """The regions of a whole file, in its order, without empty ones and padding."""
    found, at = [Region("magic", 0, 8)], 8
    number = 0
    while (size := struct.unpack_from("<i", data, at + 4)[0]) > 0:
        table = Table(memoryview(data)[at + 8 : at + 8 + size])
        is_schema = table.number(1, U8) == 1
        name = "schema" if is_schema else f"batch {number}"
        found += [Region(f"{name} prefix", at, at + 8), Region(f"{name} header", at + 8, at + 8 + size)]
        at += 8 + size
        header = table.table(2)
        if not is_schema and header is not None:
            buffers = enumerate(header.pairs(2))
            found += [Region(f"{name} buffer {i}", at + o, at + o + n) for i, (o, n) in buffers if n]
            number += 1
        at += table.number(3, I64)
    found += [Region("end of messages", at, at + 8), Region("footer", at + 8, len(data) - 10)]
    return [
        *found,
        Region("footer length", len(data) - 10, len(data) - 6),
        Region("end magic", len(data) - 6, len(data)),
    ]
