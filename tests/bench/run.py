"""Measure Spark's two state store providers and ours in one run: ``python tests/bench/run.py`` (``make bench``).

Every job runs in a process of its own with the same JVM flags, on the same disk, and the providers take turns in going
first. Raw figures go to ``build/bench/results.json``; tables with ratios and targets go to the terminal.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import click

import e2e
import operators
import report
import tables
from harness import build_jar
from plan import PARTS, QUICK, Job, Sizes
from providers import BUILD, OURS, PROVIDERS, our_jars
from runner import Runner


def _chosen(names: str) -> list[str]:
    chosen = [name.strip() for name in names.split(",")]
    unknown = ", ".join(sorted(set(chosen) - set(PROVIDERS)))
    if unknown:
        raise click.BadParameter(f"{unknown}: expected some of {', '.join(PROVIDERS)}", param_hint="--providers")
    if OURS in chosen and not our_jars():
        raise click.ClickException("there is no jar of the shim in provider/keygroups/jars: run `make jar`")
    return chosen


def _measure(parts: list[str], sizes: Sizes, providers: list[str], heap: str, output: Path) -> dict[str, Any]:
    runner = Runner(build_jar(), output, sizes, providers, heap)
    source = BUILD / f"input-{sizes.query_keys}-{sizes.query_batches}"
    if "e2e" in parts:
        e2e.write_input(source, sizes.query_keys, sizes.query_keys, sizes.query_batches)
    if "s3" in parts:
        e2e.write_input(
            BUILD / f"input-{sizes.s3_keys}-{sizes.s3_batches}", sizes.s3_keys, sizes.s3_keys, sizes.s3_batches
        )
    if "operators" in parts:
        for keys in {sizes.operator_keys, sizes.python_keys, sizes.map_keys}:
            operators.write_input(BUILD / f"operators-{keys}-{sizes.operator_batches}", keys, sizes.operator_batches)
    folder = BUILD / "work"
    base = Job("", "", folder, heap, warm_keys=sizes.warm_keys, input=source)
    for part in parts:
        shutil.rmtree(folder, ignore_errors=True)
        try:
            PARTS[part](runner.run, base, sizes, providers)
        finally:  # several gigabytes
            shutil.rmtree(folder, ignore_errors=True)
    return runner.results


def _show(run: dict[str, Any], markdown: bool) -> None:
    sizes = Sizes(**run["sizes"])
    judge = sizes == Sizes()
    found = tables.build(run["records"], sizes.query_warm_batches)
    click.echo(report.render(found, run["providers"], judge=judge, markdown=markdown) + "\n")
    if OURS in run["providers"]:
        click.echo(report.summary(found) if judge else "Small sizes: targets are not judged.")
    click.echo(report.disturbance(run["records"], run["machine"]["cores"]))
    if run["failed"]:
        click.echo(f"Jobs that FAILED, whose figures are missing: {len(run['failed'])}.")


@click.command()
@click.option("--quick", is_flag=True, help="Small sizes: shows that everything runs, not how fast it is.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="Measure this part; may be repeated.")
@click.option("--providers", default=",".join(PROVIDERS), show_default=True, help="Providers, separated by commas.")
@click.option("--heap", default="4g", show_default=True, help="Largest JVM heap, for every provider.")
@click.option("--markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--output", type=click.Path(path_type=Path), default=BUILD / "results.json", help="File for raw figures.")
@click.option("--show", type=click.Path(exists=True, path_type=Path), help="Print the file of an earlier run instead.")
def main(
    quick: bool, only: tuple[str, ...], providers: str, heap: str, markdown: bool, output: Path, show: Path | None
) -> None:
    """Measure Spark's two state store providers and ours in one run."""
    if show:
        _show(json.loads(show.read_text(encoding="utf-8")), markdown)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaving this way ends the job that runs
    run = _measure(list(only or PARTS), QUICK if quick else Sizes(), _chosen(providers), heap, output)
    _show(run, markdown)
    click.echo(f"Raw figures: {output}")
    sys.exit(1 if run["failed"] else 0)


if __name__ == "__main__":
    main()
