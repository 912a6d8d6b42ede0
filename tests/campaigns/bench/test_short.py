"""The short form measures all that the full one does, each once, and ends with a table of ratios."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaigns.bench import report, tables
from campaigns.bench.lines import Line, Spread, Table, Target, best
from campaigns.bench.parts import PARTS, jobs_of
from campaigns.bench.plan import HEAP, Job, Sizes
from campaigns.bench.providers import BASELINE, OURS, PROVIDERS
from campaigns.bench.publish import newest
from campaigns.bench.run import main
from campaigns.bench.short import SHORT, SHORT_PARTS, shortened

PEERS = [name for name in PROVIDERS if name != BASELINE]
OF_TWO_SIZES = ("grown", "budget")


def planned(part: str, *, full: bool, providers: list[str] = PEERS) -> list[Job]:
    jobs = jobs_of(part, Job("", "", Path("job"), HEAP), Sizes() if full else SHORT, providers)
    return jobs if full else shortened(part, jobs)


def measured(job: Job) -> tuple[str, str, str]:
    """What is measured, where, and of which family."""
    return job.part, job.place, PROVIDERS[job.provider].family


@pytest.mark.parametrize("part", SHORT_PARTS)
def test_everything_is_measured_once(part: str) -> None:
    """Also the family of each peer; but not the floor, and of the profile one query is enough."""
    wanted = {measured(job) for job in planned(part, full=True) if not job.part.endswith("_empty")}
    found = Counter(measured(job) for job in planned(part, full=False))
    assert set(found) == wanted if part != "profile" else {*found} < wanted
    twice = {("commits", "", OURS), ("budget", "", OURS)} if part in OF_TWO_SIZES else set()
    assert {one for one, count in found.items() if count > 1} == twice & set(found)
    assert max(found.values()) <= 2


def test_only_the_second_size_of_a_part_is_left_out() -> None:
    assert {*PARTS} - {*SHORT_PARTS} == {"largest"}
    largest, larger = ({measured(job) for job in planned(part, full=True)} for part in ("largest", "larger"))
    assert largest <= larger


def test_rocksdb_has_the_faster_setting() -> None:
    """By the figures of README, or one that took at most a tenth longer."""
    slower = []
    for part in SHORT_PARTS:
        for job in planned(part, full=False):
            for line in headlines(part, job):
                peer, chosen = best(line.values, "rocksdb"), line.values.get(job.provider)
                if "rocksdb" in job.provider and peer and chosen and chosen.median > 1.1 * peer.median:
                    slower.append((part, job.part, job.place))
    assert not slower


def headlines(part: str, job: Job) -> list[Line]:
    """Lines of README of what a job measures."""
    records = [r for r in newest()["records"] if (r["group"], r["part"], r["place"]) == (part, job.part, job.place)]
    return [line for table in tables.build(records, Sizes()) for line in table.lines if line.headline]


@pytest.mark.parametrize("part", ["spi", "e2e", "operators"])
def test_a_baseline_is_measured_as_ours_is(part: str) -> None:
    jobs = planned(part, full=False, providers=[*PROVIDERS])
    assert [job.part for job in jobs if job.provider == BASELINE] == [job.part for job in jobs if job.provider == OURS]


def test_a_line_of_ratios_for_each_headline() -> None:
    """The best of each family beside ours, without a spread where there was one run."""
    figures = {"rocksdb": 4.0, "rocksdb-untracked": 2.0, "hdfs": 0.5, OURS: 1.0}
    values = {name: Spread.of([figure]) for name, figure in figures.items()}
    lines = [Line("batch", "s", values, headline="a batch"), Line("peak", "MB", values)]
    lines.append(Line("of the budget", "times", {OURS: values[OURS]}, Target(1.1), "of its budget"))
    title, head, *rows = report.ratios([Table("End to end", lines, "")]).strip().splitlines()
    assert "best of each other provider" in title
    assert head.split() == ["rocksdb", "hdfs", OURS, f"{OURS}/rocksdb", f"{OURS}/hdfs"]
    assert [row.split() for row in rows] == [
        ["a", "batch,", "s", "2", "0.5", "1", "0.50x", "2.00x"],
        ["of", "its", "budget,", "times", "1"],
    ]


def test_a_part_of_full_runs_is_refused() -> None:
    done = CliRunner().invoke(main, ["--only", "largest"])
    assert done.exit_code == 2
    assert "largest: only a full run has it, add --full" in done.output
