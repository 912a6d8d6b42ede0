"""Checkpoint files that nothing needs, found with pyarrow alone and not with our own code."""

from __future__ import annotations

import re
from pathlib import Path

from support.state_files import manifest_of

NAME = re.compile(r"([vs])(\d{20})_([0-9a-f]{32})\.arrows?")


def unneeded(checkpoint: Path, retain: int = 2) -> list[Path]:
    """State files of a query that are older than its retained versions, and that none of these needs.

    Args:
        checkpoint: of the query.
        retain: Spark's minBatchesToRetain: versions before the latest that stay loadable.
    """
    folders = {path.parent for path in (checkpoint / "state").rglob("v*.arrows")}
    return [path for folder in sorted(folders) for path in _unneeded(folder, retain)]


def versions(folder: Path) -> dict[int, list[Path]]:
    """The version files of a store's folder, by version; several where several attempts wrote one."""
    found: dict[int, list[Path]] = {}
    for path in sorted(folder.glob("v*.arrows")):
        found.setdefault(int(_parts(path)[1]), []).append(path)
    return found


def _unneeded(folder: Path, retain: int) -> list[Path]:
    found = versions(folder)
    oldest = max(found) - retain
    retained = [path for version, paths in found.items() if version >= oldest for path in paths]
    earliest = min(_parts(path)[2] for path in retained)
    needed = {name for path in retained for name in (path.name, *_listed(path))}
    files = [path for path in folder.iterdir() if path.is_file() and path.name not in needed]
    return [path for path in files if int(_parts(path)[1]) < oldest and _waits_until(path) < _begun(earliest)]


def _begun(id_: str) -> int:
    """Microseconds since 1970."""
    return int(id_[:16], 16)


def _waits_until(path: Path) -> int:
    """Who did not see a segment listed does not know whether its writer is about to list it, for an hour."""
    kind, _, id_ = _parts(path)
    return _begun(id_) + (3600 * 1_000_000 if kind == "s" else 0)


def _listed(path: Path) -> list[str]:
    return [Path(segment["path"]).name for segment in manifest_of(path)["segments"]]


def _parts(path: Path) -> tuple[str, str, str]:
    match = NAME.fullmatch(path.name)
    assert match, f"no file of ours: {path}"
    return match[1], match[2], match[3]
