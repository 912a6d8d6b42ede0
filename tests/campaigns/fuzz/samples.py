"""Small valid files of every form, to be mutated."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from campaigns.fuzz.unsafe import HASHED, KEY_GROUPS, LISTS, ORDERED, PREFIXED, TIMED, locator_of, packed, stored_key
from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.file_writer import write_file
from keygroups.checkpoint.filters import GroupRange
from keygroups.checkpoint.manifest import FileRef, Manifest, Part, read_manifest
from keygroups.checkpoint.names import FORMAT, FileName, Kind
from keygroups.segment.block import Block
from keygroups.segment.merge import merge_runs
from keygroups.segment.span import Span
from support.format1 import batches_of, checksum_of, file_of

Bytes = Sequence[bytes | None]


def schema(*types: str) -> str:
    """A schema as Spark's JSON."""
    fields = [{"name": f"c{i}", "type": kind, "nullable": True, "metadata": {}} for i, kind in enumerate(types)]
    return json.dumps({"type": "struct", "fields": fields})


def encoder(kind: str, **rest: object) -> str:
    """An encoder as Spark's JSON."""
    return json.dumps({"keyStateEncoderType": f"{kind}StateEncoderSpec", **rest})


def listed(*rows: bytes) -> bytes:
    """A list of rows."""
    return b"".join(struct.pack("<q", len(r)) + r for r in rows)


CATALOG = Catalog(
    (
        Family(0, "default", schema("long"), schema("long", "long"), encoder("NoPrefixKey"), num_keys=5),
        Family(
            1,
            "texts",
            schema("string", "long"),
            schema("string"),
            encoder("PrefixKeyScan", numColsPrefixKey=1),
            num_keys=5,
        ),
        Family(2, "lists", schema("long"), schema("string"), encoder("NoPrefixKey"), lists=True, num_keys=5),
        Family(
            3,
            "range",
            schema("long", "string"),
            schema("long"),
            encoder("RangeKeyScan", orderingOrdinals=[0]),
            num_keys=5,
        ),
        Family(4, "timed", schema("string", "long"), schema("long"), encoder("TimestampAsPostfixKey"), num_keys=5),
    ),
    5,
)
_ROWS: dict[int, Callable[[int], tuple[list[int | str], bytes]]] = {
    HASHED: lambda n: ([n], packed(n, 2 * n)),
    PREFIXED: lambda n: (["k" * n, n], packed("v" * 5 * n)),
    LISTS: lambda n: ([n], listed(*[packed("x" * i) for i in range(n + 1)])),
    ORDERED: lambda n: ([n, "t" * n], packed(n)),
    TIMED: lambda n: (["k" * n, n], packed(n)),
}


def column(values: Bytes) -> pa.Array:
    """A binary column, fixed in width where all values have one."""
    widths = {len(v) for v in values if v is not None}
    return pa.array(values, pa.binary(widths.pop()) if len(widths) == 1 else pa.binary())


def block(
    family: int, rows: int, *, removed: bool = False, appended: bool = False, written: bool = False, changed: int = 0
) -> Block:
    """A block of a family of ``CATALOG``; with ``changed`` it has other values for the same keys."""
    keys = {n: stored_key(family, _ROWS[family](n)[0]) for n in range(rows)}
    locators = {n: locator_of(family, n, key) for n, key in keys.items()}
    order = sorted(keys, key=lambda n: (locators[n], keys[n]))
    values = [_ROWS[family](n + changed)[1] for n in order]
    shown: Bytes = [None if removed and n % 3 == 1 else v for n, v in zip(order, values, strict=True)]
    flags = pa.array([n % 2 == 0 for n in range(rows)]) if appended else None
    times = np.full(rows, 1_700_000_000, np.uint32) if written else None
    return Block(
        np.array([locators[n] for n in order], np.uint64),
        np.array(order, np.uint16),
        column([keys[n] for n in order]),
        column(shown),
        family,
        flags,
        times,
    )


def contents() -> list[list[Block]]:
    """Rows of segments: families, tombstones, appends, times."""
    families: list[tuple[int, ...]] = [(0,), (1,), (2,), (0, 3), (1, 2, 4)]
    flags = [(False, False, False), (True, False, True), (True, True, False)]
    return [
        [block(f, 5, removed=removed, appended=appended, written=written) for f in numbers]
        for numbers, (removed, appended, written) in product(families, flags)
    ]


@dataclass(frozen=True)
class Sample:
    """A checkpoint file, and its manifest."""

    data: bytes
    manifest: Manifest


