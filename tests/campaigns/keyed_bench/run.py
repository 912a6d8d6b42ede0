"""``make bench-keyed``: keyed functions beside other systems, in one run on one machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.bench.results import compact
from campaigns.keyed_bench import report
from campaigns.keyed_bench.systems import COUNTS, ENVIRONMENTS, STATES, Case, Input
from servers.kafka import kafka
from support.limits import Limit, memory_limit, read_ahead
from support.spark import ROOT

BUILD: Final = ROOT / "build" / "keyed-bench"
PROGRAMS: Final = Path(__file__).parent / "programs"
SECONDS: Final = 900
MEASURED: Final = (
    "provider",
    "jvm-shim",
    "tests/campaigns/keyed_bench",
    "tests/support/limits.py",
    ":(exclude)tests/campaigns/keyed_bench/results",
)


@click.command()
@click.option("--full", is_flag=True, help="All systems, three runs of each: some 80 minutes, for a release.")
@click.option("--only", multiple=True, help="Measure cases whose name contains this; may be repeated.")
@click.option("--resume", is_flag=True, help="Go on with the run that was stopped, if nothing measured has changed.")
def main(full: bool, only: tuple[str, ...], resume: bool) -> None:
    """Measure keyed functions beside Spark's own; with --full beside all systems, which writes benchmarks-keyed.md."""
    chosen = cases(only, full=full)
    output, repetitions = BUILD / ("results.json" if full else "short.json"), 3 if full else 1
    run = _run(output, resume=resume)
    done = {(record["case"], record["round"]) for record in run["records"]}
    for name in sorted({case.environment for case in chosen} - {""}):
        _environment(name)
    for turn in range(repetitions):
        for case in chosen[turn % 2 :: 2] + chosen[(turn + 1) % 2 :: 2]:
            if (case.name, turn) in done:
                continue
            found = _measured(case)
            run["records" if found else "failed"].append({"case": case.name, "round": turn, **found})
            rate = f"{report.rate(found, case):,.0f} rows/s" if found else "FAILED"
            click.echo(f"{turn + 1}/{repetitions}  {case.name:60} {rate}", err=True)
            output.write_text(compact(run | {"ended": _now()}), encoding="utf-8")
    run["ended"] = _now()
    click.echo("\n".join(report.lines(run)))
    if full and not only:
        report.publish(run)
    sys.exit(1 if run["failed"] else 0)


def cases(only: tuple[str, ...], *, full: bool) -> list[Case]:
    """Return what is measured."""
    possible = [case for case in (*COUNTS, *STATES) if full or not case.full]
    chosen = [case for case in possible if not only or any(part in case.name for part in only)]
    if not chosen:
        hint = "" if full else "; with --full there are more"
        raise click.BadParameter(f"{', '.join(only)}: expected a part of the name of a case{hint}", param_hint="--only")
    return chosen


def _run(output: Path, *, resume: bool) -> dict[str, Any]:
    """A run without figures, or the one to go on with, whose failures are forgotten."""
    if resume and output.exists():
        run: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
        if run["commit"] == _commit():
            return run | {"failed": []}
    return {"commit": _commit(), "started": _now(), "machine": _machine(), "records": [], "failed": []}


def _measured(case: Case) -> dict[str, Any]:
    """Run a case in a process of its own. Empty if it failed."""
    folder, result = BUILD / "work", BUILD / "figures.json"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    result.unlink(missing_ok=True)
    job = {**case.job, "folder": str(folder)}
    if case.input:
        job["input"] = str(_written(case.input))
    with (
        kafka(folder) if case.broker else nullcontext("") as address,
        memory_limit(case.limit) as limit,
        read_ahead(folder, case.read_ahead) as ahead,
    ):
        _wait_for(case, job | {"broker": address}, result, limit)
    limits = {"limited": limit.kind, "read_ahead_kb": ahead} if case.limit else {}
    shutil.rmtree(folder, ignore_errors=True)
    return json.loads(result.read_text(encoding="utf-8")) | limits if result.exists() else {}


def _wait_for(case: Case, job: dict[str, Any], result: Path, limit: Limit) -> None:
    python = BUILD / case.environment / "bin" / "python" if case.environment else Path(sys.executable)
    log = BUILD / f"{re.sub(r'[^a-z0-9]+', '-', case.name.lower())}.log"
    command = [str(python), str(PROGRAMS / case.program), json.dumps(job), str(result)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            limit.command(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_variables(case, python),
            start_new_session=True,
        )
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def _variables(case: Case, python: Path) -> dict[str, str]:
    """Of a process: its own packages only. PyFlink's thread mode does not look into its environment by itself."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    own = {"PATH": f"{python.parent}{os.pathsep}{kept['PATH']}"}
    if not case.environment:
        return kept | {
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "tests", ROOT / "provider"))),
            "PYSPARK_PYTHON": str(python),
        }
    return kept | own | {"PYTHONPATH": str(next((python.parent.parent / "lib").glob("python*/site-packages")))}


def _environment(name: str) -> None:
    folder = BUILD / name
    if (folder / ".installed").exists():
        return
    click.echo(f"installing {', '.join(ENVIRONMENTS[name])}", err=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "-q", *ENVIRONMENTS[name]], check=True)
    (folder / ".installed").touch()


def _written(of: Input) -> Path:
    """Files of a query, two for each batch, written once."""
    folder = BUILD / ("input-" + "-".join(map(str, of)))
    if (folder / "_complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    fills = np.array_split(random.permutation(of.first) % of.keys, of.fills)
    for batch, key in enumerate([*fills, *(random.integers(0, of.keys, of.rows) for _ in range(of.times))]):
        table, half = pa.table({"key": key, "amount": random.integers(0, 1000, len(key))}), len(key) // 2
        for part in range(2):
            path = folder / f"{batch:04}-{part}.parquet"
            pq.write_table(table.slice(part * half, half), path)
            os.utime(path, (1_000_000_000 + batch, 1_000_000_000 + batch))
    (folder / "_complete").touch()
    return folder


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.check_output(["git", "-C", str(ROOT), *words, "--", *MEASURED], text=True).strip()

    return git("log", "-1", "--format=%h", "--abbrev=12") + ("-changed" if git("status", "--porcelain") else "")


def _machine() -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{model[1] if model else 'unknown processor'}, {os.cpu_count()} cores, {memory} GB"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


if __name__ == "__main__":
    main()
