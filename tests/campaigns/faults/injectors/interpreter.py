"""An interpreter for the store process that has something wrong in it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

PATCHES = Path(__file__).with_name("patches")


class Interpreter:
    """Python, with one of the modules of ``faults.injectors.patches`` as its ``sitecustomize``.

    Attributes:
        path: what to start.
    """

    def __init__(self, folder: Path, patch: str, **given: object) -> None:
        """Write it.

        Args:
            folder: for its files; does not exist.
            patch: name of the module.
            **given: what the module finds in the environment, as ``FAULT_<name>``.
        """
        folder.mkdir(parents=True)
        self.path, self._log = folder / "python", folder / "log"
        shutil.copy(PATCHES / f"{patch}.py", folder / "sitecustomize.py")
        variables = {f"FAULT_{name.upper()}": str(value) for name, value in {**given, "log": self._log}.items()}
        exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        path = f'export PYTHONPATH={shlex.quote(str(folder))}:"$PYTHONPATH"'
        self.path.write_text("\n".join(["#!/bin/sh", *exports, path, f'exec {shlex.quote(sys.executable)} "$@"', ""]))
        self.path.chmod(0o755)
        self._log.touch()

    def injected(self) -> list[str]:
        """What the process did to itself: each time leaves a line in its log."""
        return self._log.read_text().splitlines()
