"""Timers of a partition, in the order in which they fire.

They lie in a family that is sorted by time, as those of Spark's transformWithState do: ``TimerStateImpl``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from pyspark.sql import types as spark

from keygroups.partition.chunks import ChunkRows
from keygroups.partition.keys import Key, Keys, hashed_locator
from keygroups.partition.names import PAIR_HEAD
from keygroups.partition.sealed import Sealed, is_tombstone

ORDER_BYTES = 16
"""Of a stored key, before its UnsafeRow: a sign, the time, and padding; see ``OrderEncoding`` in the shim."""
TIME_BYTES = 24
"""Of the UnsafeRow before the key's own: null bits, the time, and where the key lies."""
VALUE = (1).to_bytes(8, "little") + bytes(8)
"""The UnsafeRow of one null."""


def timer_schema(key: spark.StructType) -> spark.StructType:
    """Give the schema of a stored timer."""
    return spark.StructType(
        [spark.StructField("expiryTimestampMs", spark.LongType(), False), spark.StructField("key", key)]
    )


class FileTimers:
    """Timers of one clock. Two of one key and time are one.

    Args:
        sealed: Stored timers.
        keys: The current keys; those whose timers are due become the current ones.
        max_parallelism: Number of key groups.
    """

    def __init__(self, sealed: Sealed, keys: Keys, max_parallelism: int) -> None:
        """See the class."""
        self.sealed = sealed
        self._keys = keys
        self._max_parallelism = max_parallelism
        self._changes: dict[tuple[int, Key], bool] = {}
        self._due: list[tuple[int, int, Key]] = []
        self._now: int | None = None
        self._count = 0

    def add(self, timestamp: int, key: Key) -> None:
        """Set a timer."""
        is_new = not self._changes.get((timestamp, key), False)
        self._changes[timestamp, key] = True
        if is_new and self._now is not None and timestamp <= self._now:
            self._push(timestamp, key)

    def remove(self, timestamp: int, key: Key) -> None:
        """Delete a timer; nothing happens if there is none."""
        self._changes[timestamp, key] = False

    def due(self, now: int) -> Iterator[tuple[int, Key]]:
        """Take out each timer whose time has come, earliest first; also those that are set meanwhile."""
        stored = self._stored(now)
        for timestamp, key in stored:
            if self._changes.get((timestamp, key), True):
                self._changes[timestamp, key] = True
        for (timestamp, key), is_set in self._changes.items():
            if is_set and timestamp <= now:
                self._push(timestamp, key)
        self._now = now
        while self._due:
            timestamp, _, key = heapq.heappop(self._due)
            if self._changes.get((timestamp, key)):
                self._changes[timestamp, key] = False
                yield timestamp, key
        self._now = None

    def take(self) -> ChunkRows:
        """Give what was changed since the last call."""
        rows = ChunkRows()
        for (timestamp, key), is_set in self._changes.items():
            stored = _stored_key(timestamp, key.data)
            locator = int.from_bytes(stored[:8], "big") >> 1
            place = next(self.sealed.history(locator, stored), None)
            exists = place is not None and not is_tombstone(place.block, np.array([place.row]))[0]
            if is_set and not exists:
                rows.put(key, locator, stored, VALUE, exists=False)
            elif exists and not is_set:
                rows.remove(key, locator, stored)
        # Those that are firing have to be asked for again: they are set until it is their turn.
        self._changes = {(t, key): True for t, _, key in self._due if self._changes.get((t, key))}
        return rows

    def earliest(self, now: int) -> int | None:
        """Give the time of the next timer after one; all until then have fired."""
        times = [timestamp for (timestamp, _), is_set in self._changes.items() if is_set]
        gone = {_stored_key(timestamp, key.data) for (timestamp, key), is_set in self._changes.items() if not is_set}
        for stored, place in self.sealed.in_order(int.from_bytes(_ordered(now)[:8], "big") >> 1):
            if stored not in gone and not is_tombstone(place.block, np.array([place.row]))[0]:
                times.append(_time(stored))
                break
        return min(times, default=None)

    def waiting(self) -> list[Key]:
        """Give the keys of timers that are due and have not fired."""
        return [key for _, _, key in self._due]

    def _push(self, timestamp: int, key: Key) -> None:
        self._count += 1
        heapq.heappush(self._due, (timestamp, self._count, key))

    def _stored(self, now: int) -> list[tuple[int, Key]]:
        """The stored timers up to a time."""
        bound = _ordered(now)
        last = int.from_bytes(bound[:8], "big") >> 1
        newest: dict[bytes, int | None] = {}
        for spans in self.sealed.below(last):
            for block, start, end in spans:
                stored = block.key.slice(start, end - start).to_pylist()
                dead = is_tombstone(block, np.arange(start, end)).tolist()
                hashes = block.partition_hash[start:end].tolist()
                for one, is_dead, code in zip(stored, dead, hashes, strict=True):
                    if one[: len(bound)] <= bound and one not in newest:
                        newest[one] = None if is_dead else code
        live = [(one, code) for one, code in newest.items() if code is not None]
        data = [one[ORDER_BYTES + TIME_BYTES :] for one, _ in live]
        return list(zip((_time(one) for one, _ in live), self._seen(data, [code for _, code in live]), strict=True))

    def _seen(self, data: list[bytes], hashes: list[int]) -> list[Key]:
        codes = dict(zip(data, hashes, strict=True))
        locators = [hashed_locator(code % self._max_parallelism, one) for one, code in codes.items()]
        seen = self._keys.see(list(codes), list(codes.values()), locators)
        keys = {key.data: key for key in seen}
        return [keys[one] for one in data]


def _ordered(timestamp: int) -> bytes:
    return bytes([timestamp >= 0]) + timestamp.to_bytes(8, "big", signed=True)


def _time(stored: bytes) -> int:
    return int.from_bytes(stored[1:9], "big", signed=True)


def _stored_key(timestamp: int, key: bytes) -> bytes:
    row = bytes(8) + timestamp.to_bytes(8, "little", signed=True) + (PAIR_HEAD << 32 | len(key)).to_bytes(8, "little")
    return _ordered(timestamp).ljust(ORDER_BYTES, b"\0") + row + key
