"""The parts of the conformance run that decide what counts."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from campaigns.conformance.__main__ import choose
from campaigns.conformance.batches import batches
from campaigns.conformance.jvm import outcomes_of
from campaigns.conformance.outcomes import FILE, Build, Outcome, Outcomes
from campaigns.conformance.suites import OURS, Suites
from campaigns.conformance.table import page

NOW = Build("abc", "123")
LOG = """
===== TEST OUTPUT FOR o.a.s.sql.streaming.ASuite: 'one' =====
INFO KeyGroupStateStoreProvider: opens StateStoreId[0]
===== TEST OUTPUT FOR o.a.s.sql.streaming.BSuite: 'one' =====
"""
REPORT = """<testsuite name="{0}" time="2.5" tests="2">
<testcase name="one" time="1"/><testcase name="two" time="1"><failure message="no"/></testcase></testsuite>"""


def test_a_suite_of_spark_that_is_not_listed_is_an_error() -> None:
    suites = Suites({"streaming.ASuite": {}}, {}, {"streaming.BSuite": "a reason"})
    suites.require_all({"streaming.ASuite", "streaming.BSuite"})
    with pytest.raises(click.ClickException, match=r"does not name streaming\.CSuite"):
        suites.require_all({"streaming.ASuite", "streaming.BSuite", "streaming.CSuite"})
    with pytest.raises(click.ClickException, match=r"Spark has no suite streaming\.BSuite"):
        suites.require_all({"streaming.ASuite"})


def test_each_suite_is_run_or_left_out() -> None:
    suites = Suites.read()
    suites.require_all({*suites.run, *suites.left_out} - {OURS})
    assert all(suites.left_out.values())


def test_the_core_takes_half_an_hour_and_has_each_operator() -> None:
    """By the seconds of the published run: two JVMs at once. Its suites run, and open stores but for codecs."""
    suites, known = Suites.read(), Outcomes(keeps=False).of
    core = choose(suites, (), full=False)
    assert set(core) < set(choose(suites, (), full=True))
    assert sum(known[suite].seconds for suite in core) / 2 < 25 * 60
    for part in ("Aggregation", "Deduplication", "Session", "Join", "MapGroups", "TransformWith", "v2.state", "Timer"):
        assert any(part in suite and known[suite].stores for suite in core), part
    assert choose(suites, ("TimerSuite",), full=False) == [suite for suite in suites.run if "TimerSuite" in suite]


def test_outcomes_of_the_core_are_not_published() -> None:
    outcomes, before = Outcomes(keeps=False), FILE.read_bytes()
    outcomes.keep(OURS, _outcome(1, stores=1))
    assert outcomes.of[OURS].succeeded == 1
    assert FILE.read_bytes() == before


def test_tests_without_a_store_are_in_no_total() -> None:
    suites = Suites({"ASuite": {}, "BSuite": {}}, {"BSuite": "a reason"}, {})
    shown = page(suites, {"ASuite": _outcome(7, stores=3), "BSuite": _outcome(9, stores=0)}, NOW)
    assert "| **all** | **7** | **0** | **0** | **3** |" in shown
    assert "| BSuite | 9 | 0 | a reason |" in shown


def test_rows_of_another_build_are_marked() -> None:
    suites = Suites({"ASuite": {}, "BSuite": {}}, {}, {})
    old = Outcome("old", "99", 1, [], True, 1, 1.0)
    shown = page(suites, {"ASuite": _outcome(7, stores=3), "BSuite": old}, NOW)
    assert "All rows are from" not in shown
    assert "| BSuite | 1 | 0 | 0 | 1 | 1 | old, jar 99, older |" in shown
    assert "All rows are from" in page(suites, {"ASuite": _outcome(7, stores=3)}, NOW)


def test_an_excluded_test_is_not_a_failed_one() -> None:
    suites = Suites({"ASuite": {"a reason": ["this one", "these*"]}}, {}, {})
    failed = _outcome(1, stores=1, failed=["this one", "these too", "that one"])
    shown = page(suites, {"ASuite": failed}, NOW)
    assert "| ASuite | 1 | 1 | 2 | 1 |" in shown
    assert "- ASuite: that one" in shown


def test_stores_are_counted_by_suite_and_a_suite_without_report_did_not_end(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    for suite in ("streaming.ASuite", "streaming.BSuite"):
        (tmp_path / f"TEST-org.apache.spark.sql.{suite}.xml").write_text(REPORT.format(suite))
    made = outcomes_of(["streaming.ASuite", "streaming.BSuite", "streaming.CSuite", "streaming.DSuite"], tmp_path, NOW)
    assert {suite: outcome.stores for suite, outcome in made.items()} == {
        "streaming.ASuite": 1,
        "streaming.BSuite": 0,
        "streaming.CSuite": 0,
    }
    assert made["streaming.ASuite"] == Outcome("abc", "123", 1, ["two"], True, 1, 2.5)
    assert not made["streaming.CSuite"].finished


def test_an_aborted_suite_did_not_end(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{LOG}org.apache.spark.sql.streaming.ASuite *** ABORTED ***\n")
    (tmp_path / "TEST-org.apache.spark.sql.streaming.ASuite.xml").write_text(REPORT.format("ASuite"))
    assert not outcomes_of(["streaming.ASuite"], tmp_path, NOW)["streaming.ASuite"].finished


def test_short_suites_share_a_jvm_and_the_longest_come_first() -> None:
    seconds = {"a": 500.0, "b": 70.0, "c": 60.0, "d": 40.0, "datasources.v2.state.e": 5.0}
    assert batches(seconds, seconds) == [["a"], ["b"], ["c", "d"], ["datasources.v2.state.e"]]


def _outcome(succeeded: int, stores: int, failed: list[str] | None = None) -> Outcome:
    return Outcome(NOW.commit, NOW.jar, succeeded, failed or [], True, stores, 1.0)
