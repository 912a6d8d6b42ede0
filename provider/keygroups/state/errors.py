"""The error of a function that uses its state wrongly."""

from __future__ import annotations

from typing import ClassVar

from keygroups.errors import KeygroupsError


class StateError(KeygroupsError):
    """A user's function, a descriptor or a type is wrong: change the function."""

    kind: ClassVar[str] = "state"
