"""Reads the state of one partition of a store, written from ARCHITECTURE.md alone: pyarrow, nothing of keygroups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

Rows = dict[tuple[int, str], tuple[Any, Any]]


def read_file(path: Path) -> tuple[dict[str, Any], list[tuple[int, dict[str, Any]]]]:
    """The manifest of a file, and its rows, each with the number of its family."""
    with pa.OSFile(str(path)) as source:
        stream = ipc.open_stream(source)
        manifest = json.loads(stream.schema.metadata[b"keygroups.manifest"])
        rows = []
        for number, (family, *_) in enumerate(manifest["parts"]):
            stream = stream if number == 0 else ipc.open_stream(source)
            rows += [(family, row) for row in stream.read_all().to_pylist()]
    return manifest, rows


def counted(rows: list[tuple[int, dict[str, Any]]], ref: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file that a reference means."""
    groups = {group for numbers in ref.get("key_groups", [[1 << 16]]) for group in range(*numbers)}
    return [one for one in rows[slice(*ref.get("span", (None,)))] if one[1]["key_group"] in groups]


def comparable(key: Any) -> Any:  # noqa: ANN401
    """The key with texts as bytes, as they are in a part where one of them is not UTF-8."""
    if not isinstance(key, dict):
        return key
    return {name: part.encode() if isinstance(part, str) else part for name, part in key.items()}


def read_version(store: Path, version: int | None = None) -> dict[str, list[tuple[Any, Any]]]:
    """The keys and values of each family of ``state/<operator>/<partition>[/<store>]``; None is the latest version."""
    names = "v*.arrows" if version is None else f"v{version:020d}_*.arrows"
    newest = max(store.glob(names), key=lambda path: (path.name[:21], path.stat().st_mtime, path.name))
    manifest, layer = read_file(newest)
    operator = Path(str(store).removesuffix(manifest["store"]))
    layers = [layer, *(counted(read_file(operator / ref["path"])[1], ref) for ref in manifest["segments"])]
    found: Rows = {}
    for family, row in (one for layer in reversed(layers) for one in layer):
        place, value = (family, repr(comparable(row["key"]))), row["value"]
        if value is None:
            found.pop(place, None)
        elif row.get("appended") and place in found:
            found[place] = (row["key"], found[place][1] + value)
        else:
            found[place] = (row["key"], value)
    known = {family["id"]: family["name"] for family in manifest["catalog"]["families"]}
    return {name: [row for (number, _), row in found.items() if number == family] for family, name in known.items()}
