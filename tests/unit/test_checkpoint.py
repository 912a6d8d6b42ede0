"""Names, manifests, recovery and retention."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
import xxhash

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.filters import GroupRange
from keygroups.checkpoint.manifest import BlockRef, FileRef, Manifest, Part, decode
from keygroups.checkpoint.names import FileName, Kind, foreign_provider, new_name, parse_name, parse_temporary
from keygroups.checkpoint.retention import oldest_retained, retained_versions, unreferenced_files
from keygroups.checkpoint.substitute_files import files_of_version
from keygroups.errors import CapacityError, CheckpointError, InternalError, VersionError
from keygroups.segment.span import Span

FAMILY = Family(0, "default", "{}", "{}", "{}")
OUTSIDE = (
    "", "/", "/0/", "../", "0/../", "0/./", "0//", "..\\0/", "0\\..\\", "s3a://b/", "0/s3a:/", "x/", "0/a/b/", "0/a\0/",
    "0/" + "a" * 200 + "/",
)  # fmt: skip
"""What stands before the name in paths that are not to be followed."""


def name(version: int, kind: Kind = "version", digit: str = "0") -> str:
    """A file name with a readable id."""
    return str(FileName(kind, version, digit * 32))


def ref(version: int, kind: Kind = "version", digit: str = "0") -> FileRef:
    """A file of store 0."""
    return FileRef(f"0/{name(version, kind, digit)}", 10, 100, "c")


def of_groups(version: int, *ranges: tuple[int, int, int]) -> FileRef:
    """A file of store 0 of which some key groups count."""
    return msgspec.structs.replace(ref(version), key_groups=tuple(GroupRange(*numbers) for numbers in ranges))


NO_FILTERS = (
    (), ((0, 0, 1),), ((5, 4, 1),), ((0, 10, 0),), ((0, 10, -1),), ((-1, 10, 1),), ((0, 28801, 1),), ((0, 2**70, 1),),
    ((0, 10, 2**70),), ((0, 10, 2), (4, 5, 1)), ((0, 28800, 1),) * 10_000,
)  # fmt: skip
"""Ranges that name no key group, one that does not exist, or one twice."""

PARTS = (Part(0, -8, [BlockRef(0, 50, 4, 1, 5, "a"), BlockRef(50, 40, 6, 5, 9, "b")]),)


def manifest(version: int, segments: tuple[FileRef, ...] = (), parent: str = "") -> Manifest:
    """A valid manifest."""
    return Manifest(
        kind="version", store="0", version=version, rows=10, parts=PARTS, max_parallelism=28800, partitions=2,
        catalog=Catalog((FAMILY,), 1), parent=parent, segments=segments,
    )  # fmt: skip


def test_names_round_trip_and_order_attempts() -> None:
    """A later attempt has the greater name."""
    first, second = new_name("version", 7), new_name("version", 7)
    assert parse_name(str(first)) == first
    assert len({str(first), str(second)}) == 2
    assert parse_name("v7_x.arrow") is None
    assert parse_temporary(f".{first}.1b2c-3d.tmp") == first
    assert parse_temporary(str(first)) is None


@pytest.mark.parametrize(
    ("file", "provider"),
    [
        ("12.delta", "HDFSBackedStateStoreProvider"),
        ("12.snapshot", "HDFSBackedStateStoreProvider"),
        ("12.zip", "RocksDBStateStoreProvider"),
        ("12_1f9c2a4e-0b1d.changelog", "RocksDBStateStoreProvider"),
        (name(12), None),
        ("_metadata", None),
    ],
)
def test_files_of_other_providers_are_known(file: str, provider: str | None) -> None:
    """So that a checkpoint of theirs is refused."""
    assert foreign_provider(file) == provider


def test_a_manifest_round_trips() -> None:
    """Through the metadata of an Arrow schema."""
    written = manifest(5, (ref(4), ref(3, "segment")), parent=name(4))
    written = msgspec.structs.replace(written, id="0" * 32, changelog=ref(5, "changelog"))
    metadata, checksum = written.head()
    assert decode(metadata, "file") == msgspec.structs.replace(written, checksum=checksum)


def test_a_file_may_be_listed_for_each_of_its_key_groups() -> None:
    """In another store's folder too; other rows of it may have other key groups."""
    other = msgspec.structs.replace(of_groups(3, (0, 28800, 4)), path=f"7/{name(3)}")
    split = (of_groups(3, (0, 28800, 4)), of_groups(3, (1, 28800, 2), (2, 3, 1)), other)
    parts = (of_groups(4, (0, 28800, 2)).part(Span(0, 6)), of_groups(4, (0, 28800, 4)).part(Span(6, 9)))
    written = manifest(5, (*split, *parts))
    metadata, checksum = written.head()
    assert decode(metadata, "file") == msgspec.structs.replace(written, checksum=checksum)
    assert b'"key_groups":[[1,28800,2],[2,3,1]]' in metadata[b"keygroups.manifest"]
    assert metadata[b"keygroups.manifest"].count(b"key_groups") == 5


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"max_parallelism": 0}, "key groups"),
        ({"max_parallelism": 32769}, "key groups"),
        ({"catalog": Catalog((msgspec.structs.replace(FAMILY, num_keys=-1),), 1)}, "negative"),
        ({"catalog": Catalog((FAMILY,), 0)}, "numbered"),
        ({"catalog": Catalog((FAMILY, FAMILY), 1)}, "numbered"),
        ({"segments": (ref(6),)}, "newer"),
        ({"segments": (ref(3), ref(3))}, "twice"),
        ({"segments": (ref(3).part(Span(0, 6)), ref(4), ref(3).part(Span(5, 9)))}, "twice"),
        ({"segments": (ref(3).part(Span(3, 3)),)}, "rows of files"),
        ({"segments": (ref(3).part(Span(3, 11)),)}, "rows of files"),
        ({"segments": (ref(3).following(follows=True),)}, "follows"),
        ({"segments": (ref(3).part(Span(-1, 2**70)), ref(3))}, "rows of files"),
        *(({"segments": (of_groups(3, *groups),)}, "filters name") for groups in NO_FILTERS),
        ({"segments": (of_groups(3, (0, 28800, 4)), of_groups(3, (1, 28800, 2), (4, 5, 1)))}, "twice"),
        ({"segments": (of_groups(3, (0, 28800, 4)), ref(4), ref(3))}, "twice"),
        ({"segments": (of_groups(3, (5, 6, 1)), ref(3).part(Span(3, 4)))}, "twice"),
        ({"segments": (FileRef(f"1/left/{name(3)}", 1, 1, "c"),)}, "of this name"),
        ({"segments": (FileRef(f"../{name(1)}", 1, 1, "c"),)}, "leaves"),
        *(({"segments": (FileRef(path + name(1), 1, 1, "c"),)}, "leaves") for path in OUTSIDE),
        ({"segments": (FileRef("0/x.arrow", 1, 1, "c"),)}, "leaves"),
        ({"segments": (FileRef(f"0/{name(1)}\n", 1, 1, "c"),)}, "leaves"),
        *(({"parent": parent}, "parent") for parent in (name(5), name(6), name(4, "segment"), f"0/{name(4)}", "x")),
        ({"catalog": Catalog((FAMILY,), 65_537)}, "16 bits"),
        ({"kind": "segment", "segments": (ref(3),)}, "only a version file"),
        ({"kind": "changelog", "changelog": ref(5, "changelog")}, "only a version file"),
        ({"changelog": ref(4, "changelog")}, "changelog is that of the version"),
        ({"changelog": ref(5)}, "changelog is that of the version"),
        ({"catalog": Catalog()}, "column family"),
        ({"rows": 9}, "rows are those of the blocks"),
        (
            {"parts": (Part(0, -8, [BlockRef(0, 50, 4, 1, 5, "a"), BlockRef(49, 40, 6, 5, 9, "b")]),)},
            "one behind another",
        ),
        ({"parts": (Part(0, -8, [BlockRef(0, 50, 10, 5, 1, "a")]),)}, "one behind another"),
        ({"parts": (Part(1, -8, []), Part(0, 50, [BlockRef(60, 50, 10, 1, 5, "a")]))}, "one behind another"),
    ],
)
def test_a_wrong_manifest_is_never_written(changes: dict[str, object], rule: str) -> None:
    """Each invariant is checked before a file is made."""
    with pytest.raises(InternalError, match=rule):
        msgspec.structs.replace(manifest(5), **changes).head()


