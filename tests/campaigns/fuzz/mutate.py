"""Mutations: of bytes, and of JSON."""

from __future__ import annotations

import json
import random
from typing import Any

NUMBERS = (0, 1, -1, 7, 8, 255, 65_535, 65_536, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63))
PATHS = (
    "",
    "/",
    "..",
    "../x",
    "0/../1",
    "0\\..\\x",
    "s3a://b/k",
    "file:///etc/passwd",
    "0//x",
    "0/a\0b",
    "0/\n",
    "x" * 5000,
)
VALUES: tuple[Any, ...] = (*NUMBERS, 2**63, 10**30, 0.5, None, True, [], {}, "\ud7ff", *PATHS)
DEEP = "[" * 100_000


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes after one to four mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice((_flip, _flip, _number, _number, _number, _cut, _insert, _repeat, _swap))(
            bytearray(data), rng
        )
    return data


def _flip(data: bytearray, rng: random.Random) -> bytes:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _number(data: bytearray, rng: random.Random) -> bytes:
    """An edge value where a number may stand: mostly where numbers are aligned."""
    width = rng.choice((1, 2, 4, 8))
    if len(data) >= width:
        at = rng.randrange(len(data) - width + 1)
        at = at // width * width if rng.random() < 0.8 else at
        value = rng.choice(NUMBERS) & ((1 << 8 * width) - 1)
        data[at : at + width] = value.to_bytes(width, "little")
    return bytes(data)


def _cut(data: bytearray, rng: random.Random) -> bytes:
    return bytes(data[: rng.randrange(len(data) + 1)])


def _range(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 4, 8, 64, 512)))


def _insert(data: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return bytes(data[:at] + rng.randbytes(rng.choice((1, 4, 8, 64))) + data[at:])


def _repeat(data: bytearray, rng: random.Random) -> bytes:
    start, stop = _range(data, rng)
    return bytes(data[:stop] + data[start:stop] + data[stop:])


def _swap(data: bytearray, rng: random.Random) -> bytes:
    """Some bytes over others."""
    start, stop = _range(data, rng)
    at = rng.randrange(len(data) + 1)
    return bytes(data[:at] + data[start:stop] + data[at + stop - start :])


def mutated_json(text: bytes, rng: random.Random) -> bytes:
    """JSON after one to three mutations of its values; sometimes of its bytes too."""
    root = json.loads(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(root, rng)
    changed = json.dumps(root).encode()
    kind = rng.random()
    if kind < 0.1:
        return mutated(changed, rng)
    if kind < 0.11:
        return changed[:-1] + b', "x": ' + DEEP.encode()
    return changed


def _change(root: Any, rng: random.Random) -> None:  # noqa: ANN401 - JSON
    """Replace, remove or repeat a value anywhere below the root."""
    places = list(_places(root))
    if not places:
        return
    node, key = rng.choice(places)
    what = rng.random()
    if what < 0.7:
        node[key] = _near(node[key], rng) if rng.random() < 0.3 else rng.choice(VALUES)
    elif what < 0.85:
        del node[key]
    elif isinstance(node, list):
        node.insert(key, node[key])


def _near(value: Any, rng: random.Random) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1))
    if isinstance(value, str):
        return mutated(value.encode(), rng).decode(errors="replace")
    return value


def _places(node: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
    return [(node, key) for key in keys] + [place for key in keys for place in _places(node[key])]
