"""Small valid files of every form, to be mutated."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.manifest import FileRef, Manifest
from keygroups.checkpoint.names import FileName, Kind
from keygroups.segment.block import Block
from keygroups.segment.file import write_checkpoint_form, write_segment
from keygroups.segment.merge import merge_segments
from keygroups.segment.rows import SortedRows

Bytes = Sequence[bytes | None]


def schema(*types: str) -> str:
    """A schema as Spark's JSON."""
    fields = [{"name": f"c{i}", "type": kind, "nullable": True, "metadata": {}} for i, kind in enumerate(types)]
    return json.dumps({"type": "struct", "fields": fields})


def encoder(kind: str, **rest: object) -> str:
    """An encoder as Spark's JSON."""
    return json.dumps({"keyStateEncoderType": f"{kind}StateEncoderSpec", **rest})


def row(*columns: int | str) -> bytes:
    """An UnsafeRow of longs and texts."""
    fixed, variable = 8 + 8 * len(columns), b""
    words = [0]
    for column in columns:
        if isinstance(column, int):
            words.append(column)
        else:
            text = column.encode()
            words.append((fixed + len(variable)) << 32 | len(text))
            variable += text.ljust(-(-len(text) // 8) * 8, b"\0")
    return struct.pack(f"<{len(words)}Q", *words) + variable


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
_ROWS: dict[int, Callable[[int], tuple[bytes, bytes]]] = {
    0: lambda n: (row(n), row(n, 2 * n)),
    1: lambda n: (row("k" * n, n), row("v" * 5 * n)),
    2: lambda n: (row(n), listed(*[row("x" * i) for i in range(n + 1)])),
    3: lambda n: (b"\1" + n.to_bytes(8, "big") + bytes(7) + row(n, "t" * n), row(n)),
    4: lambda n: (row("k" * n) + (n + 2**63).to_bytes(8, "big"), row(n)),
}


def column(values: Bytes) -> pa.Array:
    """A binary column, fixed in width where all values have one."""
    widths = {len(v) for v in values if v is not None}
    return pa.array(values, pa.binary(widths.pop()) if len(widths) == 1 else pa.binary())


def block(
    family: int, rows: int, *, removed: bool = False, appended: bool = False, written: bool = False, changed: int = 0
) -> Block:
    """A block of a family of ``CATALOG``; with ``changed`` it has other values for the same keys."""
    keys = [_ROWS[family](n)[0] for n in range(rows)]
    values = [_ROWS[family](n + changed)[1] for n in range(rows)]
    shown: Bytes = [None if removed and n % 3 == 1 else v for n, v in enumerate(values)]
    locators = np.arange(rows, dtype=np.uint64) * np.uint64(2**40) + np.uint64(7)
    flags = pa.array([n % 2 == 0 for n in range(rows)]) if appended else None
    times = np.full(rows, 1_700_000_000, np.uint32) if written else None
    return Block(locators, np.arange(rows, dtype=np.int32), column(keys), column(shown), family, flags, times)


def contents() -> list[SortedRows]:
    """Rows of segments: families, tombstones, appends, times."""
    families: list[tuple[int, ...]] = [(0,), (1,), (2,), (0, 3), (1, 2, 4)]
    flags = [(False, False, False), (True, False, True), (True, True, False)]
    return [
        SortedRows.of([block(f, 5, removed=removed, appended=appended, written=written) for f in numbers])
        for numbers, (removed, appended, written) in product(families, flags)
    ]


@dataclass(frozen=True)
class Sample:
    """A checkpoint file, and its manifest."""

    data: bytes
    manifest: Manifest


def checkpoint_file(
    folder: Path,
    rows: SortedRows,
    name: FileName,
    parent: str = "",
    segments: tuple[FileRef, ...] = (),
    codec: str = "zstd",
    changelog: FileRef | None = None,
) -> Sample:
    """A file of store 0."""
    manifest = Manifest(
        kind=name.kind, store="0", version=name.version, rows=len(rows), checksum=rows.checksum(),
        max_parallelism=28800, partitions=1, catalog=CATALOG, parent=parent, segments=segments,
        changelog=changelog, written_by="fuzz", id=name.id,
    )  # fmt: skip
    path = folder / str(name)
    write_checkpoint_form(path, rows, manifest.metadata(), codec)
    data = path.read_bytes()
    path.unlink()
    return Sample(data, manifest)


def named(version: int, kind: Kind = "version") -> FileName:
    """A name with a readable id."""
    return FileName(kind, version, f"{version:032x}")


def files(folder: Path) -> list[Sample]:
    """A version file of each content and compression."""
    codecs = ("zstd", "lz4", "none")
    return [checkpoint_file(folder, rows, named(3), codec=codec) for rows, codec in product(contents(), codecs)]


def versions() -> list[SortedRows]:
    """Rows of versions 1 to 4: a list that grows, tombstones, and keys that are written again."""
    return [
        SortedRows.of(blocks)
        for blocks in (
            [block(0, 5), block(1, 5), block(2, 3)],
            [block(0, 4, removed=True, changed=1), block(2, 5, appended=True, changed=1)],
            [block(1, 3, removed=True, changed=2), block(2, 2, changed=3)],
            [block(0, 3, changed=4), block(2, 4, appended=True, changed=2), block(3, 5)],
        )
    ]


def merged(folder: Path, rows: Sequence[SortedRows]) -> SortedRows:
    """The rows of a compacted segment of these versions, oldest first."""
    segments = [write_segment(folder, each.schema, each.blocks) for each in reversed(rows)]
    return merge_segments(folder, segments, CATALOG.ids, bottom=True, block_bytes=1 << 20).content


def store(folder: Path) -> dict[str, Sample]:
    """The files of a store whose version 4 is read over a segment of versions 1 to 3 and has a changelog, by path."""
    rows = versions()
    found: dict[str, Sample] = {}
    refs: list[FileRef] = []
    for version in (1, 2, 3):
        parent = str(named(version - 1)) if version > 1 else ""
        _add(found, refs, checkpoint_file(folder, rows[version - 1], named(version), parent, tuple(reversed(refs))))
    more: list[FileRef] = []
    _add(found, more, checkpoint_file(folder, merged(folder, rows[:3]), named(3, "segment")))
    _add(found, more, checkpoint_file(folder, contents()[2], named(4, "changelog")))
    segment, changelog = more
    _add(found, [], checkpoint_file(folder, rows[3], named(4), str(named(3)), (segment,), changelog=changelog))
    return found


LATEST = f"0/{named(4)}"
"""Path of the version file that is read of ``store``."""


def _add(found: dict[str, Sample], refs: list[FileRef], sample: Sample) -> None:
    path = f"0/{FileName(sample.manifest.kind, sample.manifest.version, sample.manifest.id)}"
    found[path] = sample
    refs.append(_ref(path, sample))


def _ref(path: str, sample: Sample) -> FileRef:
    return FileRef(path, sample.manifest.rows, len(sample.data), sample.manifest.checksum)
