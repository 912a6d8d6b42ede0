"""Threads for operations."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from typing import NoReturn

Work = Callable[[], None]


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

    def _serve(self, queue: SimpleQueue[Work]) -> NoReturn:
        if self._niceness:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        while True:
            queue.get()()
            self._idle.append(queue)
