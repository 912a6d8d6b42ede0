"""Measure Spark's state store providers and ours in one run: ``python tests/campaigns/bench/run.py`` (``make bench``).

Every job runs in a process of its own with the same JVM flags, on the same disk, at least three times, and the
providers take turns in going first. Raw figures go to ``build/bench/results.json``; tables with ratios and targets go
to the terminal. ``publish.py`` (``make bench-table``) keeps the figures and writes the tables of README and docs.
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
from campaigns.bench.plan import QUICK, Job, Sizes
from campaigns.bench.providers import BASELINE, BUILD, OURS, PROVIDERS, our_jars
from campaigns.bench.results import continued, load, new_run
from campaigns.bench.runner import Runner


def _chosen(names: str, baseline: Path | None) -> list[str]:
    chosen = [name.strip() for name in names.split(",")]
    unknown = ", ".join(sorted(set(chosen) - set(PROVIDERS)))
    if unknown:
        raise click.BadParameter(f"{unknown}: expected some of {', '.join(PROVIDERS)}", param_hint="--providers")
    if OURS in chosen and not our_jars():
        raise click.ClickException("there is no jar of the shim in provider/keygroups/jars: run `make jar`")
    if baseline and not our_jars(baseline):
        raise click.ClickException(f"there is no jar of the shim in {baseline}: run `make jar` there")
    return [name for name in PROVIDERS if name in chosen or (name == BASELINE and baseline)]


def _measure(parts: list[str], providers: list[str], runner: Runner) -> None:
    sizes = Sizes(**runner.results["sizes"])
    work = BUILD / "work"
    base = Job("", "", work / "job", runner.results["heap"], warm_keys=sizes.warm_keys)
    for part in parts:
        shutil.rmtree(work, ignore_errors=True)
        jobs = [replace(job, input=inputs.written(job)) for job in jobs_of(part, base, sizes, providers)]
        try:
            with ExitStack() as servers:
                runner.run_part(part, jobs, Places(work / "servers", servers))
        finally:  # several gigabytes
            shutil.rmtree(work, ignore_errors=True)


def _show(run: dict[str, Any], markdown: bool) -> None:
    sizes = Sizes(**run["sizes"])
    judge = not run["quick"]
    found = tables.build(run["records"], sizes)
    click.echo(report.render(found, judge=judge, markdown=markdown) + "\n")
    click.echo(report.summary(found) if judge else "Small sizes: targets are not judged.")
    click.echo(report.disturbance(run["records"], run["machine"]["cores"]))
    if run["failed"]:
        click.echo(f"Jobs that FAILED, whose figures are missing: {len(run['failed'])}.")


@click.command()
@click.option("--quick", is_flag=True, help="Small sizes: shows that everything runs, not how fast it is.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="Measure this part; may be repeated.")
@click.option("--add", is_flag=True, help="Add to the figures in the output file, which must be of the same commit.")
@click.option("--providers", default="rocksdb,rocksdb-untracked,hdfs,keygroups", show_default=True)
@click.option("--baseline", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Checkout of another "
              "commit of ours, with its jar, to run beside the others.")  # fmt: skip
@click.option("--repetitions", type=int, help="Runs of each job; 3 if not given.")
@click.option("--heap", default="4g", show_default=True, help="Largest JVM heap, for every provider.")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--output", type=click.Path(path_type=Path), default=BUILD / "results.json", help="File for raw figures.")
@click.option("--show", type=click.Path(exists=True, path_type=Path), help="Print the file of an earlier run instead.")
def main(
    quick: bool,
    only: tuple[str, ...],
    add: bool,
    providers: str,
    baseline: Path | None,
    repetitions: int | None,
    heap: str,
    markdown: bool,
    output: Path,
    show: Path | None,
) -> None:
    """Measure Spark's state store providers and ours in one run."""
    if show:
        _show(load(show), markdown)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaving this way ends the job that runs
    baseline = baseline.resolve() if baseline else None
    chosen = _chosen(providers, baseline)
    sizes = QUICK if quick else Sizes()
    sizes = replace(sizes, repetitions=repetitions) if repetitions else sizes
    run = new_run(sizes, heap, baseline, quick=quick)
    run = continued(run, load(output)) if add and output.exists() else run
    jar = build_jar()
    _measure(list(only or PARTS), chosen, Runner(jar, output, run, baseline))
    _show(run, markdown)
    click.echo(f"Raw figures: {output}")
    sys.exit(1 if run["failed"] else 0)


if __name__ == "__main__":
    main()
