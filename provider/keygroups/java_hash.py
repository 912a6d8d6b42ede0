"""Java's hash codes of keys, from which Flink computes their key groups.

Source: ``hashCode`` of ``java.lang`` and of Flink's tuples; each function gives a signed 32-bit number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from keygroups.errors import SettingError

_PYFLINK_ROW: Final = 62
"""What PyFlink adds: it hashes a row of one field, the key."""

_TRUE, _FALSE = 1231, 1237


def java_hash(key: object) -> int:
    """Give the hash code of the Java object that Flink has for a key.

    Args:
        key: A bool (Boolean), int (Long), float (Double), str (String) or a tuple of these (Flink's Tuple). An Integer,
            Short or Byte has itself as hash code; so has a Long of 0 or more below 2^31.

    Raises:
        SettingError: The key is None, of a type that Flink refuses as a key, or an int of more than 64 bits.
    """
    if isinstance(key, bool):
        return _TRUE if key else _FALSE
    if isinstance(key, int):
        return _long(key)
    if isinstance(key, float):
        return _long(struct.unpack(">q", struct.pack(">d", key if key == key else float("nan")))[0])
    if isinstance(key, str):
        return _polynomial(0, _utf16(key))
    if isinstance(key, tuple) and key:
        return _polynomial(java_hash(key[0]), map(java_hash, key[1:]))
    if key is None:
        raise SettingError("a key must not be None")
    raise SettingError("this type cannot be a key", expected="bool, int, float, str or tuple", found=type(key).__name__)


def pyflink_hash(key: object) -> int:
    """Give the hash code that PyFlink computes for a key of an explicit type: that of a row whose one field is the key.

    It differs from ``java_hash`` of the same key, and so do the key groups. A job that does not name its key type
    hashes pickled bytes instead, which no formula gives.
    """
    return _signed(_PYFLINK_ROW + java_hash(key))


def _long(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise SettingError("an int key does not fit into 64 bits", found=value)
    return _signed(value ^ value >> 32)


def _utf16(text: str) -> Iterable[int]:
    """The code units of a string: a character beyond U+FFFF has two."""
    data = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(data) // 2}H", data)


def _polynomial(first: int, rest: Iterable[int]) -> int:
    result = first
    for code in rest:
        result = _signed(31 * result + code)
    return result


def _signed(value: int) -> int:
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low
