"""What a query has shown: the rows of every attempt at every batch, and its state at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path

from support.rows import Records, normal_rows

NAME = re.compile(r"batch-(\d+)-attempt-(\d+)\.json")
STATE = "state.json"


@dataclass(frozen=True)
class Shown:
    """What a query has shown.

    Attributes:
        batches: of each batch the rows of each attempt at it; rows are texts, in order.
        state: rows of each store, by its label.
    """

    batches: dict[int, list[list[str]]]
    state: dict[str, list[str]]


def keep_attempt(folder: Path, batch: int, rows: Iterable[object]) -> None:
    """Write the rows of an attempt beside those of the attempts before; one that was cut leaves no such file."""
    attempt = 1 + len(list(folder.glob(f"batch-{batch}-attempt-*.json")))
    _write(folder / f"batch-{batch}-attempt-{attempt}.json", texts(normal_rows(rows)))


def keep_state(folder: Path, state: Records) -> None:
    """Write the state of all operators."""
    _write(folder / STATE, {label: texts(rows) for label, rows in state.items()})


def read(folder: Path) -> Shown:
    """Read what was written so far; a query that did not come to its end has no state."""
    batches: dict[int, list[list[str]]] = {}
    for path in sorted(folder.glob("batch-*.json"), key=_number):
        batches.setdefault(_number(path)[0], []).append(json.loads(path.read_text()))
    state = folder / STATE
    return Shown(batches, json.loads(state.read_text()) if state.exists() else {})


def texts(rows: Iterable[Hashable]) -> list[str]:
    """Rows in normal form as texts, in order."""
    return sorted(map(repr, rows))


def _number(path: Path) -> tuple[int, int]:
    match = NAME.fullmatch(path.name)
    assert match, f"not a file of an attempt: {path}"
    return int(match[1]), int(match[2])


def _write(path: Path, content: object) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.rename(path)
