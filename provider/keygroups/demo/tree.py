"""Shows the files that hold the state of a query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from keygroups.demo.progress import size


def state_files(folder: Path) -> list[Path]:
    """List the files below a folder, without Hadoop's hidden checksum files (``.crc``)."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def summary(folder: Path) -> str:
    """Count the files below a folder and their bytes."""
    sizes = [path.stat().st_size for path in state_files(folder)]
    return f"{len(sizes):,} file{'' if len(sizes) == 1 else 's'}, {size(sum(sizes))}"


def tree(folder: Path, indent: str = "") -> Iterator[str]:
    """Draw a folder in short: only the first of several folders, and the first and last of several files.

    Args:
        folder: The folder.
        indent: What each line begins with.

    Yields:
        Lines.
    """
    yield f"{indent + folder.name + '/':<40} {summary(folder)}"
    folders, files = _children(folder)
    for number, child in enumerate(folders):
        lines = tree(child, indent + "  ")
        yield from islice(lines, 1) if number or child.name.startswith("_") else lines
    if files:
        yield f"{indent}  {files[0].name}"
    if len(files) > 1:
        yield f"{indent}  ... {files[-1].name}"


def _children(folder: Path) -> tuple[list[Path], list[Path]]:
    shown = sorted((path for path in folder.iterdir() if not path.name.startswith(".")), key=_order)
    return [path for path in shown if path.is_dir()], [path for path in shown if path.is_file()]


def _order(path: Path) -> tuple[bool, int, str]:
    # Data before metadata, and 9 before 10.
    digits = path.name.split(".")[0].split("_")[0]
    return path.name.startswith("_"), int(digits) if digits.isdigit() else 0, path.name
