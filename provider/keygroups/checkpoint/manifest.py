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

from keygroups.checkpoint.catalog import MAX_FAMILIES, Catalog, Count
from keygroups.checkpoint.names import FileName, Kind, is_path, parse_name
from keygroups.errors import CheckpointError, InternalError, VersionError
from keygroups.segment.block import MAX_PARALLELISM
from keygroups.segment.ipc_messages import read_schema
from keygroups.segment.restore import reading

FORMAT = 1
MAX_BYTES = 64 << 20
"""Of the JSON; 100,000 column families take less."""
T = TypeVar("T")

_KEY = b"keygroups.manifest"
_CHECKSUM = b"keygroups.manifest.checksum"


class FileRef(msgspec.Struct, frozen=True):
    """A file that a version needs.

    Attributes:
        path: relative to the operator's folder: ``<partition>[/<store>]/<name>``.
        rows: rows in it, tombstones included.
        bytes: its length.
        checksum: xxh3-128 of its column buffers, uncompressed.
    """

    path: str
    rows: Count
    bytes: Count
    checksum: str

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
        checksum: xxh3-128 of the column buffers of this file, uncompressed.
        max_parallelism: number of key groups, G.
        partitions: number of state partitions, N; 0 if unknown.
        catalog: column families, and the keys of each in the version.
        parent: name of the version file this one was built on; empty for the first.
        segments: the files below this one, newest first.
        changelog: the file with all writes of the version; None if they were not kept or there were none.
        written_by: name and version of the program.
        id: as in the file's name; empty in files of early builds.
    """

    format: int = FORMAT
    kind: Kind
    store: str
    version: Count
    rows: Count
    checksum: str
    max_parallelism: Count
    partitions: Count
    catalog: Catalog
    parent: str = ""
    segments: tuple[FileRef, ...] = ()
    changelog: FileRef | None = None
    written_by: str = ""
    id: str = ""

    def metadata(self) -> dict[bytes, bytes]:
        """Arrow schema metadata that carries this manifest.

        Raises:
            InternalError: an invariant does not hold; nothing was written.
        """
        if broken := broken_invariants(self):
            raise InternalError("a manifest is wrong", path=self.store, expected="; ".join(broken))
        text = msgspec.json.encode(self)
        return {_KEY: text, _CHECKSUM: xxhash.xxh3_128(text).hexdigest().encode()}


def broken_invariants(manifest: Manifest) -> list[str]:
    """The rules a manifest breaks, in words."""
    num_keys = [family.num_keys for family in manifest.catalog.families]
    ids = [family.id for family in manifest.catalog.families]
    paths = [ref.path for ref in manifest.segments]
    if not all(map(is_path, paths)):
        return ["no path leaves the operator's folder"]
    versions = [ref.name.version for ref in manifest.segments]
    parent = parse_name(manifest.parent)
    rules = {
        "the number of key groups lies in 1..32768": 1 <= manifest.max_parallelism <= MAX_PARALLELISM,
        "counts are not negative": min(manifest.rows, manifest.partitions, manifest.version, *num_keys) >= 0,
        "no segment is newer than the version": all(v <= manifest.version for v in versions),
        "segments are listed newest first": versions == sorted(versions, reverse=True),
        "no segment is listed twice": len(set(paths)) == len(paths),
        "the parent is an older version file": not manifest.parent
        or (parent is not None and parent.kind == "version" and parent.version < manifest.version),
        "only a version file names others": manifest.kind == "version" or not (manifest.segments or manifest.changelog),
        "the changelog is that of the version": manifest.changelog is None
        or manifest.changelog.path == f"{manifest.store}/{FileName('changelog', manifest.version, manifest.id)}",
        "there is a column family": len(ids) > 0,
        "column families are numbered": ids == sorted(set(ids)) and max(ids, default=0) < manifest.catalog.next_family,
        "column families have numbers of 16 bits": manifest.catalog.next_family <= MAX_FAMILIES,
    }
    return [rule for rule, holds in rules.items() if not holds]


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
    if broken := broken_invariants(manifest):
        raise CheckpointError("the manifest of a file is not valid", path=name, expected="; ".join(broken))
    return manifest


class _Format(msgspec.Struct):
    format: Count
    written_by: str = ""


def _parsed(text: bytes, kind: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise CheckpointError("the manifest of a file is not valid", path=name, found=str(error)) from error