def checkpoint_file(
    folder: Path,
    blocks: Sequence[Block],
    name: FileName,
    parent: str = "",
    segments: tuple[FileRef, ...] = (),
    spilled: int = 0,
    codec: str = "zstd",
    changelog: FileRef | None = None,
    store: str = "0",
) -> Sample:
    """A file of a store, of the format that its name has."""
    manifest = Manifest(
        format=name.format, kind=name.kind, store=store, version=name.version, rows=sum(map(len, blocks)),
        max_parallelism=KEY_GROUPS, partitions=1, catalog=CATALOG, parent=parent, segments=segments,
        spilled=spilled, changelog=changelog, written_by="fuzz", id=name.id,
    )  # fmt: skip
    path = folder / str(name)
    if name.format == 1:
        batches = batches_of(blocks)
        manifest = msgspec.structs.replace(manifest, checksum=checksum_of(batches))
        path.write_bytes(file_of(batches, manifest.head()[0], None if codec == "none" else codec))
    else:

        def head(parts: tuple[Part, ...]) -> dict[bytes, bytes]:
            return msgspec.structs.replace(manifest, parts=parts).head()[0]

        write_file(path, blocks, CATALOG, head, codec, numbered=name.kind == "changelog")
    data, written = path.read_bytes(), read_manifest(path, str(name))
    path.unlink()
    return Sample(data, written)


def named(version: int, kind: Kind = "version", format_: int = FORMAT) -> FileName:
    """A name with a readable id."""
    return FileName(kind, version, f"{version:032x}", format_)


def files(folder: Path) -> list[Sample]:
    """A version file of each content, compression and format."""
    each = product(contents(), ("zstd", "lz4", "none"), (1, FORMAT))
    return [checkpoint_file(folder, rows, named(3, format_=number), codec=codec) for rows, codec, number in each]


def versions() -> list[list[Block]]:
    """Rows of versions 1 to 4: a list that grows, tombstones, and keys that are written again."""
    return [
        [block(0, 5), block(1, 5), block(2, 3)],
        [block(0, 4, removed=True, changed=1), block(2, 5, appended=True, changed=1)],
        [block(1, 3, removed=True, changed=2), block(2, 2, changed=3)],
        [block(0, 3, changed=4), block(2, 4, appended=True, changed=2), block(3, 5)],
    ]


def merged(folder: Path, rows: Sequence[Sequence[Block]]) -> Sequence[Block]:
    """The rows of a compacted segment of these versions, oldest first."""
    return merge_runs(folder, rows[::-1], bottom=True, block_bytes=1 << 20).blocks


def store(folder: Path) -> dict[str, Sample]:
    """The files of a store whose version 4 is read over a merge of versions 1 to 3 and has a changelog, by path.

    Versions 1 and 2 were written by release 0.1.0. Version 3 has two files. The merge is in three pieces. The second
    and the third are the even and the odd key groups of some rows of a file that lies in another store's folder.
    """
    rows = versions()
    found: dict[str, Sample] = {}
    refs: list[FileRef] = []
    for version in (1, 2):
        name, parent = named(version, format_=1), str(named(1, format_=1)) if version > 1 else ""
        _add(found, refs, checkpoint_file(folder, rows[version - 1], name, parent, tuple(reversed(refs))))
    *spilled, last = rows[2]
    _add(found, refs, checkpoint_file(folder, spilled, named(3, "segment")))
    third = checkpoint_file(folder, [last], named(3), str(named(2, format_=1)), tuple(reversed(refs)), spilled=1)
    _add(found, refs, third)
    more: list[FileRef] = []
    first, *rest = merged(folder, rows[:3])
    _add(found, more, checkpoint_file(folder, [first], named(2, "segment")))
    _add(found, more, checkpoint_file(folder, [first, *rest], named(5, "segment")._replace(version=3), store="1"))
    _add(found, more, checkpoint_file(folder, numbered(contents()[2]), named(4, "changelog")))
    one, other, changelog = more
    part = other.part(Span(one.rows, other.rows))
    even, odd = (msgspec.structs.replace(part, key_groups=(GroupRange(n, KEY_GROUPS, 2),)) for n in (0, 1))
    pieces = (one, even.following(follows=True), odd)
    _add(found, [], checkpoint_file(folder, rows[3], named(4), str(named(3)), pieces, changelog=changelog))
    return found


def numbered(blocks: Sequence[Block]) -> list[Block]:
    """One block of each family as a changelog has them."""
    return [replace(block, locator=np.arange(len(block), dtype=np.uint64)) for block in blocks]


LATEST = f"0/{named(4)}"
"""Path of the version file that is read of ``store``."""


def _add(found: dict[str, Sample], refs: list[FileRef], sample: Sample) -> None:
    manifest = sample.manifest
    path = f"{manifest.store}/{FileName(manifest.kind, manifest.version, manifest.id, manifest.format)}"
    found[path] = sample
    refs.append(_ref(path, sample))


def _ref(path: str, sample: Sample) -> FileRef:
    return FileRef(path, sample.manifest.rows, len(sample.data), sample.manifest.checksum)
