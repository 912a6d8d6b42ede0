"""The error messages that the sources can raise, with ``…`` for what varies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from keygroups import errors
from support.spark import ROOT

PYTHON: Final = ROOT / "provider" / "keygroups"
SCALA: Final = ROOT / "jvm-shim"
_KINDS: Final = {name for name in vars(errors) if name.endswith("Error")} - {"KeygroupsError"}
_RAISED: Final = re.compile(
    r"""(?:\b(?:setting|version|retry|capacity|unavailable)|KeyGroupsException|cannotStart)\(
    (?:"[a-z]+",\s|python,\s|[\w.() =>]+,\s)?\s*   # the kind, or another argument before the text
    (s?"(?:[^"\\]|\\.)*"(?:\s*\+\s*s?"(?:[^"\\]|\\.)*")*)""",
    re.VERBOSE,
)
_LITERAL: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_INSERTED: Final = re.compile(r"\$\{[^}]*\}|\$\w+")


def raised() -> set[str]:
    """The beginning of each message, up to its details or its fix."""
    found = {text for path in PYTHON.rglob("*.py") for text in _python(path.read_text(encoding="utf-8"))}
    found |= {text for path in SCALA.rglob("*.scala") for text in _scala(path.read_text(encoding="utf-8"))}
    return {text for text in found if " " in text}


def _python(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _KINDS and node.args:
            yield _beginning(_text(node.args[0]))


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "…"


def _scala(source: str) -> Iterator[str]:
    for match in _RAISED.finditer(source):
        literal = "".join(_LITERAL.findall(match[1]))
        yield _beginning(_INSERTED.sub("…", literal))


def _beginning(text: str) -> str:
    beginning = re.split(r": (?=[a-z…])| \((?=path|expected|found|…)", text)[0]
    return re.sub(r"…+", "…", beginning).strip()
