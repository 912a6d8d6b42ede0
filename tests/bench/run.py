"""Measure Spark's two state store providers and ours in one run: ``python tests/bench/run.py`` (``make bench``).

Every job runs in a process of its own with the same JVM flags, on the same disk, and the providers take turns in going
first. Raw figures go to ``build/bench/results.json``; tables with ratios and targets go to the terminal.
"""

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

import e2e
import report
import tables
from harness import build_jar
from plan import PARTS, QUICK, Job, Sizes
from procs import other_load
from providers import BUILD, OURS, PROVIDERS, child_environment, our_jars

_WORKER: Final = Path(__file__).resolve().parent / "worker.py"
_JOB_SECONDS: Final = 1200  # several times what the slowest job takes; a job past it hangs


class Bench:
    """Runs jobs one after the other and keeps what they measured."""

    def __init__(self, jar: Path) -> None:
        """Prepare an empty log folder; ``jar`` is the compiled harness."""
        self.records: list[tables.Record] = []
        self.failed = 0
        self._jar = jar
        self._logs = BUILD / "logs"
        shutil.rmtree(self._logs, ignore_errors=True)
        self._logs.mkdir(parents=True)

    def run(self, job: Job) -> dict[str, Any]:
        """Run one job in a new process; return its figures, or nothing when it failed."""
        number = len(self.records) + self.failed + 1
        log = self._logs / f"{number:02}-{job.part}-{job.provider}.log"
        start = time.monotonic()
        with other_load() as others:
            figures = self._figures(job, log)
        seconds = time.monotonic() - start
        size = f"{job.keys:,} keys, {8 + 8 * job.value_longs} bytes"
        outcome = "" if figures else f"  FAILED, see {log}\n{_last_lines(log)}"
        click.echo(f"{number:3}  {job.part:12} {job.provider:9} {size:26} {seconds:6.1f} s{outcome}", err=True)
        if figures:
            sizes = {name: value for name, value in asdict(job).items() if name not in ("folder", "input")}
            self.records.append({**sizes, "seconds": seconds, "other_seconds": others.seconds, "figures": figures})
        else:
            self.failed += 1
        return figures

    def _figures(self, job: Job, log: Path) -> dict[str, Any]:
        result = BUILD / "figures.json"
        result.unlink(missing_ok=True)
        job.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(_WORKER), job.to_json(), str(result), str(self._jar)]
        with log.open("wb") as output, suppress(subprocess.TimeoutExpired):  # no figures then: a failed job
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=child_environment(sys.executable),
                timeout=_JOB_SECONDS,
                check=False,
            )
        if not job.part.startswith(("prepare", "recover")):
            shutil.rmtree(job.folder)
        return json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


def _machine() -> dict[str, Any]:
    from pyspark import __version__ as spark

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "system": platform.platform(),
        "python": platform.python_version(),
        "spark": spark,
    }


def _chosen(names: str) -> list[str]:
    chosen = [name.strip() for name in names.split(",")]
    unknown = sorted(set(chosen) - set(PROVIDERS))
    if unknown:
        raise click.BadParameter(
            f"{', '.join(unknown)}: expected some of {', '.join(PROVIDERS)}", param_hint="--providers"
        )
    if OURS in chosen and not our_jars():
        raise click.ClickException("there is no jar of the shim in provider/keygroups/jars: run `make jar`")
    return chosen


def _measure(parts: list[str], sizes: Sizes, providers: list[str], heap: str) -> dict[str, Any]:
    bench = Bench(build_jar())
    work = BUILD / "work"
    shutil.rmtree(work, ignore_errors=True)
    source = BUILD / f"input-{sizes.query_keys}-{sizes.query_batches}"
    if "e2e" in parts:
        e2e.write_input(source, sizes.query_keys, sizes.query_keys, sizes.query_batches)
    for part in parts:
        base = Job(part, "", work / part, heap, warm_keys=sizes.warm_keys, input=source)
        PARTS[part](bench.run, base, sizes, providers)
        shutil.rmtree(work, ignore_errors=True)
    return {
        "machine": _machine(),
        "sizes": asdict(sizes),
        "providers": providers,
        "heap": heap,
        "failed": bench.failed,
        "records": bench.records,
    }


def _show(run: dict[str, Any], markdown: bool) -> None:
    sizes = Sizes(**run["sizes"])
    judge = sizes == Sizes()
    found = tables.build(run["records"], sizes.query_warm_batches)
    click.echo(report.render(found, run["providers"], judge=judge, markdown=markdown))
    if OURS in run["providers"]:
        click.echo("\n" + (report.summary(found) if judge else "Small sizes: targets are not judged."))
    click.echo(report.disturbance(run["records"], run["machine"]["cores"]))


@click.command()
@click.option("--quick", is_flag=True, help="Small sizes: shows that everything runs, not how fast it is.")
@click.option("--only", type=click.Choice(sorted(PARTS)), multiple=True, help="Measure this part; may be repeated.")
@click.option("--providers", default=",".join(PROVIDERS), show_default=True, help="Providers, separated by commas.")
@click.option("--heap", default="4g", show_default=True, help="Largest JVM heap, for every provider.")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--output", type=click.Path(path_type=Path), default=BUILD / "results.json", help="File for raw figures.")
@click.option(
    "--show", type=click.Path(exists=True, path_type=Path), help="Print an earlier run's file, measure nothing."
)
def main(
    quick: bool, only: tuple[str, ...], providers: str, heap: str, markdown: bool, output: Path, show: Path | None
) -> None:
    """Measure Spark's two state store providers and ours in one run."""
    if show:
        _show(json.loads(show.read_text(encoding="utf-8")), markdown)
        return
    sizes = QUICK if quick else Sizes()
    run = _measure(list(only or PARTS), sizes, _chosen(providers), heap)
    output.write_text(json.dumps(run, indent=1), encoding="utf-8")
    _show(run, markdown)
    click.echo(f"\nRaw figures: {output}")
    sys.exit(1 if run["failed"] else 0)


if __name__ == "__main__":
    main()
