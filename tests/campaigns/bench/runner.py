"""Runs jobs, each in a process of its own, and keeps what they measured."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import click

from campaigns.bench.places import Places
from campaigns.bench.plan import Job
from campaigns.bench.procs import drop_page_cache, other_load
from campaigns.bench.providers import BASELINE, BUILD, REPOSITORY, child_environment
from campaigns.bench.results import kernel
from support.limits import Limit, memory_limit, read_ahead

_WORKER: Final = Path(__file__).resolve().parent / "worker.py"
_JOB_SECONDS: Final = 1200  # several times what the slowest job takes; a job past it hangs
_NOT_KEPT: Final = ("folder", "input", "home", "jars", "url", "keep")


class Runner:
    """Runs jobs one after the other and writes all figures so far to a file after each.

    Attributes:
        results: The run as it is in the file, see ``results.py``.
    """

    def __init__(self, jar: Path, output: Path, results: dict[str, Any], baseline: Path | None) -> None:
        """Start a run.

        Args:
            jar: The compiled harness.
            output: File for the results.
            results: What the jobs are added to.
            baseline: Checkout of the other commit of ours.
        """
        self.results = results
        self._jar, self._output, self._baseline = jar, output, baseline
        self._logs = BUILD / "logs"
        shutil.rmtree(self._logs, ignore_errors=True)
        self._logs.mkdir(parents=True)
        self._number = 0

    def run_part(self, part: str, jobs: Sequence[Job], places: Places) -> None:
        """Run the jobs of one part; what an earlier run has measured of it is replaced."""
        for name in ("records", "failed"):
            self.results[name] = [record for record in self.results[name] if record["group"] != part]
        start = time.monotonic()
        times: dict[str, Any] = {"started": _now(), "kernel": kernel()}
        self.results["parts"][part] = times
        click.echo(f"{part}: {len(jobs)} jobs", err=True)
        for number, job in enumerate(jobs, 1):
            self._run(part, job, places, f"{number}/{len(jobs)}")
            times |= {"ended": _now(), "seconds": round(time.monotonic() - start)}
            self._output.write_text(json.dumps(self.results, indent=1), encoding="utf-8")

    def _run(self, part: str, job: Job, places: Places, label: str) -> None:
        """Run one job in a new process."""
        self._number += 1
        home = self._baseline if job.provider == BASELINE and self._baseline else REPOSITORY
        log = self._logs / f"{self._number:03}-{job.part}-{job.provider}.log"
        spent: dict[str, Any] = {"page_cache": drop_page_cache(job.folder.parent)} if job.cold else {}
        job.folder.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        with other_load() as others, memory_limit(job.limit) as limit, read_ahead(job.folder, job.read_ahead) as ahead:
            figures = self._figures(replace(places.placed(job), home=home), log, limit)
        spent |= {"limited": limit.kind, "read_ahead_kb": ahead} if job.limit else {}
        spent |= {"seconds": round(time.monotonic() - start, 1), "other_seconds": round(others.seconds, 1)}
        kept = {name: value for name, value in asdict(job).items() if name not in _NOT_KEPT}
        self.results["records" if figures else "failed"].append({"group": part, **kept, **spent, "figures": figures})
        outcome = "" if figures else f"  FAILED, see {log}\n{_last_lines(log)}"
        what = f"{job.part} {job.variant}".strip()
        size = f"{job.keys:,} keys, {8 + 8 * job.value_longs} bytes"
        click.echo(f"{label:>7}  {what:18} {job.provider:17} {size:26} {spent['seconds']:6.1f} s{outcome}", err=True)

    def _figures(self, job: Job, log: Path, limit: Limit) -> dict[str, Any]:
        result = BUILD / "figures.json"
        result.unlink(missing_ok=True)
        command = [sys.executable, str(_WORKER), job.to_json(), str(result), str(self._jar)]
        environment = child_environment(sys.executable, job.home)
        with log.open("wb") as output, suppress(subprocess.TimeoutExpired):  # no figures then: a failed job
            subprocess.run(
                limit.command(command),
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


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
