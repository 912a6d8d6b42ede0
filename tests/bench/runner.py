"""Runs jobs, each in a process of its own, and keeps what they measured."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
import pyspark

from plan import Job, Sizes
from procs import other_load
from providers import BUILD, child_environment

_WORKER: Final = Path(__file__).resolve().parent / "worker.py"
_JOB_SECONDS: Final = 1200  # several times what the slowest job takes; a job past it hangs


class Runner:
    """Runs jobs one after the other and writes all figures so far to a file after each.

    Attributes:
        results: The run as it is in the file: the machine, the sizes, and a record for each job that succeeded.
    """

    def __init__(self, jar: Path, output: Path, sizes: Sizes, providers: list[str], heap: str) -> None:
        """Start a run.

        Args:
            jar: The compiled harness.
            output: File for the results.
            sizes: Sizes of the run.
            providers: Providers under test.
            heap: Largest size of each JVM's heap.
        """
        self.results: dict[str, Any] = {
            "machine": _machine(),
            "sizes": asdict(sizes),
            "providers": providers,
            "heap": heap,
            "failed": [],
            "records": [],
        }
        self._jar, self._output = jar, output
        self._logs = BUILD / "logs"
        shutil.rmtree(self._logs, ignore_errors=True)
        self._logs.mkdir(parents=True)

    def run(self, job: Job) -> dict[str, Any]:
        """Run one job in a new process; return its figures, or nothing when it failed."""
        number = len(self.results["records"]) + len(self.results["failed"]) + 1
        log = self._logs / f"{number:02}-{job.part}-{job.provider}.log"
        start = time.monotonic()
        with other_load() as others:
            figures = self._figures(job, log)
        spent = {"seconds": time.monotonic() - start, "other_seconds": others.seconds}
        sizes = {name: value for name, value in asdict(job).items() if name not in ("folder", "input")}
        self.results["records" if figures else "failed"].append({**sizes, **spent, "figures": figures})
        self._output.write_text(json.dumps(self.results, indent=1), encoding="utf-8")
        size = f"{job.keys:,} keys, {8 + 8 * job.value_longs} bytes"
        outcome = "" if figures else f"  FAILED, see {log}\n{_last_lines(log)}"
        click.echo(f"{number:3}  {job.part:15} {job.provider:9} {size:26} {spent['seconds']:6.1f} s{outcome}", err=True)
        return figures

    def _figures(self, job: Job, log: Path) -> dict[str, Any]:
        result = BUILD / "figures.json"
        result.unlink(missing_ok=True)
        job.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(_WORKER), job.to_json(), str(result), str(self._jar)]
        environment = child_environment(sys.executable)
        with log.open("wb") as output, suppress(subprocess.TimeoutExpired):  # no figures then: a failed job
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                timeout=_JOB_SECONDS,
                check=False,
            )
        if not job.keep:
            shutil.rmtree(job.folder)
        return json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
    }
