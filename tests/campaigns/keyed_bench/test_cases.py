"""The short form has what a ratio takes; the page is made from the results of a full run."""

from __future__ import annotations

import json

import click
import pytest

from campaigns.keyed_bench.report import BEGIN, END, PAGE, RESULTS, lines
from campaigns.keyed_bench.run import cases
from campaigns.keyed_bench.systems import BATCH, FLOOR, OURS, SMALL, SMALL_SPARK, SPARK


def test_the_page_is_made_from_the_results() -> None:
    """Of one run; nobody has edited it by hand."""
    (path,) = RESULTS.glob("*.json")
    run = json.loads(path.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0] == "\n" + "\n".join(lines(run)) + "\n"
    assert run["commit"][:7] in page.partition(BEGIN)[0]


def test_a_short_run_needs_no_other_system() -> None:
    short = cases((), full=False)
    assert {OURS, SPARK, SMALL, SMALL_SPARK, BATCH, FLOOR} <= {case.name for case in short}
    assert not [case.name for case in short if case.environment]


def test_a_short_run_has_each_query_of_ours() -> None:
    """Of a text that of memory and that which is larger."""
    short, full = cases((), full=False), cases((), full=True)
    queries = {case.job["query"] for case in full if "query" in case.job} - {"applyInPandasWithState"}
    assert {case.job["query"] for case in short} == queries
    assert {case.limit for case in short} == {case.limit for case in full}


def test_a_case_of_full_runs_is_refused() -> None:
    with pytest.raises(click.BadParameter, match=r"PyFlink: expected .* with --full there are more"):
        cases(("PyFlink",), full=False)
    assert len(cases(("PyFlink",), full=True)) == 4
