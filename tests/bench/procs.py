"""Memory of a process and its descendants, read from ``/proc`` (Linux)."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_PROC: Final = Path("/proc")


def family(root: int) -> list[int]:
    """List a process and all its descendants: for a JVM, also the servers that it started."""
    children = defaultdict(list)
    for stat in _PROC.glob("[0-9]*/stat"):
        text = _read(stat)
        if text:
            parent = int(text.rpartition(")")[2].split()[1])
            children[parent].append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found.extend(children[pid])
    return found


def proportional_bytes(root: int) -> int:
    """Sum the proportional set size of a family: a mapped page that several of them hold counts once."""
    return sum(_kilobytes(pid, "smaps_rollup", "Pss:") for pid in family(root)) * 1024


def resident_bytes(root: int) -> int:
    """Sum the resident set size of a family: cheap, but a mapped page counts in each process that touched it."""
    return sum(_kilobytes(pid, "status", "VmRSS:") for pid in family(root)) * 1024


def _kilobytes(pid: int, file: str, label: str) -> int:
    lines = _read(_PROC / str(pid) / file).splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(label)), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:  # the process ended in the meantime
        return ""


class PeakMemory:
    """Samples the resident bytes of a process family five times a second and keeps the largest sum."""

    def __init__(self, root: int) -> None:
        """Watch ``root`` and its descendants while the block runs."""
        self.bytes = 0
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, resident_bytes(self._root))
            if self._done.wait(0.2):
                return
