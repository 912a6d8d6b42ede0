"""The manifest: what a file of the checkpoint is and what the version needs beside it.

It travels in the metadata of the file's Arrow schema: JSON under ``keygroups.manifest``, and the xxh3-128 of that under
``keygroups.manifest.checksum``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from keygroups.checkpoint.names import FileName, Kind, parse_name
from keygroups.errors import CheckpointError, InternalError, VersionError
from keygroups.segment.block import MAX_PARALLELISM

FORMAT = 1
_KEY = b"keygroups.manifest"
_CHECKSUM = b"keygroups.manifest.checksum"


class Family(msgspec.Struct, frozen=True):
    """A column family.

    Attributes:
        id: its number in segments; no other family of the store ever has it.
        name: as Spark calls it.
        key_schema: Spark's JSON of the key's schema.
        value_schema: the same of the value.
        encoder: Spark's KeyStateEncoderSpec as JSON; it says how keys are sorted.
        encoding: of values: ``unsaferow``, or ``avro`` as Spark's AvroStateEncoder writes them.
        lists: a key has any number of values.
        internal: Spark keeps its own books in it.
        keys: keys that it holds.
    """

    id: int
    name: str
    key_schema: str
    value_schema: str
    encoder: str
    encoding: str = "unsaferow"
    lists: bool = False
    internal: bool = False
    keys: int = 0


class Catalog(msgspec.Struct, frozen=True):
    """The column families of a version.

    Attributes:
        families: in the order of their numbers.
        next_family: the number of the next one that is created.
    """

    families: tuple[Family, ...] = ()
    next_family: int = 0

    @property
    def num_keys(self) -> int:
        """Keys in all families."""
        return sum(family.keys for family in self.families)

    @property
    def ids(self) -> frozenset[int]:
        """Numbers of the families that exist."""
        return frozenset(family.id for family in self.families)


class FileRef(msgspec.Struct, frozen=True):
    """A file that a version needs.

    Attributes:
        path: relative to the operator's folder: ``<partition>[/<store>]/<name>``.
        rows: rows in it, tombstones included.
        bytes: its length.
        checksum: xxh3-128 of its column buffers, uncompressed.
    """

    path: str
    rows: int
    bytes: int
    checksum: str

    @property
    def name(self) -> FileName:
        """The parts of the file's name."""
        name = parse_name(self.path.rpartition("/")[2])
        if name is None:
            raise CheckpointError("a manifest names a file that is none", path=self.path)
        return name


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a version file or of a compacted segment.

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
        parent: the version file this one was built on; empty for the first.
        segments: the files below this one, newest first.
        written_by: name and version of the program.
    """

    format: int = FORMAT
    kind: Kind
    store: str
    version: int
    rows: int
    checksum: str
    max_parallelism: int
    partitions: int
    catalog: Catalog
    parent: str = ""
    segments: tuple[FileRef, ...] = ()
    written_by: str = ""

    def metadata(self) -> dict[bytes, bytes]:
        """Arrow schema metadata that carries this manifest.

        Raises:
            InternalError: an invariant does not hold; nothing was written.
        """
        if broken := broken_invariants(self):
            raise InternalError("a manifest is wrong", path=self.store, found="; ".join(broken))
        text = msgspec.json.encode(self)
        return {_KEY: text, _CHECKSUM: xxhash.xxh3_128(text).hexdigest().encode()}


def broken_invariants(manifest: Manifest) -> list[str]:
    """The rules a manifest breaks, in words."""
    keys = [family.keys for family in manifest.catalog.families]
    ids = [family.id for family in manifest.catalog.families]
    versions = [ref.name.version for ref in manifest.segments]
    paths = [ref.path for ref in manifest.segments]
    rules = {
        "the number of key groups lies in 1..32768": 1 <= manifest.max_parallelism <= MAX_PARALLELISM,
        "counts are not negative": min(manifest.rows, manifest.partitions, manifest.version, *keys) >= 0,
        "no segment is newer than the version": all(v <= manifest.version for v in versions),
        "segments are listed newest first": versions == sorted(versions, reverse=True),
        "no segment is listed twice": len(set(paths)) == len(paths),
        "no path leaves the operator's folder": not any(".." in p.split("/") or p.startswith("/") for p in paths),
        "a compacted segment stands alone": manifest.kind == "version" or not manifest.segments,
        "there is a column family": len(ids) > 0,
        "column families are numbered": ids == sorted(set(ids)) and max(ids, default=0) < manifest.catalog.next_family,
    }
    return [rule for rule, holds in rules.items() if not holds]


def read_manifest(path: Path, name: str) -> Manifest:
    """Read the manifest of a downloaded file, whole or cut after its schema.

    Args:
        path: the local copy.
        name: how errors call it.

    Raises:
        CheckpointError: it carries no manifest, or a damaged one.
        VersionError: a newer release wrote it.
    """
    try:
        with pa.OSFile(str(path)) as source:
            source.seek(8)  # the magic and its padding; the schema comes first, so the head of a file is enough
            metadata = ipc.read_schema(source).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError("a file of the checkpoint can't be read", path=name, found=str(error)) from error
    return decode(metadata, name)


def decode(metadata: Mapping[bytes, bytes], name: str) -> Manifest:
    """The manifest in the metadata of an Arrow schema. Raises as ``read_manifest``."""
    text = metadata.get(_KEY, b"")
    expected, found = metadata.get(_CHECKSUM, b"").decode(errors="replace"), xxhash.xxh3_128(text).hexdigest()
    if expected != found:
        raise CheckpointError("the manifest of a file is damaged", path=name, expected=expected, found=found)
    if (written := msgspec.json.decode(text, type=_Format)).format > FORMAT:
        raise VersionError(
            "a newer release of keygroups wrote this checkpoint",
            path=name,
            expected=f"format {FORMAT} or older",
            found=f"format {written.format} by {written.written_by}",
            fix="upgrade keygroups",
        )
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
        broken = broken_invariants(manifest)
    except msgspec.ValidationError as error:
        raise CheckpointError("the manifest of a file is not valid", path=name, found=str(error)) from error
    if broken:
        raise CheckpointError("the manifest of a file is not valid", path=name, found="; ".join(broken))
    return manifest


class _Format(msgspec.Struct):
    format: int
    written_by: str = ""
