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


MAGIC = b"ARROW1\0\0"
PREFIX = 8
FOOTER_END = 10
"""Behind the footer of a file: its length, and the magic number again."""


def regions(data: bytes) -> list[Region]:
    """The regions of a whole file of either format, in its order, without empty ones and padding."""
    if not data.startswith(MAGIC):
        return _of_streams(data, 0, len(data))
    footer = len(data) - FOOTER_END - struct.unpack_from("<i", data, len(data) - FOOTER_END)[0]
    return [
        Region("magic", 0, len(MAGIC)),
        *_of_streams(data, len(MAGIC), footer),
        Region("footer", footer, len(data) - FOOTER_END),
        Region("footer length", len(data) - FOOTER_END, len(data) - 6),
        Region("end magic", len(data) - 6, len(data)),
    ]


def _of_streams(data: bytes, at: int, end: int) -> list[Region]:
    found: list[Region] = []
    number = 0
    while at < end:
        size = struct.unpack_from("<i", data, at + 4)[0]
        if size == 0:
            found.append(Region("end of messages", at, at + PREFIX))
            at += PREFIX
            continue
        table = Table(memoryview(data)[at + PREFIX : at + PREFIX + size])
        is_schema = table.number(1, U8) == 1
        name = "schema" if is_schema else f"batch {number}"
        body = at + PREFIX + size
        found += [Region(f"{name} prefix", at, at + PREFIX), Region(f"{name} header", at + PREFIX, body)]
        header = table.table(2)
        if not is_schema and header is not None:
            found += [
                Region(f"{name} buffer {i}", body + o, body + o + n) for i, (o, n) in enumerate(header.pairs(2)) if n
            ]
            number += 1
        at = body + table.number(3, I64)
    return found
