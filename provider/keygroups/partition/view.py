"""What a worker is told of its task, and what it tells at the end; both as JSON."""

from __future__ import annotations

import msgspec

from keygroups.segment.span import Span


class StoredFamily(msgspec.Struct, frozen=True, rename="camel"):
    """A column family of a version.

    Attributes:
        number: Its number in segments.
        key_schema: Spark's JSON of its keys' schema.
        value_schema: The same of its values.
        lists: Whether a key has several values.
    """

    number: int
    key_schema: str
    value_schema: str
    lists: bool


class StoredPiece(msgspec.Struct, frozen=True):
    """Rows of a segment.

    Attributes:
        path: Its file.
        span: Which of its rows count.
    """

    path: str
    span: Span


class View(msgspec.Struct, frozen=True, rename="camel"):
    """The version that a task begins with.

    Attributes:
        folder: Where the worker writes its files.
        runs: The version's sorted runs, newest first; of each the pieces in the order of their rows.
        families: The version's column families by their names.
        max_parallelism: Number of key groups.
        watermark: Event time that has passed, in milliseconds since 1970.
        now: Time of the batch, in the same unit.
        partition: Number of the partition.
        partitions: How many there are.
    """

    folder: str
    runs: tuple[tuple[StoredPiece, ...], ...]
    families: dict[str, StoredFamily]
    max_parallelism: int
    watermark: int
    now: int
    partition: int = 0
    partitions: int = 1


class WrittenChunk(msgspec.Struct, frozen=True, rename="camel"):
    """A chunk file, and how long its parts are."""

    path: str
    rows: int
    key_bytes: int
    value_bytes: int


class WrittenFamily(msgspec.Struct, frozen=True, rename="camel"):
    """A column family and what was written to it.

    Attributes:
        name: Its name in Spark.
        key_schema: Spark's JSON of the key's schema.
        value_schema: The same of the value.
        prefix_columns: Leading columns of a key that a prefix scan gives; 0 if there is none.
        range_columns: Leading columns by which keys are sorted; 0 if they are sorted by hash.
        lists: Whether a key has several values.
        internal: Whether its keys are not counted as the user's.
        new_keys: Keys that it has more than before.
        chunks: The writes, oldest first.
        replaces: Whether these are all rows of the family, in place of those in the version, which have another form.
    """

    name: str
    key_schema: str
    value_schema: str
    prefix_columns: int
    range_columns: int
    lists: bool
    internal: bool
    new_keys: int
    chunks: tuple[WrittenChunk, ...]
    replaces: bool = False


class Written(msgspec.Struct, frozen=True, rename="camel"):
    """What a task has done.

    Attributes:
        families: All families of the function.
        next_timer: When its next processing timer is due, in milliseconds since 1970; None if it has none.
        metrics: The function's counters and gauges.
    """

    families: tuple[WrittenFamily, ...]
    next_timer: int | None = None
    metrics: dict[str, int] = {}
