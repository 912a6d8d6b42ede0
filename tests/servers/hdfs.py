"""An HDFS cluster on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from servers.jars import jars

Command = Literal["restart name node", "stop data node", "enter safe mode", "leave safe mode"]


class Hdfs:
    """A running cluster of two data nodes.

    Args:
        process: runs MiniHdfs.java.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = f"hdfs://127.0.0.1:{int(self._line())}"
        """Its root."""

    def obey(self, command: Command) -> None:
        """Do something to the cluster, and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        assert self._line() == command

    def _line(self) -> str:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return line.strip()
        raise RuntimeError(f"the HDFS cluster has ended with {self._process.wait()}; see its log")


@contextmanager
def hdfs(folder: Path) -> Iterator[Hdfs]:
    """An empty cluster.

    Args:
        folder: for its files and its log; exists.
    """
    source = Path(__file__).with_name("MiniHdfs.java")
    command = ["java", "-Xmx1g", "-cp", str(jars("hdfs") / "*"), str(source), str(folder / "files")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield Hdfs(process)
    finally:
        process.kill()
        process.wait()
