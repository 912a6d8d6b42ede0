"""How far a long operation is, and its cancellation: loops over blocks tick."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from copy import copy
from functools import partial
from typing import ParamSpec, TypeVar

from keygroups.errors import CancelledError

P = ParamSpec("P")
T = TypeVar("T")

WAIT_SECONDS = 0.2
"""How often one that waits for its turn looks whether it is cancelled."""


class Progress:
    """How far an operation is. Its threads tick; any thread may ask, and cancel it.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self.cause: CancelledError | None = None
        self._clock = clock
        self._moved = clock()
        self._turn: Turn | None = None

    def tick(self) -> None:
        """Something is done, such as a block. Raises CancelledError."""
        self.count += 1
        self._moved = self._clock()
        self.check()

    def check(self) -> None:
        """Raise CancelledError if it was cancelled."""
        if self.cause is not None:
            # A copy: an error that was raised holds the frames of the operation, and one of them holds this object.
            raise copy(self.cause)

    def cancel(self, cause: CancelledError) -> None:
        """Have the next tick raise an error."""
        self.cause = self.cause or cause

    def still_seconds(self) -> float:
        """How long nothing has been done. Time in which it waits for another operation counts only if that is stuck."""
        if self._turn is not None and not self._turn.is_stuck:
            self._moved = self._clock()
        return self._clock() - self._moved

    @contextmanager
    def current(self) -> Iterator[None]:
        """Ticks of this thread, and of those that it shares its work with, count here until the end of the block."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    @contextmanager
    def waiting(self, turn: Turn) -> Iterator[None]:
        """Wait for a turn until the end of the block."""
        self._turn = turn
        try:
            yield
        finally:
            self._moved, self._turn = self._clock(), None


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def tick() -> None:
    """Something of this thread's operation is done, such as a block. Raises CancelledError."""
    if (progress := _CURRENT.get()) is not None:
        progress.tick()


def ticking(items: Iterable[T]) -> Iterator[T]:
    """The same items, with a tick for each."""
    for item in items:
        tick()
        yield item


def shared(work: Callable[P, T]) -> Callable[P, T]:
    """Work of this thread's operation that another thread does."""
    return partial(copy_context().run, work)


class Turn:
    """A lock: one operation at a time. Those that wait can be cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: Progress | None = None

    @property
    def is_stuck(self) -> bool:
        """Whether an operation has it that was cancelled and does not end."""
        holder = self._holder
        return holder is not None and holder.cause is not None

    def __enter__(self) -> None:
        mine = _CURRENT.get() or Progress()
        with mine.waiting(self):
            while not self._lock.acquire(timeout=WAIT_SECONDS):
                mine.check()
        self._holder = mine

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()
