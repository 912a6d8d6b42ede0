"""What a reader may answer, decided without the product's code.

There are two kinds of input. One is *damaged*: its checksums were left alone, so what is accepted has the original's
rows. The other is *forged*: its author made checksums fit, so it may say anything, and what is accepted has the rows
that an independent reading of the same bytes finds. Its manifest decides which files make the version: one that it
lists with no rows is not read.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import xxhash

from campaigns.fuzz.rows import Row, checksum_of_file, manifest_of_file, rows_of_file, rows_of_local, state_of
from keygroups.runs.plan import pieces_of
from keygroups.runs.run import Piece
from keygroups.segment.block import Block
from keygroups.segment.file import Segment
from keygroups.store.version import Version

MAX_ROUTE = 10
_UNREADABLE = (
    pa.ArrowException, OSError, LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError,
    SystemError,  # a value of less than no bytes
)  # fmt: skip
_OMITTED: dict[str, Any] = {
    "format": 2, "checksum": "", "parts": [], "parent": "", "segments": [], "changelog": None, "written_by": "",
    "id": "", "families": [], "next_family": 0, "encoding": "unsaferow", "lists": False, "internal": False, "keys": 0,
    "span": None, "follows": False, "key_groups": None, "spilled": 0, "superseded": [], "root": 0,
}  # fmt: skip
"""What a manifest means where it does not say."""


class Listed(NamedTuple):
    """A file as a manifest lists it, and which of its rows count."""

    path: str
    rows: int
    checksum: str
    span: tuple[int, int]
    key_groups: tuple[range, ...] | None

    def restored(self, rows: Sequence[Row], families: Container[int]) -> Sequence[Row]:
        """What becomes a segment of a file with these rows: with a filter only what counts, of families that exist."""
        if self.key_groups is None:
            return rows
        groups, span = self.key_groups, rows[slice(*self.span)]
        return [row for row in span if row.family in families and any(row.key_group in known for known in groups)]

    def seen(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Which rows of that segment count."""
        return rows[slice(*self.span)] if self.key_groups is None else rows


def judge_segment(segment: Segment, expected: Sequence[Row]) -> None:
    """The segment has these rows: as the store process sees it, and where its layout sends the JVM."""
    data = segment.path.read_bytes()
    assert segment.nbytes == len(data), f"a segment of {segment.nbytes} bytes in a file of {len(data)}"
    _same_rows("by its layout", rows_of_local(data, segment.layout), expected)
    _same_rows("by its blocks", [row for block in segment.blocks for row in _rows_of_block(block)], expected)


def _same_rows(how: str, found: Sequence[Row], expected: Sequence[Row]) -> None:
    if found != list(expected):
        wrong = next((pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]), "")
        raise AssertionError(f"WRONG ROWS {how}: {len(found)} where {len(expected)} were written, {wrong}")


def _rows_of_block(block: Block) -> Iterator[Row]:
    n = len(block)
    flags = [False] * n if block.appended is None else block.appended.to_pylist()
    times = [0] * n if block.written is None else block.written.tolist()
    columns = (
        block.locator.tolist(),
        block.key_group.tolist(),
        block.key.to_pylist(),
        block.value.to_pylist(),
        flags,
        times,
    )
    return (Row(block.family, *values) for values in zip(*columns, strict=True))


def judge_manifest(found: msgspec.Struct, text: bytes | dict[str, Any]) -> None:
    """The manifest, or a part of it, says what its JSON says."""
    raw = (
        text if isinstance(text, dict) else json.loads(text.decode(errors="replace"), strict=False)
    )  # unknown fields may have any bytes
    if isinstance(text, bytes) and raw.get("format", 2) == 2:
        raw["checksum"] = xxhash.xxh3_128_hexdigest(text)
    _same_value("manifest", json.loads(msgspec.json.encode(found)), raw)


def _same_value(where: str, found: Any, raw: Any) -> None:  # noqa: ANN401 - JSON
    if isinstance(found, dict) and isinstance(raw, dict):
        for name, value in found.items():
            _same_value(f"{where}.{name}", value, raw.get(name, _OMITTED.get(name)))
    elif isinstance(found, list) and isinstance(raw, list) and len(found) == len(raw):
        for one, other in zip(found, raw, strict=True):
            _same_value(where, one, other)
    else:
        same = found == raw and isinstance(found, bool) == isinstance(raw, bool)
        assert same, f"WRONG MANIFEST: {where} is {found!r:.100}, its JSON says {raw!r:.100}"


