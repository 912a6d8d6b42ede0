"""Disks that are full or read-only while something is written."""

from __future__ import annotations

import contextlib
import random
import subprocess
import time
from pathlib import Path

from campaigns.faults.injectors.life import Injector, Life

FULL = "(No space left on device|disk is full)"
READ_ONLY = "(Read-only file system)"
MEGABYTES = 64
BUSY_SECONDS = 1.0


class Disk(Injector):
    """A small file system of its own; the fault lasts until a write has failed, and a moment more. Takes root."""

    evidence = FULL

    def __init__(self, path: Path, conf: dict[str, str]) -> None:
        """Mount it.

        Args:
            path: where; does not exist.
            conf: settings that put something there.
        """
        path.mkdir(parents=True)
        self._path, self._conf = path, conf
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(path)], check=True)

    def conf(self, _rng: random.Random) -> dict[str, str]:
        """Settings that put something there."""
        return self._conf

    def strike(self, life: Life, rng: random.Random) -> str | None:
        """Harm it until the log has a write that failed."""
        start = life.written()
        if not self._harm():
            return None
        try:
            found = life.find(self.evidence, start)
            life.over.wait(rng.uniform(0, 0.4))
        finally:
            self._mend()
        return found

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "-l", str(self._path)], check=True)

    def _harm(self) -> bool:
        """Take all of its room."""
        with contextlib.suppress(OSError), (self._path / "ballast").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65536))
        return True

    def _mend(self) -> None:
        (self._path / "ballast").unlink()


class ReadOnlyDisk(Disk):
    """The same, made read-only."""

    evidence = READ_ONLY

    def _harm(self) -> bool:
        """It is not possible while a file is written, so it takes some attempts."""
        deadline = time.monotonic() + BUSY_SECONDS
        command = ["mount", "-o", "remount,ro", str(self._path)]
        while subprocess.run(command, capture_output=True, check=False).returncode:
            if time.monotonic() > deadline:
                return False
        return True

    def _mend(self) -> None:
        subprocess.run(["mount", "-o", "remount,rw", str(self._path)], check=True)
