"""Keys of rows, as states find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from keygroups.rows.decode import bytes_of
from keygroups.segment.arrays import arrow

Decode = Callable[[Any], list[list[Any]]]


class Key:
    """A key of the current rows; there is one object for each.

    Attributes:
        data: Its UnsafeRow.
        locator: Where its row lies in families without a second key.
        value: What the user sees: a value, or a ``Row`` where several columns are the key.
    """

    __slots__ = ("data", "locator", "value")

    def __init__(self, data: bytes, locator: int, value: Any) -> None:
        """See the class."""
        self.data, self.locator, self.value = data, locator, value

    @property
    def key_group(self) -> int:
        """The key's group."""
        return self.locator >> 48

    def locator_of(self, stored: bytes) -> int:
        """Give where rows lie that are found by other bytes of this key, such as a scan prefix."""
        return hashed_locator(self.key_group, stored)


@dataclass(frozen=True)
class StoredKeys:
    """Different keys, as a batch brings them.

    Attributes:
        data: binary[n], their UnsafeRows.
        locators: uint64[n], which begin with the key groups.
    """

    data: pa.Array
    locators: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.data)

    def take(self, rows: npt.NDArray[np.int64]) -> StoredKeys:
        """Give some of them."""
        return StoredKeys(self.data.take(arrow(rows)), self.locators[rows])

    @property
    def key_groups(self) -> npt.NDArray[np.int32]:
        """The group of each."""
        return (self.locators >> np.uint64(48)).astype(np.int32)


def hashed_locator(key_group: int, stored: bytes) -> int:
    """Give the locator of bytes: the key group, then 48 bits of their hash. See ``KeyProbe`` in the shim."""
    return key_group << 48 | xxhash.xxh64_intdigest(stored) >> 16


class Keys:
    """The keys that a task has met and not yet forgotten.

    Args:
        decode: Turns UnsafeRows of keys into columns.
        shown: Makes what the user sees from the values of a key's columns.
    """

    def __init__(self, decode: Decode, shown: Callable[[tuple[Any, ...]], Any]) -> None:
        """Begin without keys."""
        self._decode, self._shown = decode, shown
        self._known: dict[bytes, Key] = {}
        self.current: list[Key] = []

    def see(self, stored: list[bytes], locators: list[int]) -> list[Key]:
        """Give the keys of these UnsafeRows, all different; they become the current ones."""
        known = self._known
        new = [i for i, data in enumerate(stored) if data not in known]
        if new:
            columns = self._decode(bytes_of([stored[i] for i in new]))
            for i, values in zip(new, zip(*columns, strict=True), strict=True):
                known[stored[i]] = Key(stored[i], locators[i], self._shown(values))
        self.current = [known[data] for data in stored]
        return self.current

    def forget(self, kept: Iterable[Key]) -> None:
        """Forget all keys but the current ones and these."""
        self._known = {key.data: key for key in (*self.current, *kept)}
