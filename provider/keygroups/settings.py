"""Settings of the provider, declared once in ``settings.json``, which the JVM reads as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pkgutil import get_data
from typing import Final, Literal

import msgspec

from keygroups.decoding import convert, decode
from keygroups.errors import SettingError

PREFIX: Final = "spark.sql.streaming.stateStore.keyGroups."
"""Prefix of every setting in Spark's configuration."""

_UNITS: Final = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_SIZE: Final = re.compile(r"([0-9]+)\s*(|b|[kmgtp]b?)", re.IGNORECASE)
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"([0-9]+)\s*(|[smhd])", re.IGNORECASE)
_INT: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]*")


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ``settings.json``.

    Attributes:
        name: Name without the prefix.
        type: How the text is read.
        default: Value when the setting is absent.
        doc: One line for the reference table.
        min: Smallest number allowed, or None.
        max: Largest number allowed, or None.
        choices: Values allowed for a choice, and names allowed for operators.
    """

    name: str
    type: Literal["string", "choice", "operators", "int", "bytes", "duration"]
    default: int | str
    doc: str
    min: int | None = None
    max: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """A description of valid values."""
        bounds = f" from {self.min} to {self.max}"
        words = {
            "string": "a string",
            "choice": " or ".join(self.choices),
            "operators": "numbers of operators, or names among " + ", ".join(self.choices),
            "int": "a whole number" + bounds,
            "bytes": "a size in bytes" + bounds + ", such as 64m or 67108864",
            "duration": "a time such as 7d, 12h, 30m or 45s, at most 100 years",
        }
        return words[self.type]

    def parse(self, text: str) -> int | str:
        """Read a value.

        Args:
            text: The value in Spark's configuration.

        Returns:
            The value: bytes, whole numbers and seconds of a duration as int, the rest as text.

        Raises:
            SettingError: The text is not as ``expected`` describes.
        """
        value = _READERS[self.type](text.strip())
        if value is None or not self._allows(value):
            fix = f"correct it or leave it out; the default is {self.default!r}"
            raise SettingError(f"{PREFIX}{self.name} is not valid", expected=self.expected, found=repr(text), fix=fix)
        return value

    def _allows(self, value: int | str) -> bool:
        if isinstance(value, str):
            return not self.choices or all(name in self.choices for name in self._names(value))
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)

    def _names(self, text: str) -> list[str]:
        """The parts of a value that must be choices: the whole of a choice, and each operator that has no number."""
        if self.type == "choice":
            return [text]
        listed = [name.strip() for name in text.split(",")]
        return [name for name in listed if name and not _NUMBER.fullmatch(name)]


def _read_int(text: str) -> int | None:
    return int(text) if _INT.fullmatch(text) else None


def _read_bytes(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    return int(match[1]) << _UNITS[match[2][:1].lower()] if match else None


def _read_duration(text: str) -> int | None:
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2].lower()] if match else None


_READERS: Final[dict[str, Callable[[str], int | str | None]]] = {
    "string": str,
    "choice": str,
    "operators": str,
    "int": _read_int,
    "bytes": _read_bytes,
    "duration": _read_duration,
}

BUDGET_BLOCKS: Final = 8
"""Of blocks that a budget holds at least: a quarter of it is for a merge, which has one of each input in memory."""
DECLARATIONS: Final = {
    declared.name: declared
    # Not read by path: with --py-files the package is in a zip file.
    for declared in decode(get_data("keygroups", "settings.json") or b"", list[Declaration])
}
"""The settings by name, in the order of ``settings.json``."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Values of all settings. Attribute ``max_parallelism`` is the setting ``maxParallelism``, and so on.

    Names, defaults and limits are in ``settings.json``; this class only declares the types.
    """

    backend: str
    max_parallelism: int
    local_dir: str
    python: str
    compression: str
    ttl: int
    ttl_operators: str
    overlay_bytes: int
    memory_budget: int
    disk_budget: int
    mapped_value_bytes: int
    block_bytes: int
    compaction_fanout: int
    max_segments: int
    change_feed: str
    call_timeout_seconds: int
    start_timeout_seconds: int
    atomic_file_systems: str
    file_attempts: int
    file_timeout_seconds: int
    worker_bytes: int

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Settings:
        """Read settings; those that are absent get their default.

        Args:
            given: Text by name, names without the prefix.

        Returns:
            All settings.

        Raises:
            SettingError: A name is unknown, a value is not valid, or a budget does not hold a few blocks.
        """
        defaults = {name: declared.default for name, declared in DECLARATIONS.items()}
        values = defaults | {name: declaration(name).parse(text) for name, text in given.items()}
        settings = convert(values, cls)
        for name, budget in (("memoryBudget", settings.memory_budget), ("diskBudget", settings.disk_budget)):
            if 0 < budget < BUDGET_BLOCKS * settings.block_bytes:
                raise SettingError(
                    f"{PREFIX}{name} is too small for blocks of {settings.block_bytes} bytes",
                    expected=f"{BUDGET_BLOCKS * settings.block_bytes} bytes or more",
                    found=budget,
                    fix=f"raise it, or lower {PREFIX}blockBytes",
                )
        return settings


def declaration(name: str) -> Declaration:
    """Look up a setting.

    Args:
        name: Name without the prefix.

    Returns:
        Its declaration.

    Raises:
        SettingError: There is no such setting; the message gives the nearest name.
    """
    if name in DECLARATIONS:
        return DECLARATIONS[name]
    folded = {known.lower(): known for known in DECLARATIONS}
    (nearest,) = get_close_matches(name.lower(), folded, n=1, cutoff=0)
    raise SettingError(f"{PREFIX}{name} is not a setting", fix=f"did you mean {PREFIX}{folded[nearest]}?")
