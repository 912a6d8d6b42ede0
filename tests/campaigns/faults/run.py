"""``make faults``: every fault a few times, or with ``--full`` many times, over queries that take turns."""

from __future__ import annotations

import time

import click

from campaigns.faults import record, summary
from campaigns.faults.campaign import Campaign, suitable
from campaigns.faults.kinds import FAULTS, SHORT
from campaigns.faults.queries import QUERIES
from campaigns.faults.record import Entry
from campaigns.faults.undisturbed import undisturbed
from support.scala_classes import compile_classes
from support.spark import ROOT

BATCHES, TIMES = 24, 100
SHORT_BATCHES, SHORT_TIMES = 8, 3
SHORT_QUERIES = ("windows", "texts", "timers", "keyed")
"""Removals, values in files alone, a Python worker, and a worker that reads the state's files itself."""
BUILD = ROOT / "build" / "faults"


@click.command()
@click.option("--full", is_flag=True, help="All queries at length, many times (a day); keep the runs, write the page.")
@click.option("--only", type=click.Choice(list(FAULTS)), multiple=True, help="Inject this fault; may be repeated.")
@click.option("--query", type=click.Choice(list(QUERIES)), multiple=True, help="Disturb this query; may be repeated.")
@click.option("--times", type=int, help=f"How often each fault must take effect: {SHORT_TIMES}, {TIMES} with --full.")
@click.option("--seed", default=None, type=int, help="Seed of the first run of each fault; without it the time.")
@click.option("--batches", type=int, help=f"Of the input of each query: {SHORT_BATCHES}, {BATCHES} with --full.")
def main(
    full: bool, only: tuple[str, ...], query: tuple[str, ...], times: int | None, seed: int | None, batches: int | None
) -> None:
    """Inject faults into running queries until each took effect often enough."""
    seed = int(time.time()) if seed is None else seed
    times = times or (TIMES if full else SHORT_TIMES)
    batches = batches or (BATCHES if full else SHORT_BATCHES)
    BUILD.mkdir(parents=True, exist_ok=True)
    classes, source = compile_classes(BUILD), record.tree()
    wanted = query or (QUERIES if full else SHORT_QUERIES)
    chosen = {name: [q for q in suitable(name) if q in wanted] for name in only or FAULTS}
    chosen = {name: queries for name, queries in chosen.items() if queries}
    needed = [q for q in QUERIES if any(q in queries for queries in chosen.values())]
    click.echo(f"seed {seed}, commit {source.commit}; without faults: {', '.join(needed)}")
    expected = undisturbed(BUILD, needed, batches)
    wrong = []
    for name, queries in chosen.items():
        start, fault = time.monotonic(), (FAULTS if batches >= BATCHES else SHORT)[name]
        note = _published if full else _note
        campaign = Campaign(name, fault, queries, times, seed, BUILD / "runs", classes, batches, expected, source, note)
        if not campaign.run():
            wrong.append(name)
        click.echo(f"{name}: {time.monotonic() - start:.0f} s")
        if full:
            summary.write(record.load())
    if wrong:
        raise click.ClickException(f"wrong under {', '.join(wrong)}: see {BUILD / 'runs'}")


def _published(found: Entry) -> None:
    record.append(found)
    _note(found)


def _note(found: Entry) -> None:
    effects = ", ".join(f"{effect} {times}" for effect, times in sorted(found.effects.items()))
    click.echo(
        f"{found.end} {found.fault} / {found.query}, seed {found.seed}: {found.effective} of {found.injected} "
        f"effective ({effects}), {found.restarts} restarts, {found.attempts} attempts: {found.result}"
    )


if __name__ == "__main__":
    main()
