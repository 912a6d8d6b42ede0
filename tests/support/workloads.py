"""What queries write to one column family or two, batch by batch, and a store that counts what merges write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import numpy as np

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.runs.extent import extents_of, total
from keygroups.runs.plan import depth_of, pieces_of
from keygroups.segment.block import Block
from keygroups.segment.chunk import APPENDED, HEADER, TOMBSTONE, Chunk
from keygroups.store.version import Version
from support.local_store import LocalStore

ROW_BYTES: Final = 18
"""Of a row's locator, key group and key."""

Values = Mapping[int, int | None]
"""Bytes of the value by key; None is a removal."""


class Writes(NamedTuple):
    """What a batch writes to a family; appended values come after those that the key has."""

    values: Values
    appended: bool = False


Batch = Mapping[int, Writes]
"""Writes by the number of the family."""


def updates(keys: int, share: float, value: int = 60) -> Iterator[Batch]:
    """Yield all keys, and then a random share of them in each batch."""
    random = Random(1)
    yield {0: Writes(dict.fromkeys(range(keys), value))}
    while True:
        yield {0: Writes(dict.fromkeys(random.sample(range(keys), round(share * keys)), value))}


def new_keys(keys: int, value: int = 60) -> Iterator[Batch]:
    """Yield equal batches of new keys."""
    for first in count(0, keys):
        yield {0: Writes(dict.fromkeys(range(first, first + keys), value))}


def large_beside_counters(keys: int, share: float) -> Iterator[Batch]:
    """Yield values of 2 KB and counters, and then a share of the counters in each batch."""
    counters = updates(keys, share, value=8)
    yield {0: Writes(dict.fromkeys(range(keys), 2048)), 1: next(counters)[0]}
    for batch in counters:
        yield {1: batch[0]}


def appends(keys: int, share: float) -> Iterator[Batch]:
    """Yield appends of 20 bytes to the lists of a random share of the keys."""
    random = Random(2)
    while True:
        yield {0: Writes(dict.fromkeys(random.sample(range(keys), round(share * keys)), 20), appended=True)}


def timers_beside_large(keys: int, batches: int) -> Iterator[Batch]:
    """Yield updates of large values; each sets a timer, which goes some batches later."""
    random, pending = Random(3), dict[int, list[int]]()
    for number in count():
        timers = range(number * keys, (number + 1) * keys)
        pending[number + batches] = list(timers)
        due = dict.fromkeys(pending.pop(number, ()))
        large = dict.fromkeys(random.sample(range(keys * 20), keys // 4), 1000)
        yield {0: Writes(large), 1: Writes(dict.fromkeys(timers, 0) | due)}


class Measured:
    """A store under a workload.

    Args:
        folder: for everything; exists.
        batches: the workload.

    Attributes:
        written: bytes that commits have written, by family.
        merged: bytes that merges have written, by family.
        live: bytes of the values of each family's keys.
        most_space: the largest share of what the files may have: twice the live bytes, and four batches.
        depth: the most runs that a lookup visited.
    """

    def __init__(self, folder: Path, batches: Iterator[Batch]) -> None:
        self.local = LocalStore(folder)
        self.version = self.local.first()
        self.batches = batches
        self.live: dict[int, dict[int, int]] = {0: {}, 1: {}}
        self.lists: set[int] = set()
        self.written, self.merged = Counter[int](), Counter[int]()
        self.most_space, self.depth, self._sizes = 0.0, 0, list[int]()

    def run(self, batches: int, after: Callable[[Version], object] = lambda _: None) -> None:
        """Commit so many batches, each with the merges that are due after it."""
        for _ in range(batches):
            self.commit(next(self.batches))
            after(self.version)

    def commit(self, batch: Batch) -> None:
        """Commit a batch, and do what is due."""
        chunks = [self._chunk(family, writes) for family, writes in batch.items()]
        parent = self.local.store.known(self.version.key)
        version, uploads = self.local.store.commit(
            self.local.store.take("session", [], chunks), parent, self._catalog()
        )
        for upload in uploads:
            self.local.upload(upload)
        rows = version.plan[0].extents
        self.written.update({family: extent.size.nbytes for family, extent in rows.items()})
        self._sizes.append(sum(extent.size.nbytes for extent in rows.values()))
        self._merge()
        self.version = self.local.store.known(version.key)
        self.depth = max(self.depth, depth_of(self.version.plan)[0])
        allowed = 2 * sum(map(self.live_bytes, self.live)) + 4 * sum(self._sizes[-4:]) / len(self._sizes[-4:])
        self.most_space = max(self.most_space, self._held() / allowed)

    def live_bytes(self, family: int) -> int:
        """Return the bytes of the rows of a family if each key had one."""
        return sum(self.live[family].values()) + ROW_BYTES * len(self.live[family])

    def _merge(self) -> None:
        while (segment := self.local.store.compact()) is not None:
            self.count(segment.blocks)
            done = self.local.store.install(segment.id)
            if done is not None and done[1] is not None:
                self.local.upload(done[1])
                self.local.store.uploaded(done[1].name, success=True)

    def count(self, blocks: Sequence[Block]) -> None:
        """Count the rows of a merged segment."""
        self.merged.update({family: extent.size.nbytes for family, extent in extents_of(blocks).items()})

    def _held(self) -> int:
        """Return the bytes of the rows of all files of the version."""
        wholes = {piece.segment.id: piece.whole for piece in pieces_of(self.version.plan)}
        return sum(total(extent.size for extent in whole.values()).nbytes for whole in wholes.values())

    def _catalog(self) -> Catalog:
        columns = '{"fields": []}'
        families = (
            Family(n, f"family {n}", columns, columns, "{}", "avro", lists=n in self.lists, num_keys=len(self.live[n]))
            for n in self.live
        )
        return Catalog(tuple(families), len(self.live))

    def _chunk(self, family: int, writes: Writes) -> Chunk:
        """Write the rows as the JVM does, and apply them to the model."""
        live, header = self.live[family], np.zeros(len(writes.values), HEADER)
        sizes = [value or 0 for value in writes.values.values()]
        header["locator"] = np.array(list(writes.values), np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(16)
        header["key_bytes"], header["value_bytes"] = 8, sizes
        appended = APPENDED if writes.appended else 0
        header["flags"] = [TOMBSTONE if value is None else appended for value in writes.values.values()]
        if writes.appended:
            self.lists.add(family)
        for key, value in writes.values.items():
            if value is None:
                del live[key]
            else:
                live[key] = value + (live.get(key, 0) if writes.appended else 0)
        keys = b"".join(key.to_bytes(8, "big") for key in writes.values)
        path = self.local.folder / f"{family}.chunk"
        path.write_bytes(header.tobytes() + keys + bytes(sum(sizes)))
        return Chunk(family, str(path), len(header), len(keys), sum(sizes))