def test_a_manifest_that_no_reader_would_accept_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version before stays good."""
    monkeypatch.setattr("keygroups.checkpoint.manifest.MAX_BYTES", 1000)
    files = tuple(ref(3).part(Span(row, row + 1)) for row in range(10))
    with pytest.raises(CapacityError, match=r"too long .*at most 1000 bytes.*10 files and 1 families"):
        manifest(5, files).head()


def test_a_damaged_manifest_is_refused() -> None:
    """Any changed byte shows."""
    metadata, _ = manifest(5).head()
    text = metadata[b"keygroups.manifest"]
    for at in range(len(text)):
        damaged = {**metadata, b"keygroups.manifest": text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]}
        with pytest.raises(CheckpointError, match="damaged"):
            decode(damaged, "file")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"rows":10', b'"rows":-1'),
        (b'"rows":10', b'"rows":9223372036854775808'),
        (b'"rows":10', b'"rows":1e400'),
        (b'"rows":10', b'"rows":1' + b"0" * 5000),
        (b'"rows":10', b'"rows":10,"more":' + b"[" * 1_000_000),
        (b'"format":2', b'"format":' + b"[" * 1_000_000),
        (b'"format":2', b'"format":-1'),
        (b'"version":5', b'"version":"5"'),
        (b'"next_family":1', b'"next_family":-1'),
        (b'"kind":"version"', b'"kind":"\\ud800"'),
        (b'"kind":"version"', b'"kind":"\xff"'),
        (b"}", b""),
    ],
)
def test_a_forged_manifest_is_refused(old: bytes, new: bytes) -> None:
    """Its checksum fits: numbers, depth and text are checked, and nothing but a refusal comes of it."""
    text = manifest(5).head()[0][b"keygroups.manifest"]
    assert old in text
    forged = text.replace(old, new)
    checksum = xxhash.xxh3_128(forged).hexdigest().encode()
    with pytest.raises(CheckpointError, match="0/the-file"):
        decode({b"keygroups.manifest": forged, b"keygroups.manifest.checksum": checksum}, "0/the-file")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"num_keys": 7}, True),
        ({"name": "other"}, True),
        ({"id": 1}, False),
        ({"value_schema": "[]"}, False),
        ({"encoder": "[]"}, False),
        ({"lists": True}, False),
        ({"encoding": "avro"}, False),
    ],
)
def test_rows_that_were_checked_count_for_families_of_the_same_form(change: dict[str, object], same: bool) -> None:
    """A file in memory was checked by one catalog; another may read its rows in another way."""
    assert (Catalog((msgspec.structs.replace(FAMILY, **change),), 2).forms <= Catalog((FAMILY,), 2).forms) == same
    assert Catalog().forms <= Catalog((FAMILY,), 2).forms


def test_a_long_chain_of_parents_ends() -> None:
    """Recovery goes back a thousand version files and no more."""
    asked: list[str] = []

    def parent(wanted: str) -> tuple[FileRef, Manifest]:
        asked.append(wanted)
        version = 2**40 - len(asked)
        return ref(version), manifest(version, (ref(1, "segment"),), name(version - 1))

    top = manifest(2**40, (ref(1, "segment"),), name(2**40 - 1))
    assert files_of_version(ref(2**40), top, {ref(1, "segment").path}, parent) is None
    assert len(asked) == 1000


def test_a_newer_format_names_the_release() -> None:
    """The reader is told to upgrade."""
    newer = msgspec.structs.replace(manifest(5), format=3, written_by="keygroups 9.0")
    with pytest.raises(VersionError, match=r"format 3 by keygroups 9\.0.*upgrade"):
        decode(newer.head()[0], "file")


def chain(broken: set[str]) -> Callable[[str], tuple[FileRef, Manifest] | None]:
    """Versions 1 to 4; version 4 is read through a compacted segment of 1 to 3."""
    history = {
        name(1): (ref(1), manifest(1)),
        name(2): (ref(2), manifest(2, (ref(1),), name(1))),
        name(3): (ref(3), manifest(3, (ref(2), ref(1)), name(2))),
    }
    return lambda wanted: None if wanted in broken else history[wanted]


def test_recovery_takes_the_listed_files() -> None:
    """Where all are good."""
    newest = manifest(4, (ref(3, "segment"),), name(3))
    assert files_of_version(ref(4), newest, set(), chain(set())) == [ref(4), ref(3, "segment")]


def test_recovery_goes_round_a_damaged_segment() -> None:
    """By the version files it was merged from."""
    newest = manifest(4, (ref(3, "segment"),), name(3))
    damaged = {ref(3, "segment").path}
    assert files_of_version(ref(4), newest, damaged, chain(set())) == [ref(4), ref(3), ref(2), ref(1)]
    assert files_of_version(ref(4), newest, damaged, chain({name(3)})) is None
    assert files_of_version(ref(4), newest, damaged | {ref(1).path}, chain(set())) is None


def test_recovery_takes_all_writes_of_a_version() -> None:
    """Those too that are not in its own file: without them, what lies below would show again."""
    spilled = ref(3, "segment")
    third = msgspec.structs.replace(manifest(3, (spilled, ref(2), ref(1)), name(2)), spilled=1)
    newest = manifest(4, (ref(4, "segment"),), name(3))
    damaged = {ref(4, "segment").path}

    def parent(wanted: str) -> tuple[FileRef, Manifest]:
        assert wanted == name(3)
        return ref(3), third

    assert files_of_version(ref(4), newest, damaged, parent) == [ref(4), ref(3), spilled, ref(2), ref(1)]
    assert files_of_version(ref(4), newest, damaged | {spilled.path}, parent) is None


def test_retention_keeps_what_retained_versions_refer_to() -> None:
    """And everything young, whether referred to or not."""
    assert oldest_retained(latest=10, versions_to_retain=3) == 7
    oldest = oldest_retained(latest=10, versions_to_retain=2)
    assert oldest == 8
    names = [name(v) for v in range(1, 11)] + [name(6, "segment"), name(9, "segment", "f"), "_metadata"]
    names += [f".{name(2)}.ab.tmp", f".{name(9)}.ab.tmp", name(7, "changelog"), name(8, "changelog")]
    assert retained_versions(names, oldest) == [name(8), name(9), name(10)]
    references = {name(8): frozenset({name(7), name(6, "segment")}), name(10): frozenset({name(9)})}
    assert unreferenced_files(names, oldest, references) == [
        *(name(v) for v in range(1, 7)),
        f".{name(2)}.ab.tmp",
        name(7, "changelog"),
    ]


def test_retention_keeps_a_segment_that_another_executor_is_about_to_list() -> None:
    """It was written after the oldest retained version, so the versions there are can't know it."""
    names = [name(9, digit="2"), name(10, digit="4"), name(5, "segment", "1"), name(5, "segment", "3")]
    assert unreferenced_files(names, 9, {}) == [name(5, "segment", "1")]


