"""Whose state is seen, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from keygroups.state.errors import StateError

NO_TIME: Final = -(1 << 63)
"""What a watermark or a row's time is where there is none: Java's smallest Long, as in Flink."""
END_OF_TIME: Final = (1 << 63) - 1
"""The watermark after the last row of a bounded input."""


class _NoKey:
    def __repr__(self) -> str:
        return "no key"


NO_KEY: Final = _NoKey()


@dataclass
class Scope:
    """The current key and the times, which all states of an operator share.

    Attributes:
        key: The current key, or ``NO_KEY``.
        now: Processing time in milliseconds since 1970.
        watermark: Event time that has passed, in the same unit.
    """

    key: Any = field(default=NO_KEY)
    now: int = 0
    watermark: int = NO_TIME

    def shown_key(self) -> Any:
        """Give the current key as users see it.

        Raises:
            StateError: There is none.
        """
        if self.key is NO_KEY:
            raise StateError(
                "there is no current key",
                fix="ask for it in process_element or on_timer, or while the keys of a batch are walked",
            )
        return self.key

    def key_for(self, state: str) -> Any:
        """Give the key.

        Raises:
            StateError: There is none: the function is being opened or closed.
        """
        if self.key is NO_KEY:
            raise StateError(
                f"state {state!r} was used without a key",
                fix="use it in process_element or on_timer; in open there is no row, and so no key",
            )
        return self.key
