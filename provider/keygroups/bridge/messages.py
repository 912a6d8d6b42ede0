"""What crosses the bridge: one JSON object each way a call."""

from __future__ import annotations

import msgspec

from keygroups.checkpoint.manifest import Catalog
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.segment.layout import BlockLayout
from keygroups.store.publish import Upload
from keygroups.store.spec import Listed, StoreSpec, Version, VersionKey


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all messages: camel case in JSON, nothing unknown."""


class Open(Message, frozen=True):
    """Open a store. ``settings`` are names without prefix."""

    spec: StoreSpec
    settings: dict[str, str]


class Load(Message, frozen=True):
    """Load a version; ``listing`` and ``missing`` are what the JVM has brought or not found so far."""

    store: int
    key: VersionKey
    listing: list[Listed] | None = None
    missing: list[str] = []


class ReadChange(Message, frozen=True):
    """Ask what a version changed, each write of it or each key; see ``Load``."""

    store: int
    key: VersionKey
    writes: bool
    listing: list[Listed] | None = None
    missing: list[str] = []


class Apply(Message, frozen=True):
    """Hand over full chunks of a session that goes on."""

    store: int
    session: str
    chunks: list[Chunk]
    written: int = 0


class Commit(Message, frozen=True):
    """Hand over the last chunks of a session and make the next version, of them alone if ``empty``."""

    store: int
    session: str
    base: VersionKey
    chunks: list[Chunk]
    catalog: Catalog
    written: int = 0
    empty: bool = False
    changelog: list[Chunk] = []


class Abort(Message, frozen=True):
    """Drop a session."""

    store: int
    session: str


class Forget(Message, frozen=True):
    """Drop a version whose upload failed."""

    store: int
    key: VersionKey


class Compact(Message, frozen=True):
    """Compact the latest version, if it is time to."""

    store: int
    thorough: bool


class Uploaded(Message, frozen=True):
    """A compacted segment is durable, or its upload failed."""

    store: int
    name: str
    success: bool


class Deletable(Message, frozen=True):
    """Ask what retention may delete."""

    store: int
    retain: int
    listing: list[Listed] | None = None
    missing: list[str] = []


class Close(Message, frozen=True):
    """Close a store and delete its local files."""

    store: int


class SegmentView(Message, frozen=True):
    """A local segment, as the JVM maps it."""

    id: str
    path: str
    rows: int
    bytes: int
    blocks: list[BlockLayout]


class VersionView(Message, frozen=True):
    """A version, as the JVM sees it: segments newest first."""

    key: VersionKey
    catalog: Catalog
    max_parallelism: int
    segments: list[SegmentView]


class ChangeView(Message, frozen=True):
    """A version with the rows that it changed only, and the version it was built on."""

    version: VersionView
    parent: VersionKey | None


class Committed(Message, frozen=True):
    """The new version, the files that make it durable, in their order, and whether to compact."""

    version: VersionView
    uploads: list[Upload]
    compact: bool
    sort_millis: int


class Want(Message, frozen=True):
    """What the JVM must bring; then it calls again."""

    listing: bool
    files: list[tuple[str, str]]
    head: bool


class Failure(Message, frozen=True):
    """An error: its kind tells the JVM what to throw."""

    kind: str
    message: str


def segment_view(segment: Segment) -> SegmentView:
    """The segment as the JVM maps it."""
    return SegmentView(
        id=segment.id, path=str(segment.path), rows=segment.rows, bytes=segment.nbytes, blocks=segment.layout
    )


def version_view(version: Version) -> VersionView:
    """The version as the JVM sees it."""
    return VersionView(
        key=version.key,
        catalog=version.catalog,
        max_parallelism=version.max_parallelism,
        segments=[segment_view(run.segment) for run in version.plan],
    )
