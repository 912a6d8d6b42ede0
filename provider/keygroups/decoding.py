"""Typed JSON, read safely by several threads.

msgspec (0.22) puts the description of a struct class on the class before it has looked at the fields, and looking at
them can let another thread run. That thread decodes with half a description, and the process dies of a segmentation
fault. Here one description is built at a time; ruff refuses the functions of msgspec that would build one elsewhere.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar

import msgspec
from msgspec.json import Decoder  # noqa: TID251 (the only place)

T = TypeVar("T")

_building: Final = threading.Lock()
_decoders: Final[dict[object, Decoder[Any]]] = {}


def decode(text: bytes | str, kind: type[T]) -> T:
    """Read JSON.

    Args:
        text: the JSON.
        kind: what it must be: a struct class, or a type made of Python's own.

    Returns:
        The value.

    Raises:
        msgspec.MsgspecError: The text is not JSON, or not of this kind.
        RecursionError: It is nested too deeply.
        UnicodeError: It is not UTF-8.
    """
    return _decoder(kind).decode(text)


def convert(values: object, kind: type[T]) -> T:
    """Check Python values and make a struct of them. Raises msgspec.ValidationError."""
    _decoder(kind)
    return msgspec.convert(values, kind)  # noqa: TID251 (the description of the kind is complete)


def _decoder(kind: type[T]) -> Decoder[T]:
    with _building:
        if kind not in _decoders:
            _decoders[kind] = Decoder(kind)
        return _decoders[kind]
