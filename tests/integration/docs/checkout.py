"""A checkout of its own, for commands that build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

from support.spark import ROOT


def checkout(folder: Path) -> tuple[Path, Path]:
    """Copy what is under version control, with an environment that is set up.

    The environment borrows the packages of this one, so that `make` finds nothing to install. What it builds and
    installs stays in the checkout.

    Returns:
        The checkout, and the folder of programs of an empty environment beside it, which stands for the user's.
    """
    copy, user = folder / "checkout", folder / "user"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, copy / name)
    _environment(copy)
    venv.create(user, with_pip=True)
    return copy, user / "bin"


def _environment(copy: Path) -> None:
    inside = copy / ".venv"
    venv.create(inside, with_pip=True)
    (packages,) = inside.glob("lib/python*/site-packages")
    # A path in a .pth file adds a folder, but not what the .pth files of that folder add: our sources stay out.
    (packages / "borrowed.pth").write_text(f"{copy / 'provider'}\n{sysconfig.get_path('purelib')}\n")
    for program in ("ruff", "mypy", "lint-imports", "keygroups"):
        _program(inside / "bin" / program, inside / "bin" / "python", Path(sys.executable).with_name(program))
    if (older := ROOT / "build" / "pyspark-4.2.0").is_dir():
        (copy / "build").mkdir()
        (copy / "build" / older.name).symlink_to(older)
    mark = inside / ".installed"
    mark.touch()
    os.utime(mark, (time.time() + 60, time.time() + 60))  # newer than pyproject.toml: nothing is installed


def _program(path: Path, python: Path, original: Path) -> None:
    """A program of this environment, run by the other's interpreter."""
    text = original.read_bytes()
    if text.startswith(b"#!"):
        path.write_bytes(b"#!%s\n" % str(python).encode() + text.partition(b"\n")[2])
        path.chmod(0o755)
    else:
        path.symlink_to(original)
