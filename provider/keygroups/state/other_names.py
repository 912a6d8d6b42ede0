"""PyFlink's names of arguments that have other names here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from keygroups.state.errors import StateError

C = TypeVar("C")


def also_named(**names: str) -> Callable[[type[C]], type[C]]:
    """Return a decorator of a class whose arguments may be given under other names.

    Args:
        **names: The name here of each other name.
    """

    def changed(kind: type[C]) -> type[C]:
        made: Callable[..., None] = kind.__init__

        @wraps(made)
        def init(self: C, *arguments: Any, **given: Any) -> None:
            named = {names.get(name, name): value for name, value in given.items()}
            if len(named) < len(given):
                raise StateError(
                    f"a {kind.__name__} has one argument under two names",
                    expected=", ".join(f"{other} or {name}" for other, name in names.items()),
                    found=", ".join(given),
                )
            made(self, *arguments, **named)

        kind.__init__ = init  # type: ignore[method-assign, assignment]
        return kind

    return changed
