"""A Kafka broker on loopback, which is its own controller."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers.jars import jars
from servers.ports import await_port, free_ports


@contextmanager
def kafka(folder: Path) -> Iterator[str]:
    """An empty broker; gives its address.

    Args:
        folder: for its files and its log; exists.

    Raises:
        RuntimeError: it does not start.
    """
    port, controller = free_ports(2)
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
        await_port(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
