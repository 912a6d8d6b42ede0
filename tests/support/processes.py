"""Processes of jobs, and what a test does beside them while they run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """Do something in another thread while the body runs; its event is set when the body is over."""
    over = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(work, over)
        try:
            yield
        finally:
            over.set()
        working.result()


def wait_for(condition: Callable[[], T], seconds: float = 60, problem: Callable[[], str] = lambda: "") -> T:
    """Wait until the condition gives something true, and give that."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain {problem()}"
        threading.Event().wait(0.05)
    return found


def below(folder: Path) -> list[psutil.Process]:
    """Processes that work in the folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        place = process.info["cwd"]
        if place and Path(place).is_relative_to(folder) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found
