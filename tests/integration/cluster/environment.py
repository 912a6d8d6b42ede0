"""Python environments for executors, none of which can see this source tree."""

from __future__ import annotations

import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

NAME = "spark-keygroups"


def borrowed(folder: Path, wheel: Path | None, *, without: Iterable[str] = ()) -> Path:
    """An environment with the packages that the wheel needs, borrowed from this interpreter's: made in no time.

    Args:
        folder: where; does not exist.
        wheel: to be installed in it, or None.
        without: packages that it must not have.

    Returns:
        Its interpreter.
    """
    venv.create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in _needed(NAME) - {NAME, *without}:
        _borrow(name, packages)
    if wheel:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    return folder / "bin" / "python"


def _borrow(name: str, packages: Path) -> None:
    """Link a package's files; files in folders above are programs, which nothing imports."""
    package = distribution(name)
    for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        link = packages / top
        if not link.exists():
            link.symlink_to(Path(str(package.locate_file(top))).resolve())


def _needed(name: str) -> set[str]:
    """A package and all that it needs."""
    found: set[str] = set()
    todo = [name]
    while todo:
        if (next_one := todo.pop()) not in found:
            found.add(next_one)
            todo += _required(next_one)
    return found


def _required(name: str) -> Iterator[str]:
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement.name
