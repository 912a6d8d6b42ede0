"""Threads for operations."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from typing import Final

from keygroups.bridge.memory import release_unused

Work = Callable[[], None]

RELEASE_SECONDS: Final = 1.0
"""How often a thread that works returns memory. Arrow's allocator keeps pages by thread, and another thread returns a
part of them only: without this, the store process of the soak test grew by 20 MB in 1,000 batches."""
IDLE_SECONDS: Final = 10.0
"""After so long without work, a thread ends. A new one takes 0.1 to 0.2 ms more than an idle one."""


class Workers:
    """Threads of which each does one thing at a time; there are as many as there are things to do at the same time.

    It takes 18 us to do something in an idle thread and to wait for its end; a ThreadPoolExecutor takes 26.

    Args:
        name: of the threads.
        niceness: of the threads. A lowered priority can't be raised again, so these are not shared.
    """

    def __init__(self, name: str, niceness: int = 0) -> None:
        self._name, self._niceness = name, niceness
        self._numbers = count(1)
        self._idle: list[SimpleQueue[Work]] = []

    def start(self, work: Work) -> None:
        """Do something that raises nothing."""
        try:
            queue = self._idle.pop()
        except IndexError:
            queue = SimpleQueue()
            name = f"{self._name}-{next(self._numbers)}"
            threading.Thread(target=self._serve, args=(queue,), name=name, daemon=True).start()
        queue.put(work)

    def _serve(self, queue: SimpleQueue[Work]) -> None:
        if self._niceness:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        released = time.monotonic()
        while self._work(queue):
            if time.monotonic() >= released + RELEASE_SECONDS:
                release_unused()
                released = time.monotonic()
            self._idle.append(queue)
        release_unused()

    def _work(self, queue: SimpleQueue[Work]) -> bool:
        """Do the next thing, and keep nothing of it. False if there was none for long."""
        try:
            work = queue.get(timeout=IDLE_SECONDS)
        except Empty:
            try:
                self._idle.remove(queue)
            except ValueError:  # ``start`` has just taken it
                work = queue.get()
            else:
                return False
        work()
        return True
