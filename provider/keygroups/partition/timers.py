"""Timers of a partition, in the order in which they fire.

They lie in a family that is sorted by time, as those of Spark's transformWithState do: ``TimerStateImpl``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import types as spark

from keygroups.partition.block_rows import Span, is_tombstone
from keygroups.partition.chunks import ChunkRows
from keygroups.partition.keys import Key, Keys, StoredKeys, hashed_locator
from keygroups.partition.names import PAIR_HEAD
from keygroups.partition.sealed import Bound, Sealed

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

    Stored timers that are due are read a window at a time, so that any number may be due in one batch.

    Args:
        sealed: Stored timers.
        keys: The current keys; those of a window become the current ones.
        max_parallelism: Number of key groups.

    Attributes:
        window: How many fire between two pauses, and how many rows of each segment are read at once; the keys of these
            are those whose state is read together.
        pause: Called where no timer is firing, so that writes can be moved to disk.
    """

    def __init__(self, sealed: Sealed, keys: Keys, max_parallelism: int) -> None:
        """See the class."""
        self.sealed = sealed
        self.window = 10_000
        self.pause: Callable[[], None] = lambda: None
        self._keys = keys
        self._max_parallelism = max_parallelism
        self._changes: dict[tuple[int, Key], bool] = {}
        self._due: list[tuple[int, int, Key]] = []
        self._now: int | None = None
        self._count = self._fired = 0

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
        for (timestamp, key), is_set in self._changes.items():
            if is_set and timestamp <= now:
                self._push(timestamp, key)
        self._now = now
        after, last = FIRST, _last(now)
        while after != last:
            after, spans = self.sealed.window(after, last, self.window)
            for timestamp, key in self._stored(spans):
                if self._changes.setdefault((timestamp, key), True):
                    self._push(timestamp, key)
            yield from self._until(_time(after.key))
        self._now = None

    def take(self) -> ChunkRows:
        """Give what was changed since the last call."""
        rows = ChunkRows()
        stored = [_stored_key(timestamp, key.data) for timestamp, key in self._changes]
        locators = [_locator(one) for one in stored]
        exists = self._exist(locators, stored)
        for (_, key), is_set, locator, one, is_stored in zip(
            self._changes, self._changes.values(), locators, stored, exists, strict=True
        ):
            if is_set and not is_stored:
                rows.put(key, locator, one, VALUE, exists=False)
            elif is_stored and not is_set:
                rows.remove(key, locator, one)
        # Those that are firing have to be asked for again: they are set until it is their turn.
        self._changes = {(t, key): True for t, _, key in self._due if self._changes.get((t, key))}
        return rows

    def earliest(self, now: int) -> int | None:
        """Give the time of the next timer after one; all until then have fired."""
        times = [timestamp for (timestamp, _), is_set in self._changes.items() if is_set]
        gone = {_stored_key(timestamp, key.data) for (timestamp, key), is_set in self._changes.items() if not is_set}
        after = _last(now)
        while after != END:
            after, spans = self.sealed.window(after, END, self.window)
            if left := [stored for stored, _ in _live(spans) if stored not in gone]:
                times.append(_time(min(left)))
                break
        return min(times, default=None)

    def waiting(self) -> list[Key]:
        """Give the keys of timers that are due and have not fired."""
        return [key for _, _, key in self._due]

    def _push(self, timestamp: int, key: Key) -> None:
        self._count += 1
        heapq.heappush(self._due, (timestamp, self._count, key))

    def _until(self, last: int) -> Iterator[tuple[int, Key]]:
        """Take out the timers up to a time: all that are stored up to it have been read."""
        while self._due and self._due[0][0] <= last:
            if self._fired >= self.window:
                self._fired = 0
                self.pause()
            timestamp, _, key = heapq.heappop(self._due)
            if self._changes.get((timestamp, key)):
                self._changes[timestamp, key] = False
                self._fired += 1
                yield timestamp, key

    def _exist(self, locators: list[int], stored: list[bytes]) -> list[bool]:
        """Tell which of these timers are stored."""
        exist = np.zeros(len(stored), np.bool_)
        keys = pa.array(stored, pa.binary())
        for found in self.sealed.find(np.array(locators, np.uint64), keys, values=False):
            exist[found.wanted] = ~is_tombstone(found.block, found.rows)
        return list(exist.tolist())

    def _stored(self, spans: Iterable[Span]) -> list[tuple[int, Key]]:
        """The timers of rows, newest segment first."""
        live = _live(spans)
        data = [one[ORDER_BYTES + TIME_BYTES :] for one, _ in live]
        return list(zip((_time(one) for one, _ in live), self._seen(data, [group for _, group in live]), strict=True))

    def _seen(self, data: list[bytes], key_groups: list[int]) -> list[Key]:
        locators = {one: hashed_locator(group, one) for one, group in zip(data, key_groups, strict=True)}
        keys = dict(zip(locators, self._keys.see(StoredKeys.of(list(locators), list(locators.values()))), strict=True))
        return [keys[one] for one in data]


def _live(spans: Iterable[Span]) -> list[tuple[bytes, int]]:
    """The stored keys of rows, newest segment first, that are no tombstones, and their key groups."""
    newest: dict[bytes, int | None] = {}
    for block, start, end in spans:
        stored = block.key.slice(start, end - start).to_pylist()
        dead = is_tombstone(block, np.arange(start, end)).tolist()
        key_groups = block.key_group[start:end].tolist()
        for one, is_dead, group in zip(stored, dead, key_groups, strict=True):
            newest.setdefault(one, None if is_dead else group)
    return [(one, group) for one, group in newest.items() if group is not None]


FIRST: Final = Bound(0, b"")
"""Before all timers."""
END: Final = Bound((1 << 64) - 1, b"")
"""Behind all timers."""


def _last(timestamp: int) -> Bound:
    """Behind all timers of a time: a stored key has zeros after its time."""
    ordered = _ordered(timestamp)
    return Bound(_locator(ordered), ordered + b"\xff")


def _locator(stored: bytes) -> int:
    return int.from_bytes(stored[:8], "big") >> 1


def _ordered(timestamp: int) -> bytes:
    return bytes([timestamp >= 0]) + timestamp.to_bytes(8, "big", signed=True)


def _time(stored: bytes) -> int:
    return int.from_bytes(stored[1:9], "big", signed=True)


def _stored_key(timestamp: int, key: bytes) -> bytes:
    row = bytes(8) + timestamp.to_bytes(8, "little", signed=True) + (PAIR_HEAD << 32 | len(key)).to_bytes(8, "little")
    return _ordered(timestamp).ljust(ORDER_BYTES, b"\0") + row + key
