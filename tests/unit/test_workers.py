"""Threads for operations: they end when they have nothing to do, and keep little memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from keygroups.bridge import workers
from keygroups.bridge.workers import Workers

WAIT: Final = 30
MEMORY: Final = """
import threading
import psutil, pyarrow as pa
from keygroups.bridge import workers

workers.RELEASE_SECONDS, workers.IDLE_SECONDS = 100.0, 0.1
some, all_hold, held = workers.Workers("test"), threading.Barrier(9), []

def own():
    memory = psutil.Process().memory_info()
    return (memory.rss - memory.shared) >> 20

def work():
    held.append([pa.repeat(1, 1 << 17) for _ in range(20)])
    all_hold.wait()

before = own()
for _ in range(8):
    some.start(work)
all_hold.wait()
most = own()
held.clear()
assert pa.total_allocated_bytes() == 0
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
print(most - before, own() - before)
"""
"""Eight threads allocate 20 MB each, which another frees. Says how many MB that took, and how many are left."""

ARENAS: Final = """
import re, threading
from pathlib import Path
from keygroups.bridge.memory import limit_arenas

def arenas():
    maps = Path("/proc/self/maps").read_text()
    starts = re.findall(r"^([0-9a-f]+)-\\S+ rw-p 00000000 00:00 0 *$", maps, re.MULTILINE)
    return sum(int(start, 16) % (64 << 20) == 0 for start in starts)

limit_arenas()
before, all_hold = arenas(), threading.Barrier(13)

def work():
    small = [bytes(1000) for _ in range(1000)]
    all_hold.wait()
    all_hold.wait()

for _ in range(12):
    threading.Thread(target=work).start()
all_hold.wait()
print(arenas() - before)
all_hold.wait()
"""
"""Says how many arenas, which begin at multiples of 64 MB, twelve threads add."""


def do(some: Workers, work: Callable[[], object]) -> None:
    """Have something done, and wait for it."""
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    some.start(run)
    assert done.wait(WAIT)


def threads(name: str) -> list[threading.Thread]:
    """Living threads of some workers."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


def assert_all_end(name: str) -> None:
    """The threads of some workers end."""
    for thread in threads(name):
        thread.join(WAIT)
    assert not threads(name)


def test_a_thread_without_work_ends_and_another_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes later is done."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    some = Workers("ending")
    for _ in range(3):
        do(some, lambda: None)
        assert_all_end("ending")


def test_work_that_comes_as_a_thread_ends_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """No moment is too late, and each thing is done once."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.0005)
    some, numbers, pause = Workers("racing"), list[int](), threading.Event()
    for number in range(2000):
        do(some, partial(numbers.append, number))
        pause.wait(0.0001 * (number % 10))  # the thread is about to end, or has ended
    assert numbers == list(range(2000))
    assert_all_end("racing")


def test_a_busy_thread_returns_memory_at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that did the work returns it, not after each work but after some time."""
    released, has_released = list[str](), threading.Semaphore(0)

    def release() -> None:
        released.append(threading.current_thread().name)
        has_released.release()

    monkeypatch.setattr(workers, "release_unused", release)
    monkeypatch.setattr(workers, "IDLE_SECONDS", 600.0)
    some = Workers("busy")
    do(some, lambda: None)
    assert not has_released.acquire(timeout=0.1)
    monkeypatch.setattr(workers, "RELEASE_SECONDS", 0.0)
    do(some, lambda: None)
    assert has_released.acquire(timeout=WAIT)
    assert released == ["busy-1"]


def test_an_idle_thread_keeps_nothing_of_its_work() -> None:
    """What an operation refers to is freed while the thread waits for the next one."""
    some, is_freed = Workers("keeping"), threading.Event()

    class Result:
        """What takes memory."""

        def work(self) -> None:
            """Do nothing with it."""

    def start() -> weakref.finalize[..., Result]:
        result = Result()
        some.start(result.work)
        return weakref.finalize(result, is_freed.set)

    start()
    assert is_freed.wait(WAIT)
    assert threads("keeping")


def test_memory_that_another_thread_freed_goes_back() -> None:
    """Arrow's allocator keeps the pages of a thread, even when all buffers on them have been freed."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    most, kept = map(int, done.stdout.split())
    assert most >= 150
    assert kept <= most / 3, f"{kept} of {most} MB"


@pytest.mark.parametrize(("environment", "least", "most"), [({}, 0, 2), ({"MALLOC_ARENA_MAX": "16"}, 6, 16)])
def test_threads_share_arenas_of_the_c_library(environment: dict[str, str], least: int, most: int) -> None:
    """Unless the user has chosen another number."""
    done = subprocess.run(
        [sys.executable, "-c", ARENAS], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    assert least <= int(done.stdout) <= most
