"""Chunk files, as the store process reads them: see ``keygroups.segment.chunk``."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from keygroups.errors import CapacityError, InternalError
from keygroups.partition.columns import bytes_of_column
from keygroups.partition.keys import Key, StoredKeys
from keygroups.partition.view import WrittenChunk
from keygroups.rows.scalars import Words
from keygroups.segment.chunk import APPENDED, HEADER, TOMBSTONE, Headers

Pieces: TypeAlias = Sequence[bytes] | Sequence[memoryview]
WRITE_BYTES: Final = 1 << 20
ROWS_AT_ONCE: Final = 4096
"""Entries that are encoded together and then forgotten: encoded all at once, they would be in memory twice."""


@dataclass
class ChunkRows:
    """Rows on their way into a chunk; no two have the same key.

    Attributes:
        new_keys: Keys that are new, less those that are gone.
        nbytes: Of keys and values.
    """

    locators: list[int] = field(default_factory=list)
    key_groups: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    new_keys: int = 0
    nbytes: int = 0

    def put(self, key: Key, locator: int, stored: bytes, value: bytes, *, exists: bool, appended: bool = False) -> None:
        """Set the value of a key, or append to it."""
        self._add(locator, key.key_group, stored, value, APPENDED if appended and exists else 0)
        self.new_keys += not exists

    def put_all(self, keys: list[Key], values: list[bytes], exist: list[bool]) -> None:
        """Set the values of keys under their own bytes, told whether each exists. A call for each takes 1 us."""
        self.locators += [key.locator for key in keys]
        self.key_groups += [key.key_group for key in keys]
        self.keys += [key.data for key in keys]
        self.values += values
        self.flags += [0] * len(keys)
        self.nbytes += sum(len(key.data) for key in keys) + sum(map(len, values))
        self.new_keys += exist.count(False)

    def remove(self, key: Key, locator: int, stored: bytes) -> None:
        """Remove a key that exists."""
        self._add(locator, key.key_group, stored, b"", TOMBSTONE)
        self.new_keys -= 1

    def rewrite(self, locator: int, key_group: int, stored: bytes, value: bytes) -> None:
        """Set another value of a key that exists."""
        self._add(locator, key_group, stored, value, 0)

    def _add(self, locator: int, key_group: int, stored: bytes, value: bytes, flags: int) -> None:
        self.locators.append(locator)
        self.key_groups.append(key_group)
        self.keys.append(stored)
        self.values.append(value)
        self.flags.append(flags)
        self.nbytes += len(stored) + len(value)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.keys)

    def write(self, path: Path) -> WrittenChunk:
        """Write the rows to a new file.

        Raises:
            CapacityError: The local disk is full.
            InternalError: Two rows have the same key.
        """
        if len(set(self.keys)) < len(self.keys):
            raise InternalError(
                "a key was written twice", path=str(path), expected=len(set(self.keys)), found=len(self.keys)
            )
        header = np.zeros(len(self.keys), HEADER)
        header["locator"] = np.array(self.locators, np.uint64)
        header["key_group"] = self.key_groups
        header["key_bytes"] = np.fromiter(map(len, self.keys), np.int32, len(self.keys))
        header["value_bytes"] = np.fromiter(map(len, self.values), np.int32, len(self.values))
        header["flags"] = self.flags
        return _written(path, header, self.keys, self.values)


@dataclass(frozen=True)
class ChunkColumns:
    """The same, as columns.

    Attributes:
        keys: Of the rows, all different.
        flags: int32[n].
        values: The bytes of those that are no tombstones, in the order of the rows.
        value_sizes: int64[n], bytes of each; 0 for a tombstone.
        new_keys: Keys that are new, less those that are gone.
    """

    keys: StoredKeys
    flags: npt.NDArray[np.int32]
    values: Words
    value_sizes: Words
    new_keys: int

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.flags)

    def write(self, path: Path) -> WrittenChunk:
        """Write the rows to a new file. Raises CapacityError if the local disk is full."""
        rows = bytes_of_column(self.keys.data)
        header = np.zeros(len(self), HEADER)
        header["locator"], header["key_group"] = self.keys.locators, self.keys.key_groups
        header["key_bytes"], header["value_bytes"], header["flags"] = rows.sizes, self.value_sizes, self.flags
        start, end = int(rows.starts[0]), int(rows.starts[-1] + rows.sizes[-1])
        return _written(path, header, [rows.data[start:end]], [self.values.view(np.uint8).data])


def _written(path: Path, header: Headers, keys: Pieces, values: Pieces) -> WrittenChunk:
    """Write the pieces as they are: joined first, they would take their memory twice."""
    try:
        with path.open("xb", buffering=WRITE_BYTES) as file:
            file.write(header.tobytes())
            file.writelines(keys)
            file.writelines(values)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CapacityError(
                "the local disk is full", path=str(path.parent), fix="free space there, or set keyGroups.localDir"
            ) from error
        raise
    return WrittenChunk(str(path), len(header), sum(map(len, keys)), sum(map(len, values)))
