"""``make soak``: run the job and judge its samples; with ``--full`` at length, and write docs/soak.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import click

from campaigns.soak.query import Wave
from campaigns.soak.report import report, rising, trends
from campaigns.soak.sample import Figures
from campaigns.soak.verdict import WARM_UP
from support.engine_files import engine_commit
from support.spark import ROOT

BUILD = ROOT / "build" / "soak"
DOCUMENT = ROOT / "docs" / "soak.md"
BATCHES, PERIOD = 2000, 200
SHORT_BATCHES, SHORT_PERIOD = 600, 100
SCRIPT = Path(__file__).with_name("job.py")
ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}
"""Of the JVM; the store process does not get it. 16 arenas of the C library went from 132 to 145 MB in 1,270 batches,
while what the JVM had allocated (NativeMemoryTracking) stayed at 171 to 178 MB; two arenas stay at 50 to 52 MB."""


@click.command()
@click.option("--full", is_flag=True, help=f"{BATCHES} batches (40 minutes), and write docs/soak.md.")
@click.option("--batches", type=int, help=f"{SHORT_BATCHES}, or {BATCHES} with --full.")
@click.option("--period", type=int, help=f"Batches of a wave: {SHORT_PERIOD}, or {PERIOD} with --full.")
def main(full: bool, batches: int | None, period: int | None) -> None:
    """Run the query and judge what it held on to."""
    batches = batches or (BATCHES if full else SHORT_BATCHES)
    period = period or (PERIOD if full else SHORT_PERIOD)
    if batches < (WARM_UP + 4) * period:
        raise click.UsageError(
            f"{WARM_UP} waves warm up, and 4 are the least to judge by: more batches or a shorter period"
        )
    wave = Wave(batches, period)
    samples, right = soak(wave, BUILD / "run")
    found = trends(samples, wave)
    text = report(wave, samples, found, right=right, commit=engine_commit())
    (DOCUMENT if full else BUILD / "soak.md").write_text(text)
    click.echo(text)
    if rising(found) or not right:
        raise click.ClickException(f"see {BUILD / 'run'}")


def soak(wave: Wave, folder: Path) -> tuple[list[Figures], bool]:
    """Run the job in a process of its own.

    Args:
        wave: its input.
        folder: for all that it writes; deleted first.

    Returns:
        The samples, and whether the rows were right.

    Raises:
        RuntimeError: it failed; with the end of its log.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    job = folder / "job.json"
    job.write_text(json.dumps({"wave": asdict(wave), "folder": str(folder)}))
    env = os.environ | ALLOCATOR | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "provider")])}
    with (folder / "log").open("w") as log:
        done = subprocess.run([sys.executable, str(SCRIPT), str(job)], stdout=log, stderr=log, env=env, check=False)
    if done.returncode:
        raise RuntimeError((folder / "log").read_text()[-8000:])
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    rows = json.loads((folder / "rows.json").read_text())
    closed, still_open = rows["closed"], rows["open"]
    return samples, closed.keys().isdisjoint(still_open) and closed | still_open == rows["expected"]


if __name__ == "__main__":
    main()
