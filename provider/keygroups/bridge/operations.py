"""Calls that may take long: threads work on them while the JVM asks after them, and they can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Final

from keygroups.bridge import answers
from keygroups.bridge.workers import Workers
from keygroups.errors import CancelledError, RetryError
from keygroups.progress import Progress

PATIENCE_SECONDS: Final = 1.0
"""After so long the JVM hears that an operation goes on. It notices then that the task was killed."""

Undo = Callable[[], None]
"""Deletes what a result consists of, if nobody takes it."""
Work = Callable[[], tuple[str, Undo]]
"""Gives an answer, and raises nothing."""


def nothing() -> None:
    """Undo what leaves nothing."""


class Operation:
    """A call that is worked on.

    Args:
        method: what is called.
        store: number of the store.
        place: of the store in the checkpoint, for messages.
        most_seconds: for which it may make no progress.
    """

    def __init__(self, method: str, store: int, place: str, most_seconds: float) -> None:
        self.method, self.store = method, store
        self.progress = Progress()
        self.patience = min(PATIENCE_SECONDS, most_seconds / 4)
        self._place, self._most_seconds = place, most_seconds
        self._lock = threading.Lock()
        self._has_answer = threading.Lock()  # an Event takes 5 us more
        self._has_answer.acquire()
        self._answer: str | None = None
        self._undo: Undo | None = None
        self._is_taken = False

    def run(self, work: Work) -> None:
        """Do the work. If the operation was cancelled meanwhile, its result is undone."""
        with self.progress.current():
            answer, undo = work()
        with self._lock:
            is_wanted = self._answer is None
            if is_wanted:
                self._answer, self._undo = answer, undo
        (self._has_answer.release if is_wanted else undo)()

    def cancel(self, cause: CancelledError) -> None:
        """Have it end without a result. Who waits for the answer gets the error now, even if a thread is stuck."""
        self.progress.cancel(cause)
        with self._lock:
            if self._is_taken:
                return
            is_first, undo = self._answer is None, self._undo
            self._answer, self._undo = answers.failure(self.method, cause), None
        if is_first:
            self._has_answer.release()
        if undo is not None:
            undo()

    def cancel_if_stuck(self) -> None:
        """Cancel it if it has made no progress for too long."""
        if (seconds := self.progress.still_seconds()) > self._most_seconds:
            self.cancel(
                CancelledError(
                    f"'{self.method}' of a store made no progress and was cancelled",
                    path=self._place,
                    expected=f"a step within {self._most_seconds:g} s",
                    found=f"none for {seconds:.1f} s after {self.progress.count} steps",
                    fix="find out what the local disk or the machine waits for, or raise keyGroups.callTimeoutSeconds",
                )
            )

    def take(self) -> str | None:
        """The answer, once; None if there is none in the time for which the JVM is to wait."""
        if not self._has_answer.acquire(timeout=self.patience):
            return None
        with self._lock:
            self._is_taken = True
            return self._answer


class Operations:
    """The operations that are not answered yet. Methods may run in several threads."""

    def __init__(self) -> None:
        self._tickets = count(1)
        self._known: dict[int, Operation] = {}

    def start(self, operation: Operation, workers: Workers, work: Work) -> str:
        """Have it worked on; its answer, or that it goes on."""
        ticket = next(self._tickets)
        self._known[ticket] = operation
        try:
            workers.start(lambda: operation.run(work))
        except BaseException:
            self._known.pop(ticket, None)
            raise
        return self._answer(ticket, operation)

    def after(self, ticket: int) -> str:
        """The answer of an operation that went on, or that it still does. Raises RetryError."""
        if (operation := self._known.get(ticket)) is None:
            raise RetryError(f"operation {ticket} is not known in this process")
        operation.cancel_if_stuck()
        return self._answer(ticket, operation)

    def cancel(self, ticket: int) -> None:
        """Cancel an operation whose answer nobody wants any more."""
        if (operation := self._known.pop(ticket, None)) is not None:
            operation.cancel(CancelledError("nobody waits for the operation any more"))

    def cancel_all(self, store: int) -> None:
        """Cancel what is under way for a store that is closed."""
        for operation in list(self._known.values()):
            if operation.store == store and operation.method != "close":
                operation.cancel(CancelledError(f"the store was closed during '{operation.method}'"))

    def _answer(self, ticket: int, operation: Operation) -> str:
        answer = operation.take()
        if answer is None:
            return answers.pending(ticket, operation.progress.count)
        self._known.pop(ticket, None)
        return answer
