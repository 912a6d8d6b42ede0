"""A Kafka broker on loopback, which is its own controller."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Final

from servers.jars import jars

START_SECONDS: Final = 60


@contextmanager
def kafka(folder: Path) -> Iterator[str]:
    """An empty broker; gives its address.

    Args:
        folder: for its files and its log; exists.

    Raises:
        RuntimeError: it does not start.
    """
    port, controller = _free_ports(2)
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "log.dirs": folder / "files",
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    java = ["java", "-Xmx1g", "-cp", str(jars("kafka") / "*")]
    with (folder / "log").open("w") as log:
        format_files = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", str(file)]
        subprocess.run([*java, *format_files], check=True, stdout=log, stderr=log)
        process = subprocess.Popen([*java, "kafka.Kafka", str(file)], stdout=log, stderr=log)
    try:
        _await(port, process)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        Event().wait(0.2)
    raise RuntimeError(f"the Kafka broker did not start within {START_SECONDS} s; see its log")
