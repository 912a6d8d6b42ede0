"""Names of the files in a store's checkpoint folder.

``v<version, 20 digits>_<id>.arrows`` is a version file: the rows that the batch changed, and the manifest.
``s<version, 20 digits>_<id>.arrows`` is a compacted segment that covers all versions up to that one.
``c<version, 20 digits>_<id>.arrows`` is the changelog of the version file with the same id: all writes of the batch.
The id is unique to the attempt that wrote the file, so no file is ever written twice. It is 16 digits of time in
microseconds, which order attempts that the file system's times do not distinguish, and 16 random digits. The names of
files of format 1 end with ``.arrow``.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import Literal, NamedTuple

FORMAT = 2
"""Of files that this release writes."""

Kind = Literal["version", "segment", "changelog"]

_LETTERS: dict[str, Kind] = {"v": "version", "s": "segment", "c": "changelog"}
_NAME = re.compile(r"([vsc])([0-9]{20})_([0-9a-f]{32})\.(arrows?)")
_STORE = re.compile(r"[0-9]{1,10}(/[^/\\:~\x00-\x1f\x7f]{1,100})?")
_MAX_VERSION = 2**63 - 1
_TEMPORARY = re.compile(r"\.([vsc][0-9]{20}_[0-9a-f]{32}\.arrows?)\.[^.]+\.tmp")
_FOREIGN = {
    "HDFSBackedStateStoreProvider": re.compile(r"^[0-9]+\.(delta|snapshot)$"),
    "RocksDBStateStoreProvider": re.compile(r"^[0-9]+(_[0-9a-zA-Z-]+)?\.(zip|changelog)$"),
}


class FileName(NamedTuple):
    """The parts of a file name.

    Attributes:
        kind: what the file is.
        version: of a version file or changelog its version; of a segment the last version that it covers.
        id: 32 hexadecimal digits; of a version file and its changelog, the state store checkpoint id.
        format: of the file.
    """

    kind: Kind
    version: int
    id: str
    format: int = FORMAT

    @property
    def begun(self) -> int:
        """When the file was named, before it was written: microseconds since 1970, by the clock of its writer."""
        return int(self.id[:16], 16)

    def __str__(self) -> str:
        return f"{self.kind[0]}{self.version:020d}_{self.id}.{'arrow' if self.format == 1 else 'arrows'}"


def new_name(kind: Kind, version: int) -> FileName:
    """A name that no other attempt can produce."""
    return FileName(kind, version, f"{time.time_ns() // 1000:016x}{secrets.token_hex(8)}")


def parse_name(name: str) -> FileName | None:
    """The parts of a file name, or None if it is not a name of keygroups."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[2]) > _MAX_VERSION:
        return None
    return FileName(_LETTERS[match[1]], int(match[2]), match[3], 1 if match[4] == "arrow" else FORMAT)


def is_path(path: str) -> bool:
    """Whether this is ``<partition>[/<store>]/<name>``, which can't point outside of the operator's folder."""
    store, _, name = path.rpartition("/")
    return is_store(store) and parse_name(name) is not None


def is_store(store: str) -> bool:
    """Whether this is ``<partition>[/<store>]``, which can't point outside of the operator's folder."""
    return _STORE.fullmatch(store) is not None and not store.endswith(("/.", "/.."))


def store_name(store: str) -> str:
    """The name of a store in each partition, empty where a partition has one store only."""
    return store.partition("/")[2]


def parse_temporary(name: str) -> FileName | None:
    """The final name of a file that is being uploaded, or was when its writer died; None for any other name."""
    match = _TEMPORARY.fullmatch(name)
    return parse_name(match[1]) if match else None


def foreign_provider(name: str) -> str | None:
    """The other state store provider that writes files of this name, None if there is none."""
    return next((provider for provider, pattern in _FOREIGN.items() if pattern.match(name)), None)
