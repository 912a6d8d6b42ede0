"""The files of our checkpoints, read with pyarrow alone and not with our own code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc as ipc

from support.state import Store

IN_ONE_ORDER = ("RangeKeyScan", "TimestampAsPrefix")
"""Encoders of families whose rows of all key groups lie in one order."""


@dataclass(frozen=True)
class StateFile:
    """The `n` rows of one column family in a file of a state partition.

    Attributes:
        path: The file.
        manifest: The manifest in the metadata of its first schema.
        family: Number of the column family.
        encoder: Spark's spec of its keys, as JSON.
        key_group: uint16[n].
        keys: n keys as text.
        live: bool[n], False for a tombstone.
    """

    path: Path
    manifest: dict[str, Any]
    family: int
    encoder: str
    key_group: npt.NDArray[np.uint16]
    keys: list[str]
    live: npt.NDArray[np.bool_]

    def broken_rules(self, partition: int, store: Store) -> list[str]:
        """Returns the rules of the file format that a row breaks, in words.

        Args:
            partition: The partition whose folder holds the file.
            store: The store.
        """
        groups = self.key_group.astype(np.int64)
        rules = {
            "there are G key groups": groups < self.manifest["max_parallelism"],
            "the key group modulo N is the partition": np.mod(groups, store.partitions) == partition,
            "key groups ascend": np.diff(groups) >= 0,
            "a key comes once": np.array(len(set(self.keys)) == len(self.keys)),
        }
        if any(name in self.encoder for name in IN_ONE_ORDER):
            del rules["key groups ascend"]
        return [rule for rule, holds in rules.items() if not holds.all()]


def read_state_files(checkpoint: Path, store: Store, partition: int) -> Iterator[StateFile]:
    """Yields the rows of every file of one partition of a store, by column family.

    Args:
        checkpoint: Checkpoint of a stopped query.
        store: The store.
        partition: Number of the partition.
    """
    for path in sorted(_folder(checkpoint, store, partition).glob("*.arrows")):
        yield from _read(path)


def live_key_groups(checkpoint: Path, store: Store, partition: int, version: int) -> Counter[int]:
    """Returns how often each key group occurs among the rows of a version: the newest of each key, without tombstones.

    Args:
        checkpoint: Checkpoint of a stopped query.
        store: The store.
        partition: Number of the partition.
        version: Version of the state, which is the batch's number plus one.
    """
    top = next(_folder(checkpoint, store, partition).glob(f"v{version:020d}_*.arrows"))
    below = [(_folder(checkpoint, store) / ref["path"], ref.get("span")) for ref in manifest_of(top)["segments"]]
    newest: dict[tuple[int, str], int | None] = {}
    for file in [file for path, span in [(top, None), *below] for file in _read(path, span)]:
        for key, group, live in zip(file.keys, file.key_group.tolist(), file.live.tolist(), strict=True):
            newest.setdefault((file.family, key), group if live else None)
    return Counter(group for group in newest.values() if group is not None)


def _folder(checkpoint: Path, store: Store, partition: int | None = None) -> Path:
    folder = checkpoint / "state" / str(store.operator_id)
    if partition is None:
        return folder
    return folder / str(partition) / ("" if store.name == "default" else store.name)


def _read(path: Path, span: Sequence[int] | None = None) -> Iterator[StateFile]:
    manifest = manifest_of(path)
    encoders = {family["id"]: family["encoder"] for family in manifest["catalog"]["families"]}
    with pa.OSFile(str(path)) as source:
        tables = [(part[0], ipc.open_stream(source).read_all()) for part in manifest["parts"]]
    counted = [(number, row) for number, table in tables for row in table.to_pylist()][slice(*span or (None,))]
    for family in sorted({number for number, _ in counted}) or list(encoders)[:1]:
        rows = [row for number, row in counted if number == family]
        if family in encoders:  # else it was removed since
            yield StateFile(
                path=path,
                manifest=manifest,
                family=family,
                encoder=encoders[family],
                key_group=np.array([row["key_group"] for row in rows], np.uint16),
                keys=[repr(row["key"]) for row in rows],
                live=np.array([row["value"] is not None for row in rows], np.bool_),
            )


def manifest_of(path: Path) -> dict[str, Any]:
    """Returns the manifest in the head of a file."""
    with pa.OSFile(str(path)) as source:
        manifest: dict[str, Any] = json.loads(ipc.open_stream(source).schema.metadata[b"keygroups.manifest"])
    return manifest
