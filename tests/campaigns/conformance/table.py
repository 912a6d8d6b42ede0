"""The outcomes as a page of Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Final

from campaigns.conformance.outcomes import Build, Outcome
from campaigns.conformance.places import REPOSITORY, SPARK
from campaigns.conformance.suites import Suites

PAGE: Final = REPOSITORY / "docs" / "conformance.md"


def page(suites: Suites, outcomes: Mapping[str, Outcome], now: Build) -> str:
    """Write the page: totals, suites on our provider, suites without it, suites left out, and each reason."""
    known = {suite: outcomes[suite] for suite in suites.run if suite in outcomes}
    missing = [f"- {suite}" for suite in suites.run if suite not in outcomes]
    ours = {suite: outcome for suite, outcome in known.items() if outcome.stores}
    others = {suite: outcome for suite, outcome in known.items() if not outcome.stores}
    lines = ["# Spark's own tests on this provider", "", *_head(suites, known, now), ""]
    lines += ["## Suites that opened stores of this provider", "", *_ours(suites, ours, now), ""]
    lines += [
        "## Suites that opened none",
        "",
        "Their tests are not counted in the totals.",
        "",
        *_others(suites, others, now),
        "",
    ]
    lines += _section("## Not run yet", missing)
    lines += _section("## Failed tests", [f"- {s}: {test}" for s, o in known.items() for test in _failed(suites, s, o)])
    lines += ["## Excluded tests", "", *_excluded(suites, known), ""]
    lines += ["## Suites left out", "", *_left_out(suites)]
    return "\n".join(lines) + "\n"


def _head(suites: Suites, known: Mapping[str, Outcome], now: Build) -> list[str]:
    builds = {outcome.build for outcome in known.values()}
    if builds <= {now}:
        tested = f"All rows are from commit {now.commit}, jar {now.jar} (first digits of its SHA-256)."
    else:
        tested = (
            f"The rows are from several builds. The current one is commit {now.commit}, jar {now.jar} (first digits of "
            "its SHA-256); rows of any other are marked older."
        )
    minutes = sum(outcome.seconds for outcome in known.values()) / 60
    return [
        "Written by `make conformance ARGS=--full` from `tests/campaigns/conformance/outcomes.json`. Every suite that",
        "Spark has in a package of streaming or of the state reader, or built on its StreamTest, is run or left out",
        f"for a reason. Names are below `org.apache.spark.sql`; the version of Spark is {SPARK}.",
        "",
        tested,
        "",
        "A test is excluded when it asserts the names, files or metrics of one of Spark's own providers. Where a suite",
        "names Spark's RocksDB provider, it gets this one. The suites of the state reader (`datasources.v2.state`) run",
        "with `changeFeed` = `writes`, all others without settings of Keygroups.",
        "",
        f"{len(suites.run)} suites are run, {len(suites.left_out)} left out. The tests took {minutes:.0f} minutes.",
    ]


def _ours(suites: Suites, ours: Mapping[str, Outcome], now: Build) -> list[str]:
    lines = ["| suite | passed | failed | excluded | stores opened | seconds | build |", "|" + " --- |" * 7]
    for suite, o in ours.items():
        failed = len(_failed(suites, suite, o))
        ended = str(failed) if o.finished else f"{failed}, did not end"
        excluded = len(o.failed) - failed
        counts = f"{o.succeeded} | {ended} | {excluded} | {o.stores} | {o.seconds:.0f}"
        lines.append(f"| {suite} | {counts} | {_build(o, now)} |")
    failed = sum(len(_failed(suites, suite, o)) for suite, o in ours.items())
    excluded = sum(len(o.failed) for o in ours.values()) - failed
    totals = [sum(o.succeeded for o in ours.values()), failed, excluded, sum(o.stores for o in ours.values())]
    return [*lines, f"| **all** | {' | '.join(f'**{total}**' for total in totals)} | | |"]


def _others(suites: Suites, others: Mapping[str, Outcome], now: Build) -> list[str]:
    lines = ["| suite | tests passed | failed | why | build |", "|" + " --- |" * 5]
    for suite, o in others.items():
        failed = len(_failed(suites, suite, o))
        ended = str(failed) if o.finished else f"{failed}, did not end"
        why = suites.no_store.get(suite, "**no reason is known**")
        lines.append(f"| {suite} | {o.succeeded} | {ended} | {why} | {_build(o, now)} |")
    return lines


def _build(outcome: Outcome, now: Build) -> str:
    return outcome.commit if outcome.build == now else f"{outcome.commit}, jar {outcome.jar}, older"


def _failed(suites: Suites, suite: str, outcome: Outcome) -> list[str]:
    return [test for test in outcome.failed if not suites.reason(suite, test)]


def _excluded(suites: Suites, known: Mapping[str, Outcome]) -> list[str]:
    pairs = sorted((suites.reason(s, test), s, test) for s, o in known.items() for test in o.failed)
    lines = []
    for reason, tests in groupby((pair for pair in pairs if pair[0]), key=lambda pair: pair[0]):
        lines += [f"- {reason}:", *(f"  - {suite}: {test}" for _, suite, test in tests)]
    return lines


def _left_out(suites: Suites) -> list[str]:
    return ["| suite | why |", "| --- | --- |", *(f"| {suite} | {why} |" for suite, why in suites.left_out.items())]


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, "", *lines, ""] if lines else []
