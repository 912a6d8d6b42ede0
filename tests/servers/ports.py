"""Ports of loopback."""

from __future__ import annotations

import socket
import subprocess
import time
from threading import Event
from typing import Final

START_SECONDS: Final = 60


def free_ports(count: int) -> list[int]:
    """Different ports on which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def await_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server listens. Raises RuntimeError if it has ended, or takes longer than ``START_SECONDS``."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        Event().wait(0.1)
    raise RuntimeError(f"the server did not start: {process.args!r} ended with {process.poll()}; see its log")
