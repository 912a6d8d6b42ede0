"""The manifest: it describes a file of the checkpoint and lists the other files that the version needs.

It is stored in the metadata of the file's Arrow schema: JSON under ``keygroups.manifest``, and the
xxh3-128 of that JSON under ``keygroups.manifest.checksum``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import xxhash

from keygroups import decoding
from keygroups.checkpoint.catalog import Catalog, Count
from keygroups.checkpoint.filters import GroupRange
from keygroups.checkpoint.invariants import broken_invariants
from keygroups.checkpoint.names import FORMAT, FileName, Kind, parse_name
from keygroups.errors import CapacityError, CheckpointError, InternalError, VersionError
from keygroups.segment.ipc_messages import read_schema
from keygroups.segment.restore import reading
from keygroups.segment.span import Span

MAX_BYTES = 64 << 20
"""Of the JSON; 100,000 column families take less."""
T = TypeVar("T")

_KEY = b"keygroups.manifest"
_CHECKSUM = b"keygroups.manifest.checksum"


class BlockRef(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block of a file: one record batch.

    Attributes:
        offset: where its message begins, counted from the end of the head.
        length: bytes of the message.
        rows: in it.
        first: locator of its first row.
        last: locator of its last row.
        checksum: xxh3-64 of the message, in hexadecimal.
    """

    offset: Count
    length: Count
    rows: Count
    first: Count
    last: Count
    checksum: str


