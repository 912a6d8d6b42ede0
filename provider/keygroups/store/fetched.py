"""Files that the JVM has downloaded for a store."""

from __future__ import annotations

from pathlib import Path

from keygroups.checkpoint.manifest import Manifest, read_manifest
from keygroups.store.spec import Wanted


class Fetched:
    """Downloaded checkpoint files.

    Args:
        folder: where downloads go; exists.
        missing: checkpoint paths that the JVM looked for in vain.
    """

    def __init__(self, folder: Path, missing: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self.missing = missing

    def path_of(self, path: str, *, head: bool = False) -> Path:
        """The local place of a checkpoint path."""
        return self._folder / (path.replace("/", "~") + (".head" if head else ""))

    def require(self, paths: list[str], *, head: bool = False) -> None:
        """Raise ``Wanted`` if any of these is not here, and not known to be missing."""
        lacking = tuple(p for p in paths if p not in self.missing and not self.path_of(p, head=head).exists())
        if lacking:
            raise Wanted(files=lacking, head=head)

    def manifest(self, path: str, *, head: bool = False) -> Manifest:
        """The manifest of a downloaded file. Raises Wanted, CheckpointError, VersionError."""
        self.require([path], head=head)
        return read_manifest(self.path_of(path, head=head), path)

    def discard(self, *, head: bool) -> None:
        """Delete what was downloaded: heads, or whole files."""
        for path in self._folder.iterdir():
            if (path.suffix == ".head") == head:
                path.unlink(missing_ok=True)
