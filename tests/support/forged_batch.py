"""A record batch that states another number of rows."""

from __future__ import annotations

from struct import Struct, pack

import pyarrow as pa

ROWS = 1237
"""A number that stands nowhere else in the metadata."""
BATCH = pa.record_batch({"key": [{"a": n} for n in range(ROWS)], "key_group": pa.array(range(ROWS), pa.uint16())})
COUNTS = ("the batch", "the struct", "its child", "the other column")
"""What has a number of rows, in the order of the metadata."""


def stating(rows: int, *what: str) -> bytes:
    """Returns the message of the batch in which some of ``COUNTS`` have so many rows."""
    message = bytearray(BATCH.serialize())
    (metadata,) = Struct("<i").unpack_from(message, 4)
    at = -1
    for count in COUNTS:
        at = message.index(pack("<q", ROWS), at + 1, metadata)
        if count in what:
            Struct("<q").pack_into(message, at, rows)
    return bytes(message)
