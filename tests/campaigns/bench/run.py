"""Measure Spark's state store providers and ours in one run: ``python -m campaigns.bench.run`` (``make bench``).

Every job runs in a process of its own with the same JVM flags, on the same disk. The short form (``short.py``) takes
some 33 minutes: it measures everything once. ``--full`` is for a release: each job at least three times at all sizes,
the providers taking turns in going first. Raw figures go to ``build/bench``; ratios go to the terminal. ``publish.py``
(``make bench-table``) keeps the figures of a full run and writes the tables of README and docs.
"""

from __future__ import annotations

import shutil
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from campaigns.bench import inputs, report, tables
from campaigns.bench.harness import build_jar
from campaigns.bench.parts import PARTS, jobs_of
from campaigns.bench.places import Places
from campaigns.bench.plan import HEAP, Job, Sizes
from campaigns.bench.providers import BASELINE, BUILD, PROVIDERS, our_jars
from campaigns.bench.results import continued, load, new_run
from campaigns.bench.runner import Runner
from campaigns.bench.short import SHORT, SHORT_PARTS, shortened


def _providers(baseline: Path | None) -> list[str]:
    if not our_jars():
        raise click.ClickException("there is no jar of the shim in provider/keygroups/jars: run `make jar`")
    if baseline and not our_jars(baseline):
        raise click.ClickException(f"there is no jar of the shim in {baseline}: run `make jar` there")
    return [name for name in PROVIDERS if name != BASELINE or baseline]


def _parts(only: tuple[str, ...], *, full: bool) -> list[str]:
    possible = [*PARTS] if full else SHORT_PARTS
    if left_out := ", ".join(part for part in only if part not in possible):
        raise click.BadParameter(f"{left_out}: only a full run has it, add --full", param_hint="--only")
    return list(only or possible)


def _measure(parts: list[str], providers: list[str], runner: Runner) -> None:
    sizes = Sizes(**runner.results["sizes"])
    work = BUILD / "work"
    base = Job("", "", work / "job", HEAP, warm_keys=sizes.warm_keys)
    for part in parts:
        shutil.rmtree(work, ignore_errors=True)
        jobs = jobs_of(part, base, sizes, providers)
        jobs = jobs if runner.results["full"] else shortened(part, jobs)
        jobs = [replace(job, input=inputs.written(job)) for job in jobs]
        try:
            with ExitStack() as servers:
                runner.run_part(part, jobs, Places(work / "servers", servers))
        finally:  # several gigabytes
            shutil.rmtree(work, ignore_errors=True)


def _show(run: dict[str, Any]) -> None:
    found = tables.build(run["records"], Sizes(**run["sizes"]))
    if run["full"]:
        click.echo(report.render(found, markdown=False) + f"\n\n{report.summary(found)}")
    click.echo(report.ratios(found))
    click.echo(report.disturbance(run["records"], run["machine"]["cores"]))
    if run["failed"]:
        click.echo(f"Jobs that FAILED, whose figures are missing: {len(run['failed'])}.")


@click.command()
@click.option("--full", is_flag=True, help="All sizes, three runs of each job: some seven hours, for a release.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="Measure this part; may be repeated.")
@click.option("--add", is_flag=True, help="Add to the figures of the last run, which must be of the same commit.")
@click.option("--baseline", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Checkout of another "
              "commit of ours, with its jar, to run beside the others.")  # fmt: skip
@click.option("--show", type=click.Path(exists=True, path_type=Path), help="Print the file of an earlier run instead.")
def main(full: bool, only: tuple[str, ...], add: bool, baseline: Path | None, show: Path | None) -> None:
    """Measure Spark's state store providers and ours in one run."""
    if show:
        _show(load(show))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaving this way ends the job that runs
    baseline = baseline.resolve() if baseline else None
    parts, providers = _parts(only, full=full), _providers(baseline)
    output = BUILD / ("results.json" if full else "short.json")
    run = new_run(Sizes() if full else SHORT, baseline, full=full)
    run = continued(run, load(output)) if add and output.exists() else run
    _measure(parts, providers, Runner(build_jar(), output, run, baseline))
    _show(run)
    click.echo(f"Raw figures: {output}")
    sys.exit(1 if run["failed"] else 0)


if __name__ == "__main__":
    main()
