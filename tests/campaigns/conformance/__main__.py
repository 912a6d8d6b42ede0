"""Run Spark 4.2.0's own test suites on our provider: ``make conformance``, the core of them or with ``--full`` all.

The suites come from Maven Central, Spark's classes from the pyspark package; nothing of either is kept here.
``suites.json`` lists the suites, and the tests that can pass on Spark's own providers only, each with the reason.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

import click

from campaigns.conformance.batches import batches
from campaigns.conformance.jvm import run_batch
from campaigns.conformance.outcomes import Build, Outcome, Outcomes
from campaigns.conformance.places import prepare
from campaigns.conformance.suites import Suites
from campaigns.conformance.table import PAGE, page


def run_all(chosen: list[str], suites: Suites, outcomes: Outcomes, build: Build, jobs: int) -> list[str]:
    """Run suites, several JVMs at once, and give what is wrong with them."""
    problems: list[str] = []
    seconds = {suite: outcome.seconds for suite, outcome in outcomes.of.items() if outcome.finished}
    pool = ThreadPoolExecutor(jobs)
    try:
        while chosen:
            running = [pool.submit(run_batch, batch, build) for batch in batches(chosen, seconds)]
            for done in as_completed(running):
                for suite, outcome in done.result().items():
                    outcomes.keep(suite, outcome)
                    chosen.remove(suite)
                    problems += report(suite, outcome, suites)
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt must not start the remaining batches
    return problems


def report(suite: str, outcome: Outcome, suites: Suites) -> list[str]:
    """Print an outcome, and give what is wrong with it."""
    failed = [test for test in outcome.failed if not suites.reason(suite, test)]
    counts = f"{outcome.succeeded} passed, {len(failed)} failed, {len(outcome.failed) - len(failed)} excluded"
    click.echo(f"{suite}: {counts}, {outcome.stores} stores of ours, {outcome.seconds:.0f} s")
    problems = [f"{suite}: failed: {test}" for test in failed]
    if not outcome.finished:
        problems.append(f"{suite}: did not run to its end")
    if not outcome.stores and suite not in suites.no_store:
        problems.append(f"{suite}: opened no store of ours, and suites.json does not say why")
    for problem in problems:
        click.echo(f"  {problem}")
    return problems


def choose(suites: Suites, only: tuple[str, ...], *, full: bool) -> list[str]:
    """Give the suites to run: those whose names contain one of these texts, or all, or the core."""
    if only:
        return [suite for suite in suites.run if any(part in suite for part in only)]
    return list(suites.run if full else suites.core)


@click.command()
@click.option("--full", is_flag=True, help="Run all suites (three hours), keep their outcomes and write the page.")
@click.option("--only", multiple=True, help="Run suites whose name contains this. Repeatable.")
@click.option("--missing", is_flag=True, help="Run only suites that have not run to their end on this build.")
@click.option("--jobs", default=2, show_default=True, help="JVMs at once.")
@click.option("--table", "tabled", is_flag=True, help="Run nothing; write the table of the last outcome of each suite.")
def main(full: bool, only: tuple[str, ...], missing: bool, jobs: int, tabled: bool) -> None:
    """Run the core of Spark's own test suites on our provider: half an hour."""
    suites, outcomes, build = Suites.read(), Outcomes(keeps=full), Build.current()
    suites.require_all(prepare())
    chosen = [s for s in choose(suites, only, full=full) if not (missing and outcomes.has(s, build))]
    problems = [] if tabled else run_all(chosen, suites, outcomes, build, jobs)
    if full or tabled:
        PAGE.write_text(page(suites, outcomes.of, build))
        click.echo(f"{PAGE} is written")
    click.echo(f"{len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
