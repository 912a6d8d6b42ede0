"""``make faults``: every fault many times, over queries that take turns."""

from __future__ import annotations

import time

import click

from campaigns.faults import record, summary
from campaigns.faults.campaign import Campaign, suitable
from campaigns.faults.kinds import FAULTS
from campaigns.faults.queries import QUERIES
from campaigns.faults.record import Entry
from campaigns.faults.undisturbed import undisturbed
from support.scala_classes import compile_classes
from support.spark import ROOT

BATCHES = 24
BUILD = ROOT / "build" / "faults"


@click.command()
@click.option("--only", type=click.Choice(list(FAULTS)), multiple=True, help="Inject this fault; may be repeated.")
@click.option("--query", type=click.Choice(list(QUERIES)), multiple=True, help="Disturb this query; may be repeated.")
@click.option("--times", default=100, show_default=True, help="How often each fault must take effect.")
@click.option("--seed", default=None, type=int, help="Seed of the first run of each fault; without it the time.")
@click.option("--batches", default=BATCHES, show_default=True, help="Of the input of each query.")
def main(only: tuple[str, ...], query: tuple[str, ...], times: int, seed: int | None, batches: int) -> None:
    """Inject faults into running queries until each took effect often enough."""
    seed = int(time.time()) if seed is None else seed
    BUILD.mkdir(parents=True, exist_ok=True)
    classes, source = compile_classes(BUILD), record.tree()
    chosen = {name: [q for q in suitable(name) if not query or q in query] for name in only or FAULTS}
    chosen = {name: queries for name, queries in chosen.items() if queries}
    needed = [q for q in QUERIES if any(q in queries for queries in chosen.values())]
    click.echo(f"seed {seed}, commit {source.commit}; without faults: {', '.join(needed)}")
    expected = undisturbed(BUILD, needed, batches)
    wrong = []
    for name, queries in chosen.items():
        start = time.monotonic()
        campaign = Campaign(name, queries, times, seed, BUILD / "runs", classes, batches, expected, source, _note)
        if not campaign.run():
            wrong.append(name)
        click.echo(f"{name}: {time.monotonic() - start:.0f} s")
        summary.write(record.load())
    if wrong:
        raise click.ClickException(
            f"wrong under {', '.join(wrong)}: see {summary.TABLE}, {record.PATH} and {BUILD / 'runs'}"
        )


def _note(found: Entry) -> None:
    effects = ", ".join(f"{effect} {times}" for effect, times in sorted(found.effects.items()))
    click.echo(
        f"{found.end} {found.fault} / {found.query}, seed {found.seed}: {found.effective} of {found.injected} "
        f"effective ({effects}), {found.restarts} restarts, {found.attempts} attempts: {found.result}"
    )


if __name__ == "__main__":
    main()
