"""Jobs in processes of their own, and the rows that they must give."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.remote.queries import QUERIES
from support.spark import ROOT

SCRIPT = Path(__file__).with_name("job.py")
Rows = dict[str, dict[int, list[Any]]]
"""Of each query and batch."""


def write_input(folder: Path, batches: range, seed: int = 1, rows: int = 300, keys: int = 60) -> None:
    """Write the files of some batches; which rows each has depends on the seed and its number only."""
    folder.mkdir(parents=True, exist_ok=True)
    for batch in batches:
        rng = random.Random(f"{seed} {batch}")
        lines = []
        for _ in range(rows):
            second = max(0, 8 * batch + rng.randrange(-6, 8))
            ts = f"2026-01-01 00:{second // 60:02}:{second % 60:02}"
            event = {"key": f"key-{rng.randrange(keys)}", "value": rng.randrange(1000), "ts": ts}
            lines.append(json.dumps(event))
        path = folder / f"{batch:05}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))


@dataclass
class Job:
    """A job on a checkpoint; it may be run again and again.

    Attributes:
        folder: local, for output and logs.
        source: folder of input files.
        checkpoint: any URL.
        conf: of Spark, for the checkpoint's file system.
        class_path: jars of that file system.
        script: what runs it.
        command: what runs the script.
    """

    folder: Path
    source: Path
    checkpoint: str
    conf: Mapping[str, str] = field(default_factory=dict)
    class_path: str = ""
    provider: str = "keygroups"
    queries: Sequence[str] = tuple(QUERIES)
    script: Path = SCRIPT
    command: Sequence[str] = (sys.executable,)

    def start(self) -> subprocess.Popen[str]:
        """Start it. It prints a line for each batch; its log is ``<folder>/log``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        local = {
            "spark.local.dir": str(self.folder / "local"),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
        }
        given = {
            "input": str(self.source),
            "output": str(self.folder / "output"),
            "checkpoint": self.checkpoint,
            "provider": self.provider,
            "queries": list(self.queries),
            "conf": local | dict(self.conf),
            "class_path": self.class_path,
        }
        path = self.folder / "job.json"
        path.write_text(json.dumps(given))
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "provider")])}
        command = [*self.command, str(self.script), str(path)]
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env)

    def run(self) -> Rows:
        """Run it to the end of its input.

        Returns:
            What it has written so far.

        Raises:
            AssertionError: it failed; with the end of its log.
        """
        self.complete()
        return self.rows()

    def complete(self) -> None:
        """Run it to the end of its input.

        Raises:
            AssertionError: it failed; with the end of its log.
        """
        process = self.start()
        process.communicate()
        assert process.returncode == 0, self.log()[-8000:]

    def run_restarting(self, attempts: int = 5) -> Rows:
        """Run it, again after each failure, as an operator would: Spark's own files have no second attempt."""
        for _ in range(attempts - 1):
            try:
                return self.run()
            except AssertionError:
                continue
        return self.run()

    def rows(self) -> Rows:
        """What it has written so far."""
        found: Rows = {}
        for path in sorted((self.folder / "output").glob("*/*.json")):
            found.setdefault(path.parent.name, {})[int(path.stem)] = json.loads(path.read_text())
        return found

    def log(self) -> str:
        """What it has said on standard error so far."""
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""


def undisturbed(folder: Path, source: Path, queries: Sequence[str] = tuple(QUERIES)) -> Rows:
    """What queries give with Spark's RocksDB provider on a local disk, left in peace."""
    return Job(folder, source, str(folder / "checkpoint"), provider="rocksdb", queries=queries).run()
