"""The messages of the bridge: a call is one JSON object as request and one as answer."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from keygroups.checkpoint.catalog import Catalog
from keygroups.runs.run import Piece, batches_of, pieces_of
from keygroups.segment.chunk import Chunk
from keygroups.segment.file import Segment
from keygroups.segment.layout import BlockLayout
from keygroups.store.checkpoint_writer import Upload
from keygroups.store.downloads import Downloads
from keygroups.store.spec import StoreSpec
from keygroups.store.version import Version, VersionKey


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all messages: camel case in JSON, nothing unknown."""


class Open(Message, frozen=True):
    """Open a store. ``settings`` are names without prefix."""

    spec: StoreSpec
    settings: dict[str, str]


class Load(Message, frozen=True):
    """Load a version. ``known`` are ids of segments that the JVM has mapped: the answer does not describe them."""

    store: int
    key: VersionKey
    downloads: Downloads
    known: frozenset[str] = frozenset()


class ReadChange(Message, frozen=True):
    """Ask what a version changed: each write, or each key with its last value."""

    store: int
    key: VersionKey
    writes: bool
    downloads: Downloads


class Spill(Message, frozen=True):
    """Hand over full chunks of a session that continues, whose column families are those of the catalog."""

    store: int
    session: str
    chunks: list[Chunk]
    catalog: Catalog
    batch_time: int = 0


class Save(Message, frozen=True):
    """Write a segment of a session for the checkpoint. For ``base`` and ``empty``, see ``Commit``."""

    store: int
    session: str
    segment: str
    base: VersionKey
    empty: bool = False


class Commit(Message, frozen=True):
    """Hand over the last chunks of a session and make the next version.

    Attributes:
        base: the version that the session was built on.
        empty: whether the next version has no row of that one.
        sorted: ids of the session's segments, newest first.
        saved: those of them whose files are uploaded.
        known: see ``Load``.
    """

    store: int
    session: str
    base: VersionKey
    sorted: list[str]
    chunks: list[Chunk]
    catalog: Catalog
    batch_time: int = 0
    empty: bool = False
    changelog: list[Chunk] = []
    saved: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()


class Abort(Message, frozen=True):
    """Drop a session."""

    store: int
    session: str


class Forget(Message, frozen=True):
    """Drop a version whose upload failed."""

    store: int
    key: VersionKey


class Compact(Message, frozen=True):
    """Do the next piece of a merge of the latest version, if one is due. See ``Compaction.run``."""

    store: int
    thorough: bool
    newest: bool = False


class Install(Message, frozen=True):
    """Have plans read what ``Compact`` has merged. See ``Compaction.install``, and ``Load``."""

    store: int
    segment: str
    known: frozenset[str] = frozenset()


class Abandon(Message, frozen=True):
    """Leave plans as they are: what ``Compact`` has merged cannot be used. See ``Compaction.abandon``."""

    store: int
    segment: str


class Uploaded(Message, frozen=True):
    """The upload of a compacted segment has ended."""

    store: int
    name: str
    success: bool


class Deletable(Message, frozen=True):
    """Ask for the names of the files that retention may delete."""

    store: int
    retain: int
    downloads: Downloads


class Await(Message, frozen=True):
    """Ask after an operation that was still worked on."""

    ticket: int


class Cancel(Message, frozen=True):
    """Cancel an operation: nobody waits for it any more."""

    ticket: int


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


class PieceView(Message, frozen=True):
    """Rows of a segment, from ``start`` to ``stop`` (exclusive)."""

    id: str
    start: int
    stop: int


class VersionView(Message, frozen=True):
    """A version as the JVM sees it.

    Attributes:
        revision: of two answers with one key the later one has the higher.
        runs: newest first; of each the pieces in the order of their rows.
        batches: how many batches or merges made the runs.
        segments: those of the pieces that the JVM does not know.
    """

    key: VersionKey
    catalog: Catalog
    max_parallelism: int
    revision: int
    runs: list[list[PieceView]]
    batches: int
    segments: list[SegmentView]


class ChangeView(Message, frozen=True):
    """A version with only the rows that it changed, and the version it was built on."""

    version: VersionView
    parent: VersionKey | None


class Committed(Message, frozen=True):
    """A commit's result.

    Attributes:
        version: the new version.
        uploads: the files that make it durable, in their order.
        compact: whether a compaction is due.
        write_millis: time to sort, merge and write the files.
    """

    version: VersionView
    uploads: list[Upload]
    compact: bool
    write_millis: int


class Installed(Message, frozen=True):
    """The latest version with the merged piece, and the file to upload unless the piece has no rows."""

    version: VersionView
    upload: Upload | None


class Pending(Message, frozen=True):
    """The call is still worked on: ask after it.

    Attributes:
        ticket: number of the operation.
        progress: steps done so far, such as blocks written.
    """

    ticket: int
    progress: int


class Want(Message, frozen=True):
    """What the JVM must bring before it calls again.

    Attributes:
        listings: stores whose folders are to be listed.
        files: pairs of checkpoint path and local path.
        head: whether their heads are enough.
    """

    listings: list[str]
    files: list[tuple[str, str]]
    head: bool


class Failure(Message, frozen=True):
    """An error; its kind decides what the JVM throws."""

    kind: str
    message: str


def segment_view(segment: Segment) -> SegmentView:
    """The segment as the JVM maps it."""
    return SegmentView(
        id=segment.id, path=str(segment.path), rows=segment.rows, bytes=segment.nbytes, blocks=segment.layout
    )


def _piece_view(piece: Piece) -> PieceView:
    return PieceView(id=piece.segment.id, start=piece.span.start, stop=piece.span.stop)


def version_view(version: Version, known: Container[str] = ()) -> VersionView:
    """The version as the JVM sees it that knows some segments."""
    segments = {piece.segment.id: piece.segment for piece in pieces_of(version.plan)}
    return VersionView(
        key=version.key,
        catalog=version.catalog,
        max_parallelism=version.max_parallelism,
        revision=version.revision,
        runs=[[_piece_view(piece) for piece in run.pieces] for run in version.plan],
        batches=len(batches_of(version.plan)),
        segments=[segment_view(segment) for id_, segment in segments.items() if id_ not in known],
    )
