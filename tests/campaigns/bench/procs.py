"""Memory of a process and its descendants, processor time on this machine, and its page cache."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

_SAMPLE_SECONDS: Final = 0.2


def proportional_bytes(root: int) -> tuple[int, int]:
    """Give the proportional set sizes of a process and of its descendants: a page of both counts half in each."""
    return _weights(root, lambda process: int(process.memory_full_info().pss))


def resident_bytes(root: int) -> int:
    """Sum the resident set size of a family: cheap, but a mapped page counts in each process that touched it."""
    return sum(_weights(root, lambda process: int(process.memory_info().rss)))


def own_bytes(root: int) -> int:
    """Sum the memory of a family that is no page of a file, which the kernel could take back."""
    return sum(_weights(root, _anonymous))


def _anonymous(process: psutil.Process) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:  # ended since it was listed
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def _weights(root: int, measure: Callable[[psutil.Process], int]) -> tuple[int, int]:
    """Weigh a process, and all its descendants together: for a JVM, the servers that it started.

    A child that is about to run another program still has its parent's command, and its memory: that counts once.
    """
    parent = psutil.Process(root)
    command = _command(root)
    children = [child for child in parent.children(recursive=True) if _command(child.pid) != command]
    return measure(parent), sum(_measured(child, measure) for child in children)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # ended since it was listed
        return b""


def _measured(process: psutil.Process, measure: Callable[[psutil.Process], int]) -> int:
    try:
        return measure(process)
    except psutil.NoSuchProcess:  # ended since it was listed
        return 0


def mappings(root: int) -> int:
    """Count the memory mappings of a family: Linux allows a process 65,530."""
    return sum(_weights(root, lambda process: _lines(Path(f"/proc/{process.pid}/maps"))))


def open_files(root: int) -> int:
    """Count the open files of a family."""
    return sum(_weights(root, lambda process: process.num_fds()))


def threads(root: int) -> int:
    """Count the threads of a family."""
    return sum(_weights(root, lambda process: process.num_threads()))


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:  # ended since it was listed
        return 0


class Peak:
    """The largest sum that was seen."""

    value = 0


@contextmanager
def peak_of(root: int, measure: Callable[[int], int] = resident_bytes) -> Iterator[Peak]:
    """Sample a measure of a process and its descendants while a block runs."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        finished = False
        while not finished:
            peak.value = max(peak.value, measure(root))
            finished = done.wait(_SAMPLE_SECONDS)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


class OtherLoad:
    """Processor seconds that other processes took while a block ran: their work disturbs what is measured."""

    seconds = 0.0


@contextmanager
def other_load() -> Iterator[OtherLoad]:
    """Measure a block that runs child processes to their end."""
    load, before = OtherLoad(), _others()
    yield load
    load.seconds = max(0.0, _others() - before)


def _others() -> float:
    """Give the processor seconds that this machine has spent, but not on this process and its finished children."""
    times = psutil.cpu_times()
    busy = times.user + times.nice + times.system + times.irq + times.softirq + times.steal
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return float(busy) - sum(usage.ru_utime + usage.ru_stime for usage in usages)


def drop_page_cache(folder: Path) -> str:
    """Make the next process read its files from the disk: all files as root, else those below a folder.

    Returns:
        What was done.
    """
    os.sync()
    with suppress(PermissionError, FileNotFoundError):
        Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
        return "all files (drop_caches)"
    for path in (path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return "the checkpoint's files (posix_fadvise)"
