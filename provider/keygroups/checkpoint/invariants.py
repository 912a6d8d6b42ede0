"""What holds of every manifest: checked before one is written, and when one is read."""

from __future__ import annotations

from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from keygroups.checkpoint.catalog import MAX_FAMILIES
from keygroups.checkpoint.filters import name_groups, share_rows
from keygroups.checkpoint.names import FileName, is_path, parse_name, store_name
from keygroups.segment.block import MAX_PARALLELISM

if TYPE_CHECKING:
    from keygroups.checkpoint.manifest import FileRef, Manifest, Part

MOST_ROWS = 1 << 17
"""Of a block: what a few compressed bytes may become is bounded by it."""


def broken_invariants(manifest: Manifest) -> list[str]:
    """The rules a manifest breaks, in words."""
    return _broken_bounds(manifest) or _broken_rules(manifest)


def _broken_bounds(manifest: Manifest) -> list[str]:
    """Those without which the others can't be judged."""
    refs = manifest.segments
    rules = {
        "no path leaves the operator's folder": all(is_path(ref.path) for ref in refs),
        "the number of key groups lies in 1..32768": 1 <= manifest.max_parallelism <= MAX_PARALLELISM,
        "references are to rows of files": all(
            0 <= ref.span.start < ref.span.stop <= ref.rows for ref in refs if ref.span is not None
        ),
        "filters name key groups, each once": all(
            name_groups(ref.key_groups, manifest.max_parallelism) for ref in refs if ref.key_groups is not None
        ),
    }
    return [rule for rule, holds in rules.items() if not holds]


def _broken_rules(manifest: Manifest) -> list[str]:
    num_keys = [family.num_keys for family in manifest.catalog.families]
    ids = [family.id for family in manifest.catalog.families]
    versions = [ref.name.version for ref in manifest.segments]
    parent = parse_name(manifest.parent)
    logged = (manifest.changelog,) if manifest.changelog else ()
    rules = {
        "counts are not negative": min(manifest.rows, manifest.partitions, manifest.version, *num_keys) >= 0,
        "no segment is newer than the version": all(v <= manifest.version for v in versions),
        "no rows are listed twice": not _overlap(manifest.segments, manifest.max_parallelism),
        "all files are of stores of this name": all(
            store_name(ref.store) == store_name(manifest.store) for ref in manifest.segments
        ),
        "the parent is an older version file": not manifest.parent
        or (parent is not None and parent.kind == "version" and parent.version < manifest.version),
        "blocks lie one behind another": _in_order(manifest.parts),
        "the rows are those of the blocks": manifest.format == 1
        or manifest.rows == sum(block.rows for part in manifest.parts for block in part.blocks),
        "the first file follows no other": not any(ref.follows for ref in (manifest.segments[:1] + logged)),
        "all rows of a changelog count": all(ref == ref.whole for ref in logged),
        "the spilled files are listed": manifest.spilled <= len(manifest.segments),
        "only a version file names others": manifest.kind == "version" or not (manifest.segments or manifest.changelog),
        "the changelog is that of the version": manifest.changelog is None
        or manifest.changelog.path
        == f"{manifest.store}/{FileName('changelog', manifest.version, manifest.id, manifest.format)}",
        "there is a column family": len(ids) > 0,
        "column families are numbered": ids == sorted(set(ids)) and max(ids, default=0) < manifest.catalog.next_family,
        "column families have numbers of 16 bits": manifest.catalog.next_family <= MAX_FAMILIES,
    }
    return [rule for rule, holds in rules.items() if not holds]


def _in_order(parts: tuple[Part, ...]) -> bool:
    """Whether no block begins before the end of the one before, and each has rows and locators that ascend."""
    end = 0
    for part in parts:
        for block in part.blocks:
            if block.offset < end or not 0 < block.rows <= MOST_ROWS or block.first > block.last:
                return False
            end = block.offset + block.length
    families = [part.family for part in parts]
    return families == sorted(families)


def _overlap(refs: tuple[FileRef, ...], max_parallelism: int) -> bool:
    """Whether two references are to the same rows of a file."""
    by_path = groupby(sorted(refs, key=attrgetter("path")), key=attrgetter("path"))
    return any(_share_rows(list(found), max_parallelism) for _, found in by_path)


def _share_rows(refs: list[FileRef], max_parallelism: int) -> bool:
    """Whether two references to one file are to the same rows; most files have one reference, and no filter."""
    if any(ref.key_groups is not None for ref in refs):
        return share_rows([(ref.counted, ref.key_groups) for ref in refs], max_parallelism)
    spans = sorted(ref.counted for ref in refs)
    return any(span.stop > more.start for span, more in pairwise(spans))
