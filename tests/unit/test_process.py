"""The store process and the line with which it says that it serves."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
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


def test_it_listens_before_it_says_so(tmp_path: Path) -> None:
    """The first call of a store must not find the port closed."""
    start = json.dumps({"token": "token", "folder": str(tmp_path / "local")}) + "\n"
    with subprocess.Popen([sys.executable, "-c", LATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(start.encode())
        process.stdin.flush()
        ready = json.loads(process.stdout.readline())
        with socket.create_connection(("127.0.0.1", ready["port"]), timeout=10):
            process.stdin.close()
    assert process.returncode == 0
