"""What is published of a run: of one commit, at least three runs a job, and tables that are made from the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from campaigns.bench import pages
from campaigns.bench.lines import Line, Spread, Target, best
from campaigns.bench.parts import PARTS, jobs_of
from campaigns.bench.plan import Job, Sizes
from campaigns.bench.providers import BASELINE, OURS, PROVIDERS, REPOSITORY
from campaigns.bench.publish import faults, keep, newest, with_table
from campaigns.bench.report import ratio
from campaigns.bench.results import compact, continued, load, new_run
from campaigns.bench.tables import build

Run = dict[str, Any]


@pytest.mark.parametrize(("page", "render"), [("README.md", pages.readme), ("docs/benchmarks.md", pages.benchmarks)])
def test_tables_are_made_from_the_newest_results(page: str, render: Callable[[Run], str]) -> None:
    """Nobody has edited them by hand."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    assert with_table(text, render(newest())) == text
    assert newest()["commit"][:7] in text.partition("<!-- bench:begin -->")[0]


def test_changed_figures_change_the_tables() -> None:
    """The test above can fail."""
    run = newest()
    before = pages.readme(run)
    for record in run["records"]:
        if record["part"] == "query" and record["provider"] == OURS:
            record["figures"]["batch"] = [2 * time for time in record["figures"]["batch"]]
    assert pages.readme(run) != before


def test_parts_that_were_not_measured_are_named() -> None:
    """A table of some parts does not look like one of all."""
    run = newest()
    run["parts"].pop("s3", None)
    measured, missing = set(run["parts"]), set(PARTS) - set(run["parts"])
    told = pages.readme(run).partition("Not measured at this commit:**")[2].splitlines()[0]
    assert missing
    assert all(part in told for part in missing)
    assert not any(f" {part}," in told or f" {part}." in told for part in measured)


@pytest.fixture
def complete() -> Run:
    """A run with three records of each job, and a part each."""
    base = Job("", "", Path("job"), "4g")
    jobs = [(part, job) for part in PARTS for job in jobs_of(part, base, Sizes(), [*PROVIDERS])]
    names = ("part", "provider", "keys", "value_longs", "variant")
    records = [{"group": part, **{name: getattr(job, name) for name in names}} for part, job in jobs]
    times = {"started": "2026-01-01T00:00:00", "ended": "2026-01-01T01:00:00", "seconds": 3600}
    return {
        "commit": "abc1234567",
        "baseline": "",
        "machine": {"cores": 2},
        "sizes": {"small_keys": 1},
        "full": True,
        "heap": "4g",
        "parts": dict.fromkeys(PARTS, times),
        "failed": [],
        "records": records,
    }


def test_a_complete_run_is_kept(complete: Run, tmp_path: Path) -> None:
    """Under its date and commit, with a line for each job, in the place of the run before."""
    source = tmp_path / "run.json"
    source.write_text(compact(complete))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "2025-01-01-0123456789.json").write_text("{}")
    path = keep(source, tmp_path / "results")
    assert path.name == "2026-01-01-abc1234567.json"
    assert load(path) == complete == newest(tmp_path / "results")
    assert len(path.read_text().splitlines()) < len(complete["records"]) + 5 * len(PARTS) + 30


def remove_one_run(run: Run) -> None:
    run["records"].remove(next(record for record in run["records"] if record["part"] == "commits"))