class Originals:
    """The files of a store as they were written.

    Args:
        files: by path.
        latest: path of the version file that is read.
    """

    def __init__(self, files: Mapping[str, bytes], latest: str) -> None:
        self.files, self.latest = files, latest
        self.rows = {path: rows_of_file(data) for path, data in files.items()}
        self.manifests = {path: manifest_of_file(data) for path, data in files.items()}
        self.routes = list(routes(files, latest))
        self.shown = {latest, self.manifests[latest]["changelog"]["path"]}
        self.state = self._state_by(self.routes[0])
        assert all(self._state_by(route) == self.state for route in self.routes), "two ways to a version differ"

    def readable(self, damaged: Container[str]) -> bool:
        """Whether the version can be made of whole files."""
        return any(not any(ref.path in damaged for ref in route) for route in self.routes)

    def judge_version(self, version: Version, files: Mapping[str, bytes], *, forged: bool) -> None:
        """A version that was read from ``files``, which are the originals but for one or two."""
        read = files if forged else self.files
        catalog = manifest_of_file(read[self.latest])["catalog"]
        ways = list(self._readable_ways(routes(read, self.latest) if forged else self.routes, read, catalog))
        paths = [[ref.path for ref, _ in way] for way in ways]
        plan = _paths(version)
        assert plan in paths, f"WRONG FILES: {plan} where {paths} make the version"
        self.judge_pieces(version, ways[paths.index(plan)], read)
        judge_manifest(version.catalog, catalog)
        if not forged:
            assert state_of([_rows_of_piece(piece) for piece in pieces_of(version.plan)]) == self.state, "WRONG STATE"

    def judge_change(self, version: Version, files: Mapping[str, bytes], *, forged: bool) -> None:
        """What a version changed: the rows of its changelog, or where it lists none of its own files."""
        manifest = manifest_of_file(files[self.latest]) if forged else self.manifests[self.latest]
        judge_manifest(version.catalog, manifest["catalog"])
        shown, spilled = manifest.get("changelog"), manifest.get("segments", [])[: manifest.get("spilled", 0)]
        refs = [_ref(shown)] if shown else [_ref(raw) for raw in ({**manifest, "path": self.latest}, *spilled)]
        read = files if forged else self.files
        known = self._with_rows(refs, read, manifest["catalog"])
        if len(known) > 1:
            found = state_of([_rows_of_piece(piece) for piece in pieces_of(version.plan)])
            assert found == state_of([ref.seen(rows) for ref, rows in known]), "WRONG STATE"
            return
        expected = [ref.path for ref, _ in known]
        assert _paths(version) == expected, f"WRONG FILES: {_paths(version)} where {expected} shows the change"
        self.judge_pieces(version, known, read)

    def judge_pieces(
        self, version: Version, known: Sequence[tuple[Listed, Sequence[Row]]], files: Mapping[str, bytes]
    ) -> None:
        """The pieces have the rows of their files, and their files are listed with the right rows and checksum."""
        for piece, (ref, rows) in zip(pieces_of(version.plan), known, strict=True):
            judge_segment(piece.segment, rows)
            assert _rows_of_piece(piece) == ref.seen(rows), f"WRONG ROWS: {piece.span} of {ref}"
            written = len(self._written(ref, files)), checksum_of_file(files[ref.path])
            assert (ref.rows, ref.checksum) == written, f"ACCEPTED UNCHECKED: {ref}, the file has {written}"

    def _readable_ways(
        self, ways: Iterable[Sequence[Listed]], files: Mapping[str, bytes], catalog: Mapping[str, Any]
    ) -> Iterator[list[tuple[Listed, Sequence[Row]]]]:
        """The ways to a version with the rows of their files; without those that list what is no file."""
        for way in ways:
            with suppress(*_UNREADABLE):
                yield self._with_rows(way, files, catalog)

    def _with_rows(
        self, refs: Sequence[Listed], files: Mapping[str, bytes], catalog: Mapping[str, Any]
    ) -> list[tuple[Listed, Sequence[Row]]]:
        """The files that are read, with the rows of their segments."""
        families = {family["id"] for family in catalog["families"]}
        found = ((ref, ref.restored(self._written(ref, files), families)) for ref in refs if ref.rows)
        return [(ref, rows) for ref, rows in found if rows or ref.key_groups is None]

    def _written(self, ref: Listed, files: Mapping[str, bytes]) -> Sequence[Row]:
        """The rows of a file."""
        if files.get(ref.path) == self.files.get(ref.path):
            return self.rows.get(ref.path, [])
        try:
            return rows_of_file(files[ref.path])
        except _UNREADABLE:  # if it is accepted, a filter spares what is damaged of it, or the rows differ
            return self.rows.get(ref.path, [])

    def _state_by(self, route: Sequence[Listed]) -> dict[tuple[int, bytes], bytes]:
        known = self._with_rows(route, self.files, self.manifests[self.latest]["catalog"])
        return state_of([ref.seen(rows) for ref, rows in known])


def routes(files: Mapping[str, bytes], latest: str) -> Iterator[list[Listed]]:
    """The files, newest first, that make a version: as its manifest lists them, then by way of its parents."""
    above: list[Listed] = []
    path = latest
    while path in files and len(above) < MAX_ROUTE:
        try:
            manifest = manifest_of_file(files[path])
            below = [_ref(raw) for raw in manifest.get("segments", [])]
            above.append(_ref({**manifest, "path": path}))
            yield [*above, *below]
            above += below[: manifest.get("spilled", 0)]
            path = f"{latest.rpartition('/')[0]}/{manifest.get('parent')}"
        except _UNREADABLE:  # a damaged parent: no way leads through it
            return


def _ref(raw: Mapping[str, Any]) -> Listed:
    start, stop = raw.get("span") or (0, raw["rows"])
    groups = raw.get("key_groups")
    known = None if groups is None else tuple(range(*numbers) for numbers in groups)
    return Listed(raw["path"], raw["rows"], raw["checksum"], (start, stop), known)


def _rows_of_piece(piece: Piece) -> Sequence[Row]:
    return rows_of_local(piece.segment.path.read_bytes(), piece.segment.layout)[slice(*piece.span)]


def _paths(version: Version) -> list[str]:
    pieces = list(pieces_of(version.plan))
    assert all(len(piece.files) == 1 for piece in pieces), "a piece of several files"
    return [piece.files[0].path for piece in pieces]
