"""Runs the Python readers in a process of their own, so that a crash or a hang is found and attributed to its input."""

from __future__ import annotations

import faulthandler
import logging
import multiprocessing
import random
import resource
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path
from tempfile import TemporaryDirectory

from campaigns.fuzz.readers import targets

HANG_SECONDS = 20
SLOW_SECONDS = 1
"""Of the processor: others may have the machine at the same time."""
MUCH_MEMORY = 1 << 20
"""In KiB: more than that beyond what the process had before is a finding."""
MEMORY_FOLDER = Path("/dev/shm")
Result = tuple[Counter[str], list[str]]


def run(name: str, seed: int, count: int) -> Result:
    """Feed ``count`` inputs to a reader; how they ended, and what should not have happened."""
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    first = 0
    while first < count:
        ended, found, first = _part(name, seed, first, count)
        outcomes += ended
        findings += found
    return outcomes, findings


def _part(name: str, seed: int, first: int, count: int) -> tuple[Counter[str], list[str], int]:
    """Go on from input ``first`` until the end, or until the process dies or hangs; where to go on from then."""
    context = multiprocessing.get_context("spawn")
    progress = context.Array("q", [first])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(name, seed, first, count, progress, sender))
    process.start()
    sender.close()
    seen, since = -1, time.monotonic()
    while not receiver.poll(1) and process.is_alive():
        if progress[0] != seen:
            seen, since = progress[0], time.monotonic()
        elif time.monotonic() - since > HANG_SECONDS:
            process.kill()
    try:
        outcomes, findings = receiver.recv()
    except EOFError:
        process.join()
        what = "hangs" if process.exitcode == -9 else f"dies with exit code {process.exitcode}"
        return Counter(), [f"{name}, seed {seed}, input {progress[0]}: {what}"], progress[0] + 1
    process.join()
    return outcomes, findings, count


def _work(name: str, seed: int, first: int, count: int, progress: SynchronizedArray[int], results: Connection) -> None:
    faulthandler.enable()
    logging.disable()
    parent = MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None
    with TemporaryDirectory(dir=parent) as folder:
        read = targets(Path(folder))[name]
        outcomes: Counter[str] = Counter()
        findings: list[str] = []
        for number in range(first, count):
            progress[0] = number
            before, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                outcomes[read(random.Random(f"{seed}/{name}/{number}"))] += 1
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
                findings.append(f"{name}, seed {seed}, input {number}: {_short(error)}")
            if (took := time.process_time() - before) > SLOW_SECONDS:
                findings.append(f"{name}, seed {seed}, input {number}: takes {took:.1f} s")
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory > MUCH_MEMORY:
                findings.append(f"{name}, seed {seed}, input {number}: takes more than 1 GiB")
        results.send((outcomes, findings))


def _short(error: BaseException) -> str:
    """The error and where it came from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    way = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__}: {str(error)[:300]} at {way}"
