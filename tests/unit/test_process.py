"""The store process and the line with which it says that it serves."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LATE = """
import threading
from py4j.java_gateway import CallbackServer
run = CallbackServer.run
CallbackServer.run = lambda server: threading.Event().wait(1) or run(server)
from keygroups.bridge.process import run
run()
"""
"""A process whose py4j thread gets no processor for a second, as under load."""

SCARCE = """
import resource
from keygroups.bridge.process import run
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
run()
"""
"""A process with few file handles."""


def test_it_listens_before_it_says_so(tmp_path: Path) -> None:
    """The first call of a store must not find the port closed."""
    with started(LATE, tmp_path) as (process, port), socket.create_connection(("127.0.0.1", port), timeout=10):
        pass
    assert process.returncode == 0


def test_it_accepts_connections_after_a_want_of_file_handles(tmp_path: Path) -> None:
    """Otherwise calls would wait for their deadline, and a healthy process would be stopped."""
    log = tmp_path / "log"
    with started(SCARCE, tmp_path) as (_, port):
        end = time.monotonic() + 60
        with contextlib.ExitStack() as many:
            while "Too many open files" not in log.read_text():
                assert time.monotonic() < end
                with contextlib.suppress(TimeoutError):  # those that come too fast are dropped
                    many.enter_context(socket.create_connection(("127.0.0.1", port), timeout=0.2))
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"A\ntoken\ne\n")
            assert connection.recv(100) == b"!yv\n"


@contextmanager
def started(code: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A store process and its port, until the end of the block; its log is a file of the folder."""
    start = json.dumps({"token": "token", "folder": str(folder / "local")}) + "\n"
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        process.stdin.write(start.encode())
        process.stdin.flush()
        yield process, json.loads(process.stdout.readline())["port"]
        process.stdin.close()
