"""The fenced code blocks of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.spark import ROOT

FENCE: Final = "```"
_MARK: Final = re.compile(r"<!-- not run(?: `(?P<line>[^`]+)`)?: (?P<reason>.+) -->")


@dataclass(frozen=True)
class Block:
    """A block.

    Attributes:
        page: path below the repository.
        line: of its first fence.
        language: after the fence.
        text: between the fences.
        left_out: a line of the text that is not run, or "".
        reason: why the block, or that line, is not run; else "".
    """

    page: str
    line: int
    language: str
    text: str
    left_out: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether a test runs the block, or at least all lines but one."""
        return self.language in {"sh", "python"} and (not self.reason or bool(self.left_out))

    @property
    def script(self) -> str:
        """What a test runs."""
        lines = self.text.splitlines(keepends=True)
        kept = [line for line in lines if not self.left_out or line.partition("#")[0].strip() != self.left_out]
        assert len(lines) - len(kept) == bool(self.left_out), f"{self}: no line {self.left_out!r}"
        return "".join(kept)


def pages() -> list[Path]:
    """All Markdown files of the documentation."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("conf/*.md")])


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    name = page.relative_to(ROOT).as_posix()
    lines = page.read_text(encoding="utf-8").splitlines()
    before, start, inside = "", 0, False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(FENCE):
            if inside:
                yield _block(name, start, lines, number, before)
            else:
                start = number
            inside = not inside
        elif not inside and line.strip():
            before = line
    assert not inside, f"{name}:{start}: the block has no end"


def _block(page: str, start: int, lines: list[str], end: int, before: str) -> Block:
    language = lines[start - 1].strip().removeprefix(FENCE)
    text = "".join(line + "\n" for line in lines[start : end - 1])
    mark = _MARK.fullmatch(before.strip())
    return Block(page, start, language, text, (mark["line"] or "") if mark else "", mark["reason"] if mark else "")


ALL: Final = [block for page in pages() for block in blocks(page)]
