"""Who may talk to a store process, and what others on the machine can see of it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, kill_servers, server_processes
from support.spark import SECRET


@dataclass
class Served:
    """A store at work.

    Attributes:
        process: of the store.
        token: what connections to it must send.
        local: its folder.
    """

    process: psutil.Process
    token: str
    local: Path


@pytest.fixture
def served(spark: SparkSession, tmp_path: Path) -> Iterator[Served]:
    """A store with a session that goes on; its interpreter tells the test what came on standard input."""
    kill_servers()
    spy = tmp_path / "python"
    heard = tmp_path / "heard"
    spy.write_text(
        f'#!/bin/sh\nread -r line\nprintf "%s" "$line" > {heard}\n(echo "$line"; cat) | {sys.executable} "$@"\n'
    )
    spy.chmod(0o755)
    driver = Driver(spark, tmp_path / "checkpoint", {PREFIX + "python": str(spy), PREFIX + "overlayBytes": "64kb"})
    driver.open(0, "")
    driver.putRange("key", 0, 3_000, "value")
    start = json.loads(heard.read_text())
    (process,) = [p for p in server_processes() if p.exe() == os.path.realpath(sys.executable)]
    yield Served(process, start["token"], Path(start["folder"]))
    driver.abort()
    driver.close()
    kill_servers()


def listeners(process: psutil.Process) -> list[tuple[str, int]]:
    """Addresses and ports on which a process takes connections."""
    return [tuple(c.laddr) for c in process.net_connections() if c.status == psutil.CONN_LISTEN]


def test_it_listens_on_loopback_only(served: Served) -> None:
    """One port, and none of the JVM's for it."""
    (address,) = listeners(served.process)
    assert address[0] == "127.0.0.1"


def answer(served: Served, text: str) -> str:
    """What the process says to a connection that sends a text; nothing if it ends the connection."""
    with socket.create_connection(listeners(served.process)[0], timeout=5) as connection:
        try:
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(1000).decode()
        except OSError as error:
            if isinstance(error, ConnectionError) or error.errno == errno.ENOTCONN:
                return ""  # it may be gone before all is sent
            raise


COMMAND = 'c\nt\ncall\nsclose\ns{"store":1}\ne\n'


@pytest.mark.parametrize("greeting", ["", "A\nwrong\ne\n", "A\n\ne\n"])
def test_strangers_get_no_answer(served: Served, greeting: str) -> None:
    """Without the token, or with a wrong one, no command is carried out."""
    assert not answer(served, greeting + COMMAND).startswith("!y")
    assert answer(served, f"A\n{served.token}\ne\n").startswith("!y")


def test_the_token_is_nowhere_to_be_seen(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither in the arguments and the environment of any process, nor in files, nor in a log."""
    seen = ""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # gone meanwhile
            seen += " ".join(process.cmdline()) + json.dumps(process.environ())
    assert "keygroups.bridge" in seen
    assert served.token not in seen
    files = [path for path in served.local.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if served.token.encode() in path.read_bytes()]
    assert served.token not in "".join(capfd.readouterr())


def test_local_files_are_the_users_own(served: Served) -> None:
    """Nobody else can enter the folder."""
    mode = stat.S_IMODE(served.local.stat().st_mode)
    assert mode == 0o700
    assert served.local.stat().st_uid == os.getuid()


def test_it_does_not_inherit_secrets_of_the_executor(spark: SparkSession, served: Served) -> None:
    """Only what an interpreter and its libraries need comes from the JVM's environment."""
    jvm: Any = spark._jvm
    executor = dict(jvm.java.lang.System.getenv())
    inherited = served.process.environ()
    assert SECRET in executor
    assert SECRET not in inherited
    assert {"PYSPARK_PYTHON", "SPARK_HOME"} & set(executor)
    assert not {name for name in inherited if name.startswith(("PYSPARK", "SPARK", "JAVA", "AWS"))}
    assert inherited["TZ"] == executor["TZ"]
    assert {"PATH", "PYTHONPATH"} <= set(inherited)
