"""The files of our checkpoints, read with pyarrow alone and not with our own code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from support.state import Store

HASH_BITS = 48
"""Bits of a locator below the key group: the top bits of xxh64 of the key."""


@dataclass(frozen=True)
class StateFile:
    """The `n` rows of one column family in an Arrow file of a state partition.

    Attributes:
        path: The file.
        manifest: The manifest in the metadata of its schema.
        family: Number of the column family.
        encoder: Spark's spec of its keys, as JSON.
        locator: uint64[n], the key group in the top 16 bits and a hash of the key below.
        h: int32[n], Spark's hash of the partition columns.
        keys: n keys as UnsafeRow bytes.
        live: bool[n], False for a tombstone.
    """

    path: Path
    manifest: dict[str, Any]
    family: int
    encoder: str
    locator: npt.NDArray[np.uint64]
    h: npt.NDArray[np.int32]
    keys: list[bytes]
    live: npt.NDArray[np.bool_]

    def broken_rules(self, partition: int, store: Store) -> list[str]:
        """Returns the rules of the file format that a row breaks, in words.

        Args:
            partition: The partition whose folder holds the file.
            store: The store.
        """
        groups, bits = self.locator >> np.uint64(HASH_BITS), self.locator & np.uint64((1 << HASH_BITS) - 1)
        h = self.h.astype(np.int64)
        rules = {
            "the key group is pmod(h, G)": groups == np.mod(h, self.manifest["max_parallelism"]),
            "pmod(h, N) is the partition": np.mod(h, store.partitions) == partition,
            "the locator ends in xxh64 of the key": bits == self._key_bits(),
            "rows are in order of (locator, key)": np.array(self._in_order()),
        }
        if "NoPrefix" not in self.encoder:
            del rules["the locator ends in xxh64 of the key"]  # it is the hash of the scan prefix
        if "RangeKeyScan" in self.encoder:
            del rules["the key group is pmod(h, G)"]  # rows of all key groups lie in one order
        return [rule for rule, holds in rules.items() if not holds.all()]

    def _key_bits(self) -> npt.NDArray[np.uint64]:
        return np.array([xxhash.xxh64_intdigest(key) >> 16 for key in self.keys], dtype=np.uint64)

    def _in_order(self) -> bool:
        rows = list(zip(self.locator.tolist(), self.keys, strict=True))
        return rows == sorted(set(rows))


def read_state_files(checkpoint: Path, store: Store, partition: int) -> Iterator[StateFile]:
    """Yields the rows of every Arrow file of one partition of a store, by column family.

    Args:
        checkpoint: Checkpoint of a stopped query.
        store: The store.
        partition: Number of the partition.
    """
    for path in sorted(_folder(checkpoint, store, partition).glob("*.arrow")):
        yield from _read(path)


def live_hashes(checkpoint: Path, store: Store, partition: int, version: int) -> Counter[int]:
    """Returns how often each `h` occurs among the rows of a version: the newest row of each key, without tombstones.

    Args:
        checkpoint: Checkpoint of a stopped query.
        store: The store.
        partition: Number of the partition.
        version: Version of the state, which is the batch's number plus one.
    """
    top = next(_folder(checkpoint, store, partition).glob(f"v{version:020d}_*.arrow"))
    below = [_folder(checkpoint, store) / segment["path"] for segment in _manifest(_table(top))["segments"]]
    newest: dict[tuple[int, bytes], int | None] = {}
    for file in [file for path in [top, *below] for file in _read(path)]:
        for key, h, live in zip(file.keys, file.h.tolist(), file.live.tolist(), strict=True):
            newest.setdefault((file.family, key), h if live else None)
    return Counter(h for h in newest.values() if h is not None)


def _folder(checkpoint: Path, store: Store, partition: int | None = None) -> Path:
    folder = checkpoint / "state" / str(store.operator_id)
    if partition is None:
        return folder
    return folder / str(partition) / ("" if store.name == "default" else store.name)


def _read(path: Path) -> Iterator[StateFile]:
    table = _table(path)
    manifest = _manifest(table)
    encoders = {family["id"]: family["encoder"] for family in manifest["catalog"]["families"]}
    numbers = table["family"].to_numpy() if "family" in table.schema.names else np.zeros(len(table), np.uint16)
    for family in np.unique(numbers).tolist() or list(encoders)[:1]:
        rows = table.filter(pa.array(numbers == family))
        if family in encoders:  # else it was removed since
            yield StateFile(
                path=path,
                manifest=manifest,
                family=family,
                encoder=encoders[family],
                locator=rows["locator"].to_numpy(),
                h=rows["h"].to_numpy(),
                keys=rows["key"].to_pylist(),
                live=rows["value"].is_valid().to_numpy(),
            )


def _manifest(table: pa.Table) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(table.schema.metadata[b"keygroups.manifest"])
    return manifest


def _table(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return ipc.open_file(source).read_all()
