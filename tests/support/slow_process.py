"""An interpreter whose store process is slow, or stuck, where a test says so."""

from __future__ import annotations

import sys
from pathlib import Path

PATCH = """
import threading
from pathlib import Path
from keygroups import progress
from keygroups.segment import file
from keygroups.bridge.process import run

folder, ticking = Path({folder!r}), progress.ticking


def slow(blocks):
    for block in ticking(blocks):
        name = threading.current_thread().name.removeprefix("keygroups-").rstrip("-_0123456789")
        if (folder / f"slow-{{name}}").exists():
            (folder / f"was-slow-{{name}}").touch()
            threading.Event().wait(0.5)
        while (folder / f"stuck-{{name}}").exists():
            (folder / f"was-stuck-{{name}}").touch()
            threading.Event().wait(0.05)
        yield block


file.ticking = slow
run()
"""


class SlowProcess:
    """Where a store process waits before each block of a local segment.

    Args:
        folder: for its files; exists.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "keygroups.bridge.py").write_text(PATCH.format(folder=str(folder)), encoding="utf-8")
        self.python = folder / "python"
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} "{folder}/keygroups.bridge.py"\n', encoding="utf-8")
        self.python.chmod(0o755)

    def slow(self, threads: str) -> None:
        """Half a second for each block, in threads of a name (call, background or writer)."""
        (self._folder / f"slow-{threads}").touch()

    def stuck(self, threads: str) -> None:
        """No block any more."""
        (self._folder / f"stuck-{threads}").touch()

    def was(self, what: str) -> bool:
        """Whether a thread has been slow or stuck, such as ``slow-call``."""
        return (self._folder / f"was-{what}").exists()

    def go_on(self) -> None:
        """As fast as ever."""
        for path in [*self._folder.glob("slow-*"), *self._folder.glob("stuck-*")]:
            path.unlink()