def begun(version: int, kind: Kind, minutes: int) -> str:
    """A file name of a time."""
    return str(FileName(kind, version, f"{minutes * 60_000_000:016x}{0:016x}"))


def test_retention_waits_for_a_segment_that_no_version_has_listed() -> None:
    """It may have been named long before its upload ends, and its writer lists it in the version after that."""
    slow, listed, dead, under_way = (begun(5, "segment", minutes) for minutes in (1001, 1002, 999, 1003))
    names = [begun(9, "version", 1060), slow, listed, dead, f".{under_way}.ab.tmp", f".{dead}.ab.tmp"]
    assert unreferenced_files(names, 9, {}, {listed}) == [listed, dead, f".{dead}.ab.tmp"]


def test_what_a_failed_attempt_has_left_goes_once_its_file_is_there() -> None:
    """Also where the file itself is needed for long."""
    segment, oldest = begun(5, "segment", 1), begun(9, "version", 1060)
    names = [oldest, segment, f".{segment}.ab.tmp"]
    assert unreferenced_files(names, 9, {oldest: frozenset({segment})}) == [f".{segment}.ab.tmp"]


def test_retention_keeps_a_file_that_this_process_is_uploading() -> None:
    """Under its temporary name too."""
    under_way = begun(5, "segment", 1)
    names = [begun(9, "version", 1060), f".{under_way}.ab.tmp"]
    assert unreferenced_files(names, 9, {"": frozenset({under_way})}) == []
    assert unreferenced_files(names, 9, {}) == names[1:]
