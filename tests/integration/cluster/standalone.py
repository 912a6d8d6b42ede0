"""A Spark standalone cluster on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
import pyspark

from support.outside import environment
from support.processes import below, wait_for

SPARK_HOME = Path(pyspark.__file__).parent
STORE = "keygroups.bridge"


@dataclass
class Cluster:
    """A running cluster.

    Attributes:
        folder: all of its files are here; ``local`` has the local folders of executors, ``work`` their working folders.
        url: of the master.
        workers: processes of the workers.
    """

    folder: Path
    url: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[psutil.Process]:
        """JVMs of the executors."""
        return self._processes("CoarseGrainedExecutorBackend")

    def stores(self) -> list[psutil.Process]:
        """Our Python processes."""
        return self._processes(STORE)

    def python_workers(self) -> list[psutil.Process]:
        """Processes that run Python functions of queries."""
        daemons = self._processes("pyspark.daemon")
        return [process for process in daemons if process.parent() in daemons]

    def started(self) -> set[str]:
        """Numbers of all executors that were ever started, as ``<application>/<executor>``."""
        return {"/".join(path.parts[-2:]) for path in self.folder.glob("work/*/app-*/*") if path.name.isdigit()}

    def left(self) -> list[object]:
        """What an application that has ended should not leave behind: its processes, and our local folders."""
        folders = [path for path in self.folder.glob("local/**/keygroups-*") if path.is_dir()]
        return [*self.executors(), *self.stores(), *self._processes("pyspark.daemon"), *folders]

    def _processes(self, word: str) -> list[psutil.Process]:
        return [process for process in below(self.folder) if any(word in part for part in process.info["cmdline"])]


@contextmanager
def standalone(folder: Path, workers: int = 2, cores: int = 1) -> Iterator[Cluster]:
    """A cluster that is stopped, with all its executors, at the end.

    Each worker has an address of its own: Spark runs no second attempt of a task on the host that runs the first.

    Args:
        folder: for its files; exists and is empty.
        workers: how many.
        cores: of each worker.
    """
    cluster = Cluster(folder)
    daemons = []
    try:
        master = _start(folder, "master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        daemons.append(master)
        cluster.url = wait_for(lambda: _find(folder / "master.log", r"Starting Spark master at (spark://\S+)"))
        for number in range(workers):
            place = ["--host", f"127.0.0.{number + 1}", "--port", "0", "--webui-port", "0"]
            size = ["--cores", str(cores), "--memory", "1536m", "--work-dir", str(folder / "work" / str(number))]
            cluster.workers.append(_start(folder, f"worker{number}", *place, *size, cluster.url))
        daemons += cluster.workers
        for number in range(workers):
            wait_for(partial(_find, folder / f"worker{number}.log", "(Successfully registered) with master"))
        yield cluster
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait()
        for process in below(folder):
            process.kill()


def _start(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    kind = "master.Master" if name == "master" else "worker.Worker"
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    own = {"SPARK_HOME": str(SPARK_HOME), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(folder / "local")}
    # Else executors would inherit it, and find our sources.
    env = environment() | own
    (folder / "local").mkdir(exist_ok=True)
    with (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env, cwd=folder)


def _find(log: Path, pattern: str) -> str:
    match = re.search(pattern, log.read_text())
    return match[1] if match else ""
