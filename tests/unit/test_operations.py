"""Long calls of the store process: asked after while they make progress, and cancelled when they make none."""

from __future__ import annotations

import contextlib
import gc
import json
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from keygroups import progress
from keygroups.bridge import operations
from keygroups.bridge.operations import Operation, Operations, nothing
from keygroups.bridge.workers import Workers
from keygroups.errors import CancelledError, RetryError
from keygroups.progress import Progress, Turn, shared, tick, ticking

WAIT: Final = 30


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Gate:
    """Work that goes on until it is told to do a step, or to end."""

    def __init__(self) -> None:
        self.begun, self.stepped, self.ended = threading.Event(), threading.Event(), threading.Event()
        self._go, self._is_last = threading.Semaphore(0), False
        self.undone = 0

    def step(self) -> None:
        """Have one step done."""
        self.stepped.clear()
        self._go.release()
        assert self.stepped.wait(WAIT)

    def end(self) -> None:
        """Have it end."""
        self._is_last = True
        self._go.release()
        assert self.ended.wait(WAIT)

    def work(self) -> tuple[str, Callable[[], None]]:
        """What an operation does."""
        self.begun.set()
        try:
            while self._go.acquire(timeout=WAIT) and not self._is_last:
                tick()
                self.stepped.set()
        except CancelledError as error:
            self.stepped.set()
            return str(error), nothing
        finally:
            self.ended.set()
        return "done", self._undo

    def _undo(self) -> None:
        self.undone += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all progress."""
    clock = Clock()
    monkeypatch.setattr(progress.Progress.__init__, "__defaults__", (clock,))
    return clock


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers that do not come at once are pending."""
    monkeypatch.setattr(operations, "PATIENCE_SECONDS", 0.01)


def started(gate: Gate, known: Operations, store: int = 1) -> tuple[Operation, int]:
    """An operation that goes on, and its ticket."""
    operation = Operation("merge", store, "state/0/0", 10)
    answer = json.loads(known.start(operation, Workers("test"), gate.work))
    assert gate.begun.wait(WAIT)
    return operation, answer["pending"]["ticket"]


def test_what_takes_long_is_asked_after() -> None:
    """The count says how far it is; the answer is given once."""
    gate, known = Gate(), Operations()
    _, ticket = started(gate, known)
    assert json.loads(known.after(ticket)) == {"pending": {"ticket": ticket, "progress": 0}}
    gate.step()
    assert json.loads(known.after(ticket))["pending"]["progress"] == 1
    gate.end()
    assert known.after(ticket) == "done"
    with pytest.raises(RetryError, match="is not known in this process"):
        known.after(ticket)
    assert not gate.undone


def test_progress_keeps_it_alive_beyond_the_deadline(clock: Clock) -> None:
    """What counts is the time since the last step."""
    gate, known = Gate(), Operations()
    _, ticket = started(gate, known)
    for _ in range(5):
        clock.seconds += 9
        assert "pending" in json.loads(known.after(ticket))
        gate.step()
    gate.end()
    assert known.after(ticket) == "done"


def test_no_progress_cancels_it(clock: Clock) -> None:
    """Its caller gets the error although its thread is stuck, which ends at its next step."""
    gate, known = Gate(), Operations()
    _, ticket = started(gate, known)
    gate.step()
    clock.seconds += 11
    error = json.loads(known.after(ticket))["error"]
    assert error["kind"] == "retry"
    for words in ("'merge' of a store made no progress", "path state/0/0", "none for 11.0 s after 1 steps"):
        assert words in error["message"]
    assert not gate.ended.is_set()
    gate.step()
    assert gate.ended.wait(WAIT)


def test_a_result_that_nobody_takes_is_undone() -> None:
    """Whether it is cancelled before its end or after."""
    known, before, after, taken = Operations(), Gate(), Gate(), Gate()
    _, ticket = started(before, known)
    known.cancel(ticket)
    before.end()
    operation, ticket = started(after, known)
    after.end()
    assert operation._has_answer.acquire(timeout=WAIT)
    operation._has_answer.release()
    known.cancel(ticket)
    operation, ticket = started(taken, known)
    taken.end()
    while "pending" in (answer := known.after(ticket)):
        pass
    assert answer == "done"
    operation.cancel(CancelledError("too late"))
    assert [gate.undone for gate in (after, taken)] == [1, 0]
    assert eventually(lambda: before.undone == 1)


def test_a_stuck_operation_does_not_stop_those_of_other_stores(clock: Clock) -> None:
    """They have threads of their own."""
    stuck, other, known = Gate(), Gate(), Operations()
    _, first = started(stuck, known, store=1)
    _, second = started(other, known, store=2)
    clock.seconds += 8
    other.step()
    clock.seconds += 8
    assert "error" in json.loads(known.after(first))
    assert "pending" in json.loads(known.after(second))
    other.end()
    assert known.after(second) == "done"
    stuck.end()


def test_time_in_a_queue_does_not_count(clock: Clock) -> None:
    """As long as what is in front goes on."""
    turn, front, behind = Turn(), Progress(), Progress()
    got = threading.Event()

    def wait_for_it() -> None:
        with behind.current(), turn:
            got.set()

    with ThreadPoolExecutor(1) as thread:
        with front.current(), turn:
            waiting = thread.submit(wait_for_it)
            assert eventually(lambda: behind._turn is turn)
            clock.seconds += 100
            assert behind.still_seconds() == 0
            front.cancel(CancelledError("stuck"))
            clock.seconds += 100
            assert behind.still_seconds() == 100
        waiting.result(WAIT)
    assert got.is_set()
    assert behind.still_seconds() == 0


def test_one_that_waits_for_its_turn_can_be_cancelled() -> None:
    """Although no step of its own comes."""
    turn, behind = Turn(), Progress()

    def wait_for_it() -> None:
        with behind.current(), turn:
            pass

    with ThreadPoolExecutor(1) as thread, turn:
        waiting = thread.submit(wait_for_it)
        behind.cancel(CancelledError("the store was closed"))
        with pytest.raises(CancelledError):
            waiting.result(WAIT)


def test_one_that_was_cancelled_holds_nothing() -> None:
    """What it has restored is mapped, and counts in the disk budget, until nothing holds it."""
    cancelled = Progress()
    cancelled.cancel(CancelledError("the store was closed"))
    restored: list[weakref.ref[Gate]] = []

    def restore() -> None:
        segment = Gate()
        restored.append(weakref.ref(segment))
        with cancelled.current():
            tick()

    gc.disable()
    try:
        with contextlib.suppress(CancelledError):
            restore()
        assert restored[0]() is None
    finally:
        gc.enable()


def test_ticks_of_shared_work_count() -> None:
    """The thread that writes local segments during a commit belongs to no operation of its own."""
    mine = Progress()
    with ThreadPoolExecutor(1) as thread:
        with mine.current():
            thread.submit(shared(lambda: list(ticking(range(3))))).result()
        thread.submit(tick).result()
    assert mine.count == 3


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether something holds within a while."""
    waiter = threading.Event()
    return any(condition() or waiter.wait(0.01) for _ in range(100 * WAIT))
