"""Keys of rows, as states find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from keygroups.partition.columns import bytes_of_column
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

    @staticmethod
    def of(data: Sequence[bytes], locators: Sequence[int]) -> StoredKeys:
        """Give keys from the row and the locator of each."""
        return StoredKeys(pa.array(data, pa.binary()), np.array(locators, np.uint64))

    @staticmethod
    def of_keys(keys: Sequence[Key]) -> StoredKeys:
        """Give keys as they are stored."""
        return StoredKeys.of([key.data for key in keys], [key.locator for key in keys])

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

    Attributes:
        current: Those of the current batch.
        stored: The same, as the batch brought them.
    """

    def __init__(self, decode: Decode, shown: Callable[[tuple[Any, ...]], Any]) -> None:
        """Begin without keys."""
        self._decode, self._shown = decode, shown
        self._known: dict[bytes, Key] = {}
        self.current: list[Key] = []
        self.stored = StoredKeys.of([], [])

    def see(self, stored: StoredKeys) -> list[Key]:
        """Give these keys, all different, one by one; they become the current ones."""
        data, known = stored.data.to_pylist(), self._known
        keys = list(map(known.get, data))
        new = [i for i, key in enumerate(keys) if key is None]
        if new and len(new) == len(data):  # as in the first batch of a task
            self.current = self._made(data, stored)
        else:
            if new:
                self._made([data[i] for i in new], stored.take(np.array(new)))
                keys = list(map(known.get, data))
            self.current = cast(list[Key], keys)
        self.stored = stored
        return self.current

    def forget(self, kept: Iterable[Key]) -> None:
        """Forget all keys but the current ones and these."""
        self._known = {key.data: key for key in (*self.current, *kept)}

    def _made(self, data: list[bytes], stored: StoredKeys) -> list[Key]:
        values = zip(*self._decode(bytes_of_column(stored.data)), strict=True)
        keys = list(map(Key, data, stored.locators.tolist(), map(self._shown, values)))
        self._known.update(zip(data, keys, strict=True))
        return keys
