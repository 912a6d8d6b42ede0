"""What goes wrong while a job runs: each injector does it once, or finds that it can't at that moment."""

from __future__ import annotations

import contextlib
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

STORE, EXECUTOR, DRIVER, WORKER = "keygroups.bridge", "CoarseGrainedExecutorBackend", "SparkSubmit", "pyspark.daemon"

Injector = Callable[[psutil.Process, random.Random], bool]
"""Does its fault to a job's processes; whether it could."""


def kill(word: str, *, leaves: bool = False, beside: str = "") -> Injector:
    """kill -9 of one of the processes below the job whose command line has a word.

    Args:
        word: in the command line.
        leaves: only processes that one of the same kind has forked.
        beside: only while the job has a process with this word too.
    """

    def inject(job: psutil.Process, rng: random.Random) -> bool:
        all_of_them = job.children(recursive=True)
        found = [p for p in all_of_them if _has(p, word) and (not leaves or _has(p.parent(), word))]
        if not found or not any(_has(p, beside) for p in all_of_them):
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            rng.choice(found).kill()
            return True
        return False

    return inject


def _has(process: psutil.Process | None, word: str) -> bool:
    try:
        return process is not None and any(word in part for part in process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


@dataclass
class Disk:
    """A small file system of its own.

    Attributes:
        path: where it is mounted.
    """

    path: Path

    def fill(self, _job: psutil.Process, rng: random.Random) -> bool:
        """Take all of its room for a moment."""
        ballast = self.path / "ballast"
        try:
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(65536))
            _pause(rng)
        finally:
            ballast.unlink(missing_ok=True)
        return True

    def protect(self, _job: psutil.Process, rng: random.Random) -> bool:
        """Make it read-only for a moment."""
        if subprocess.run(["mount", "-o", "remount,ro", str(self.path)], capture_output=True, check=False).returncode:
            return False  # a file is being written; the next time
        _pause(rng)
        subprocess.run(["mount", "-o", "remount,rw", str(self.path)], check=True)
        return True


@contextmanager
def disk(path: Path, megabytes: int) -> Iterator[Disk]:
    """Mount a small file system; takes root."""
    path.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)], check=True)
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def _pause(rng: random.Random) -> None:
    threading.Event().wait(rng.uniform(0.2, 1.5))
