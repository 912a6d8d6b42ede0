"""The clock jumps back by an hour, every other second; each jump leaves a line in the file FAULT_LOG."""

import os
import time
from pathlib import Path

HOUR = 3600
SECOND_NS = 1_000_000_000

_log = Path(os.environ["FAULT_LOG"])
_real = time.time_ns
_jumped = set[int]()


def _time_ns() -> int:
    now = _real()
    second = now // SECOND_NS
    if second % 2 == 0:
        return now
    if second not in _jumped:
        _jumped.add(second)
        with _log.open("a") as log:
            log.write("jump\n")
    return now - HOUR * SECOND_NS


time.time_ns = _time_ns
time.time = lambda: _time_ns() / SECOND_NS