class Part(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A stream of a file: consecutive blocks of one family with one schema.

    Attributes:
        family: number of the family.
        offset: where its schema begins, counted from the end of the head; negative for the first, whose schema is the
            head's.
        blocks: in order.
    """

    family: Count
    offset: int
    blocks: list[BlockRef]


class FileRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rows of a file that a version needs.

    Attributes:
        path: relative to the operator's folder: ``<partition>[/<store>]/<name>``; the partition may be another one.
        rows: rows in it, tombstones included.
        bytes: its length.
        checksum: xxh3-128 of its manifest; of a file of format 1, of its column buffers, uncompressed.
        span: which of its rows count, counted over all its blocks; None if all do. Others are in another file by now.
        follows: whether the rows lie behind those of the file that is listed before, in one sorted run.
        key_groups: which of the rows count: those of these key groups; None for those of all. Where there is a span
            too, a row has to be in both.
    """

    path: str
    rows: Count
    bytes: Count
    checksum: str
    span: Span | None = None
    follows: bool = False
    key_groups: tuple[GroupRange, ...] | None = None

    @property
    def counted(self) -> Span:
        """Which rows count, if their key groups do."""
        return self.span or Span(0, self.rows)

    @property
    def whole(self) -> FileRef:
        """A reference to all of its rows."""
        return FileRef(self.path, self.rows, self.bytes, self.checksum)

    @property
    def restored(self) -> FileRef:
        """A reference to what is restored of the file: all rows, or with a filter those that count."""
        return self.whole if self.key_groups is None else self.following(follows=False)

    def part(self, span: Span) -> FileRef:
        """A reference to some of its rows, alone."""
        return msgspec.structs.replace(self, span=None if span == (0, self.rows) else span, follows=False)

    def following(self, *, follows: bool) -> FileRef:
        """The same reference, as the next file of a run or as the first."""
        return msgspec.structs.replace(self, follows=follows)

    @property
    def store(self) -> str:
        """The store in whose folder it lies."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> FileName:
        """The parts of the file's name."""
        name = parse_name(self.path.rpartition("/")[2])
        if name is None:
            raise CheckpointError("a manifest lists a path that is not a checkpoint file", path=self.path)
        return name


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a version file, of a compacted segment, or of a changelog.

    Attributes:
        format: version of this format.
        kind: of the file that carries it.
        store: ``<partition>[/<store>]`` under the operator's folder.
        version: as in the file's name.
        rows: rows of this file.
        parts: of this file.
        checksum: xxh3-128 of this manifest, once it is read; of a file of format 1, see ``format1``.
        max_parallelism: number of key groups, G.
        partitions: number of state partitions, N; 0 if unknown.
        catalog: column families, and the keys of each in the version.
        parent: name of the version file this one was built on; empty for the first.
        segments: the files below this one, newest first.
        spilled: how many of these, from the first on, have earlier writes of this version's batch; the others are those
            of the parent.
        changelog: the file with all writes of the version; None if they were not kept or there were none.
        written_by: name and version of the program.
        id: as in the file's name; empty in files of early builds.
    """

    format: int = FORMAT
    kind: Kind
    store: str
    version: Count
    rows: Count
    parts: tuple[Part, ...] = ()
    checksum: str = ""
    max_parallelism: Count
    partitions: Count
    catalog: Catalog
    parent: str = ""
    segments: tuple[FileRef, ...] = ()
    spilled: Count = 0
    changelog: FileRef | None = None
    written_by: str = ""
    id: str = ""

    def head(self) -> tuple[dict[bytes, bytes], str]:
        """Arrow schema metadata that carries this manifest, and its checksum.

        Raises:
            CapacityError: it is longer than what is read again; nothing was written.
            InternalError: an invariant does not hold; nothing was written.
        """
        if broken := broken_invariants(self):
            raise InternalError("a manifest is wrong", path=self.store, expected="; ".join(broken))
        text = msgspec.json.encode(self)
        if len(text) > MAX_BYTES:
            raise CapacityError(
                "the manifest of a version is too long",
                path=self.store,
                expected=f"at most {MAX_BYTES} bytes",
                found=f"{len(text)} bytes for {len(self.segments)} files and {len(self.catalog.families)} families",
                fix="set keyGroups.maxSegments lower, or use fewer column families",
            )
        checksum = xxhash.xxh3_128(text).hexdigest()
        return {_KEY: text, _CHECKSUM: checksum.encode()}, checksum

    @property
    def earlier_writes(self) -> tuple[FileRef, ...]:
        """The files with earlier writes of this version's batch, newest first."""
        return self.segments[: self.spilled]


def read_manifest(path: Path, name: str) -> Manifest:
    """Read the manifest of a downloaded file, whole or cut after its schema.

    Args:
        path: the local copy.
        name: the file's name in error messages.

    Raises:
        CheckpointError: it carries no manifest, or a damaged one.
        VersionError: a newer release wrote it.
    """
    with reading(name), pa.OSFile(str(path)) as source:
        metadata = read_schema(source).metadata or {}  # the schema comes first, so the head of a file is enough
    return decode(metadata, name)


def decode(metadata: Mapping[bytes, bytes], name: str) -> Manifest:
    """The manifest in the metadata of an Arrow schema. Raises as ``read_manifest``."""
    text = metadata.get(_KEY, b"")
    if len(text) > MAX_BYTES:
        raise CheckpointError("the manifest of a file is too long", path=name, expected=MAX_BYTES, found=len(text))
    expected, found = metadata.get(_CHECKSUM, b"").decode(errors="replace"), xxhash.xxh3_128(text).hexdigest()
    if expected != found:
        raise CheckpointError("the manifest of a file is damaged", path=name, expected=expected, found=found)
    if (written := _parsed(text, _Format, name)).format > FORMAT:
        raise VersionError(
            "a newer release of keygroups wrote this checkpoint",
            path=name,
            expected=f"format {FORMAT} or older",
            found=f"format {written.format} by {written.written_by}",
            fix="upgrade keygroups",
        )
    manifest = _parsed(text, Manifest, name)
    named = parse_name(name.rpartition("/")[2])
    if named is not None and named.format != manifest.format:  # the formats have checksums of different things
        raise CheckpointError(
            "the manifest of a file is not valid", path=name, expected=f"format {named.format}", found=manifest.format
        )
    if manifest.format > 1:
        manifest = msgspec.structs.replace(manifest, checksum=found)
    if broken := broken_invariants(manifest):
        raise CheckpointError("the manifest of a file is not valid", path=name, expected="; ".join(broken))
    return manifest


class _Format(msgspec.Struct):
    format: Count
    written_by: str = ""


def _parsed(text: bytes, kind: type[T], name: str) -> T:
    try:
        return decoding.decode(text, kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise CheckpointError("the manifest of a file is not valid", path=name, found=str(error)) from error
