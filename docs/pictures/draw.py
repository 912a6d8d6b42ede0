"""Draws overview.svg: ``python docs/pictures/draw.py``. The picture follows the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

WIDTH: Final = 900
HEIGHT: Final = 400

LIGHT: Final = {
    "ink": "#1f2328",
    "soft": "#59636e",
    "line": "#8c959f",
    "room": "#f6f8fa",
    "box": "#ffffff",
    "flow": "#0969da",
}
DARK: Final = {
    "ink": "#f0f6fc",
    "soft": "#9198a1",
    "line": "#6e7681",
    "room": "#151b23",
    "box": "#0d1117",
    "flow": "#4493f8",
}

ROOMS: Final = (
    (10, 10, 570, 380, "Executor (one machine)"),
    (660, 10, 230, 380, "Checkpoint folder"),
)
"""Left, top, width, height, title."""

BOXES: Final = (
    (28, 46, 200, 122, "Store process: Python", ("sorts the batch's writes", "merges segments", "numpy and Arrow")),
    (
        340,
        46,
        222,
        122,
        "JVM: Spark tasks",
        ("get, put, remove, scans", "memtable: the batch's writes,", "outside of the heap"),
    ),
    (
        28,
        254,
        534,
        122,
        "Local disk: sorted segments",
        (
            "immutable Arrow files, ordered by key group, then key",
            "lookups go from the newest segment to the oldest",
            "a cache: deleted with the executor, rebuilt from the checkpoint",
        ),
    ),
    (
        676,
        46,
        198,
        122,
        "Version files",
        ("v….arrows, one per batch:", "changed rows, and a list of", "the files of the version"),
    ),
    (
        676,
        254,
        198,
        122,
        "Compacted segments",
        ("s….arrows: the newest row", "of each key, in place of", "many version files"),
    ),
)
"""Left, top, width, height, title, lines."""

FLOWS: Final = (
    ("M340 92 H236", 284, 84, "1 chunk file"),
    ("M340 138 H236", 284, 130, "one call"),
    ("M128 168 V246", 136, 215, "2 sorted segment, and its compressed copy"),
    ("M451 254 V176", 459, 215, "3 mmap: reads"),
    ("M562 112 H668", 620, 104, "4 upload"),
    ("M620 112 V322 H668", 620, 322, ""),
)
"""Path, then where its words stand, and the words."""

CENTRED: Final = {"one call", "1 chunk file", "4 upload"}


def style() -> str:
    """The colours, for both themes."""
    return f"{rules(LIGHT)}@media (prefers-color-scheme: dark) {{{rules(DARK)}}}"


def rules(colours: dict[str, str]) -> str:
    """CSS of one theme."""
    return (
        f"text{{fill:{colours['ink']}}}.soft{{fill:{colours['soft']}}}.words{{fill:{colours['flow']}}}"
        f".room{{fill:{colours['room']};stroke:{colours['line']}}}.box{{fill:{colours['box']};stroke:{colours['line']}}}"
        f".flow{{stroke:{colours['flow']};fill:none}}.head{{fill:{colours['flow']}}}"
    )


def picture() -> str:
    """The whole picture."""
    return "\n".join([
        (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" font-family="-apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13">'),
        "<title>Keygroups: the JVM and the store process of an executor, and the checkpoint</title>",
        f"<style>{style()}</style>",
        ('<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>'),
        *(room(*each) for each in ROOMS),
        *(box(*each) for each in BOXES),
        *(flow(*each) for each in FLOWS),
        "</svg>\n",
    ])  # fmt: skip


def room(left: int, top: int, width: int, height: int, title: str) -> str:
    """A large box around others."""
    return rectangle("room", left, top, width, height) + words(left + 14, top + 24, title, 'class="soft"')


def box(left: int, top: int, width: int, height: int, title: str, lines: Iterable[str]) -> str:
    """A box with a bold title and lines of text."""
    shown = [rectangle("box", left, top, width, height), words(left + 12, top + 26, title, 'font-weight="600"')]
    shown += [words(left + 12, top + 54 + 22 * number, line, 'class="soft"') for number, line in enumerate(lines)]
    return "".join(shown)


def flow(path: str, x: int, y: int, text: str) -> str:
    """An arrow with its words."""
    anchor = "middle" if text in CENTRED else "start"
    return f'<path class="flow" stroke-width="1.6" marker-end="url(#head)" d="{path}"/>' + words(
        x, y, text, f'class="words" font-size="12" text-anchor="{anchor}"'
    )


def rectangle(kind: str, left: int, top: int, width: int, height: int) -> str:
    """A rectangle with round corners."""
    return f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>'


def words(x: int, y: int, text: str, attributes: str) -> str:
    """One line of text."""
    return f'<text x="{x}" y="{y}" {attributes}>{escape(text)}</text>'


if __name__ == "__main__":
    Path(__file__).with_name("overview.svg").write_text(picture(), encoding="utf-8")
