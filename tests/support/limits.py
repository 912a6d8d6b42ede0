"""Limits that a job runs under: the memory of all its processes, and the disk's read-ahead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_GROUPS: Final = Path("/sys/fs/cgroup")
_NAME: Final = "keygroups-bench"
_INTO: Final = ("sh", "-c", 'echo $$ > "$0" && exec "$@"')


class Limit(NamedTuple):
    """A limit of memory.

    Attributes:
        kind: ``cgroup v1``, ``cgroup v2``, or why there is none.
        group: Folder of the group; None without one.
    """

    kind: str
    group: Path | None = None

    def command(self, command: Sequence[str]) -> list[str]:
        """Give the command that runs another in the group."""
        return [*_INTO, str(self.group / "cgroup.procs"), *command] if self.group else list(command)


@contextmanager
def memory_limit(nbytes: int) -> Iterator[Limit]:
    """Make a group whose processes may have so many bytes together, as far as this machine lets us; 0 for none."""
    limit = _made(nbytes) if nbytes else Limit("")
    try:
        yield limit
    finally:
        if limit.group:
            with suppress(OSError):  # a process that is about to end is still in it
                limit.group.rmdir()


def _made(nbytes: int) -> Limit:
    first = (_GROUPS / "memory" / "memory.limit_in_bytes").exists()
    group = _GROUPS / "memory" / _NAME if first else _GROUPS / _NAME
    try:
        group.mkdir(exist_ok=True)
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(nbytes), encoding="ascii")
    except OSError as error:
        return Limit(f"none: {error}")
    return Limit("cgroup v1" if first else "cgroup v2", group)


@contextmanager
def read_ahead(folder: Path, kilobytes: int) -> Iterator[int]:
    """Set the read-ahead of a folder's disk while a block runs, as far as this machine lets us; 0 leaves it.

    Returns:
        The read-ahead that holds, in KB; 0 if it is unknown.
    """
    device = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    files = [path for path in (place / "queue/read_ahead_kb", place.parent / "queue/read_ahead_kb") if path.exists()]
    before = files[0].read_text(encoding="ascii") if files else "0"
    with suppress(OSError):
        if files and kilobytes:
            files[0].write_text(str(kilobytes), encoding="ascii")
    try:
        yield int(files[0].read_text(encoding="ascii")) if files else 0
    finally:
        with suppress(OSError):
            if files and kilobytes:
                files[0].write_text(before, encoding="ascii")
