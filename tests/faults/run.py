"""``make faults``: every fault many times, and the table docs/faults.md."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from faults.campaign import Campaign, Result
from faults.table import FAULTS
from remote.jobs import undisturbed, write_input
from support.scala_classes import compile_classes
from support.spark import ROOT

BATCHES = 30
SIZE = {"rows": 200, "keys": 600}
"""Of the input: a batch writes a part of the keys, so that older segments are still needed, and are merged."""
BUILD = ROOT / "build" / "faults"
WORK = BUILD / "work"
TABLE = ROOT / "docs" / "faults.md"
HEAD = f"""# Faults, injected

Written by `make faults`: queries of {BATCHES} batches, disturbed at random moments and started again when they failed.
After each batch the answers so far must be those of Spark's RocksDB provider, left in peace, after as many input files.

| fault | injected | queries | restarts of a query | rows |
| --- | --- | --- | --- | --- |
"""


@click.command()
@click.option("--only", type=click.Choice(list(FAULTS)), multiple=True, help="Inject this fault; may be repeated.")
@click.option("--times", default=100, show_default=True, help="How often each.")
@click.option("--seed", default=None, type=int, help="Seed of the random moments; without it the time.")
@click.option("--add", is_flag=True, help="Add to the counts of earlier runs, which had other seeds.")
def main(only: tuple[str, ...], times: int, seed: int | None, *, add: bool) -> None:
    """Inject faults into running queries, and write the table."""
    seed = int(time.time()) if seed is None else seed
    BUILD.mkdir(parents=True, exist_ok=True)
    classes = compile_classes(BUILD)
    click.echo(f"seed {seed}")
    for name in only or FAULTS:
        start = time.monotonic()
        known = (_known(name) if add else None) or Result()
        result = _run(name, times, seed, classes, partial(_save, name, known))
        click.echo(f"{name}: {result}, {time.monotonic() - start:.0f} s")
        if not result.equal:
            raise click.ClickException(f"wrong rows after '{FAULTS[name].title}', seed {seed}: see {WORK}")
    _write_table()


def _run(name: str, times: int, seed: int, classes: Path, save: Callable[[Result], None]) -> Result:
    shutil.rmtree(WORK, ignore_errors=True)
    write_input(WORK / "in", range(BATCHES), **SIZE)
    query = FAULTS[name].query
    expected = undisturbed(WORK / "undisturbed", WORK / "in", [query])[query]
    return Campaign(FAULTS[name], times, seed, WORK, classes, WORK / "in", expected, save).run()


def _save(name: str, known: Result, result: Result) -> None:
    """What was done stays when the rest is broken off."""
    _file(name).write_text(json.dumps(asdict(known + result)))


def _write_table() -> None:
    found = {FAULTS[name].title: result for name in FAULTS if (result := _known(name))}
    TABLE.write_text(HEAD + "\n".join(_row(title, result) for title, result in found.items()) + "\n")


def _known(name: str) -> Result | None:
    """What came of the runs so far."""
    return Result(**json.loads(_file(name).read_text())) if _file(name).exists() else None


def _file(name: str) -> Path:
    return BUILD / f"{name}.json"


def _row(title: str, result: Result) -> str:
    rows = "equal" if result.equal else "WRONG"
    return f"| {title} | {result.injected} | {result.runs} | {result.restarts} | {rows} |"


if __name__ == "__main__":
    main()