REFUSED: dict[str, Callable[[Run], Any]] = {
    "commit first": lambda run: run.update(commit="abc1234567-changed"),
    "1 jobs failed": lambda run: run["failed"].append({}),
    "fewer than 3 runs of: commit commits": remove_one_run,
    "it is a short run: figures are published of `make bench ARGS=--full` only": lambda run: run.update(full=False),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_run_that_proves_nothing_is_refused(message: str, complete: Run, tmp_path: Path) -> None:
    """And says why."""
    assert not faults(complete)
    REFUSED[message](complete)
    source = tmp_path / "run.json"
    source.write_text(compact(complete))
    with pytest.raises(click.ClickException, match=message):
        keep(source, tmp_path / "results")


@pytest.mark.parametrize("name", ["commit", "machine", "sizes", "heap", "full"])
def test_parts_of_two_runs_are_not_mixed(name: str, complete: Run) -> None:
    """``--add`` refuses another commit, machine, size, heap or form."""
    with pytest.raises(click.ClickException, match=f"{name} differs"):
        continued({**complete, name: "other"}, complete)
    assert continued(complete, complete) == complete


def test_the_file_of_a_run_is_added_to(tmp_path: Path) -> None:
    """Its sizes are those of the run that wrote it."""
    run, path = new_run(Sizes(), None, full=True), tmp_path / "run.json"
    path.write_text(compact(run))
    assert continued(run, load(path)) == run


def test_parts_may_be_measured_on_two_processors(complete: Run) -> None:
    """Virtual machines of one size have others on other days, and less than a GiB more memory; cores must be equal."""
    machine = {"cores": 2, "memory_bytes": 24 << 30, "kernel": "a", "processor": "A"}
    other = {"cores": 2, "memory_bytes": (24 << 30) + 400_000, "kernel": "b", "processor": "B"}
    earlier = {**complete, "machine": machine}
    assert continued({**complete, "machine": other}, earlier) == earlier
    for different in ({"cores": 4}, {"memory_bytes": 25 << 30}):
        with pytest.raises(click.ClickException, match="machine differs"):
            continued({**complete, "machine": {**machine, **different}}, earlier)


def test_a_floor_is_that_of_the_same_part() -> None:
    """The part with more keys may have been measured on another day than the part with the floor."""
    figures = {"fill": [1.0, 1.0], "update": [1.0], "peak": 1.0}
    common = {"keys": 2, "gets": 1, "rows": 1, "limit": 1, "limited": "by nothing", "read_ahead_kb": 128}
    common |= {"variant": "128 KB", "provider": OURS, "figures": figures}
    records = [{**common, "group": group, "part": "larger"} for group in ("larger", "largest")]
    tables = build([*records, {**common, "group": "larger", "part": "larger_empty"}], Sizes())
    assert ["keeps nothing" in table.note for table in tables] == [True, False]


def test_a_failed_job_leaves_the_other_runs() -> None:
    """The tables are printed also if one of the compared sizes has fewer runs."""
    common = {"group": "grown", "part": "commits", "provider": OURS, "rows": 1, "gets": 1}
    p50s = [(1, 2e6), (2, 4e6), (1, 2e6)]
    records = [{**common, "keys": keys, "figures": {"commit": [p50], "batch": [p50]}} for keys, p50 in p50s]
    (table,) = build(records, Sizes())
    assert table.lines[-1].values[OURS] == Spread.of([2.0])


def test_all_machines_are_named() -> None:
    """Those of parts that were measured on another day too, and beside each part its own."""
    run = newest()
    run["parts"]["spi"]["kernel"] = "Linux 0.0.1 on B"
    assert "Linux 0.0.1 on B, Linux 6" in pages.readme(run)
    rows = [row for row in pages.benchmarks(run).splitlines() if "Linux 0.0.1 on B |" in row]
    assert [row.split(" | ")[0] for row in rows] == ["| spi"]


def test_ratio_is_bold_only_where_all_runs_agree() -> None:
    """0.9x with one run above 1 is not."""
    ours, peer = Spread.of([8.0, 9.0, 9.5]), Spread.of([9.8, 10.0, 11.0])
    assert ratio(line(ours, peer), "hdfs", bold=True) == "**0.90x** (0.73 to 0.97)"
    assert ratio(line(Spread.of([8.0, 9.0, 9.9]), peer), "hdfs", bold=True) == "0.90x (0.73 to 1.01)"
    assert ratio(line(Spread.of([20.0, 21.0, 22.0]), peer), "hdfs", bold=True) == "**2.10x** (1.82 to 2.24)"
    assert ratio(line(Spread.of([9.0, 9.5, 9.76]), peer), "hdfs", bold=True) == "0.95x (0.82 to 1.00)"
    assert ratio(line(Spread.of([9.0, 9.0]), peer), "hdfs", bold=True) == "0.90x (0.82 to 0.92)"
    assert ratio(line(ours, Spread.of([0.0])), "hdfs", bold=True) == ""


def line(ours: Spread, peer: Spread) -> Line:
    return Line("batch", "s", {"hdfs": peer, OURS: ours})


def test_ours_is_compared_with_the_better_setting_of_a_peer() -> None:
    """So is its target."""
    values = {"rocksdb": Spread.of([3.0]), "rocksdb-untracked": Spread.of([2.0]), OURS: Spread.of([2.1])}
    assert best(values, "rocksdb") == Spread.of([2.0])
    assert Target(times={"rocksdb": 1.0}).verdict(values) == "missed"
    assert Target(times={"rocksdb": 1.1}).verdict(values) == "met"
    assert Target(times={"hdfs": 1.1}).verdict(values) == ""


@pytest.mark.parametrize("part", ["spi", "e2e", "operators"])
def test_baseline_takes_turns_with_ours(part: str) -> None:
    """As many jobs of each, and neither always first."""
    jobs = jobs_of(part, Job("", "", Path("job"), "4g"), Sizes(), [BASELINE, OURS])
    order = [job.provider for job in jobs if job.part != "query_empty"]
    assert order.count(BASELINE) == order.count(OURS) >= 3
    assert {BASELINE, OURS} == {*order[::2]}
