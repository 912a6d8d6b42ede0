"""``make faults``: every fault many times, and the table docs/faults.md."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import click

from faults.campaign import FAULTS, campaign
from support.scala_classes import compile_classes
from support.spark import ROOT

BUILD = ROOT / "build" / "faults"
TABLE = ROOT / "docs" / "faults.md"
HEAD = """# Faults, injected

Written by `make faults`: queries of 30 batches, disturbed at random moments and started again when they failed. After
each batch the answers so far must be those of Spark's RocksDB provider, left in peace, after as many input files.

| fault | injected | queries | restarts of a query | rows |
| --- | --- | --- | --- | --- |
"""


@click.command()
@click.option("--only", type=click.Choice(list(FAULTS)), multiple=True, help="Inject this fault; may be repeated.")
@click.option("--times", default=100, show_default=True, help="How often each.")
@click.option("--seed", default=None, type=int, help="Seed of the random moments; without it the time.")
def main(only: tuple[str, ...], times: int, seed: int | None) -> None:
    """Inject faults into running queries, and write the table."""
    seed = int(time.time()) if seed is None else seed
    BUILD.mkdir(parents=True, exist_ok=True)
    classes = compile_classes(BUILD)
    click.echo(f"seed {seed}")
    for name in only or FAULTS:
        start = time.monotonic()
        result = campaign(name, times, seed, BUILD / "work", classes)
        (BUILD / f"{name}.json").write_text(json.dumps(asdict(result)))
        click.echo(f"{name}: {result}, {time.monotonic() - start:.0f} s")
        if not result.equal:
            raise click.ClickException(f"wrong rows after '{FAULTS[name].title}', seed {seed}: see {BUILD / 'work'}")
    _write_table()


def _write_table() -> None:
    known = {name: BUILD / f"{name}.json" for name in FAULTS}
    found = {name: json.loads(path.read_text()) for name, path in known.items() if path.exists()}
    lines = [_row(FAULTS[name].title, result) for name, result in found.items()]
    TABLE.write_text(HEAD + "\n".join(lines) + "\n")


def _row(title: str, result: dict[str, int]) -> str:
    rows = "equal" if result["equal"] else "WRONG"
    return f"| {title} | {result['injected']} | {result['runs']} | {result['restarts']} | {rows} |"


if __name__ == "__main__":
    main()
