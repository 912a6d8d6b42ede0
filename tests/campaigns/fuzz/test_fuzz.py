"""A short run of the fuzzers, the same each time; ``make fuzz`` runs them for longer."""

from __future__ import annotations

import pytest

from campaigns.fuzz import jvm_run, python_run
from support.everyday import first_every_day

SEED = 1
REFUSED = {"damaged CheckpointError"}
ALL = REFUSED | {"damaged read", "forged read", "forged CheckpointError"}
ENDINGS = {
    "manifest": ALL - {"damaged read"},  # it is written anew: other bytes, under a checksum of those before
    "head": REFUSED | {"damaged read"},  # the bytes behind the manifest are not looked at
    "restore": ALL,
    "load": ALL,
    "change": ALL,
}
"""What has to come of the inputs, or they would show nothing."""


@pytest.mark.parametrize(
    ("target", "count"), [("manifest", 6000), ("head", 3000), ("restore", 2000), ("load", 300), ("change", 300)]
)
def test_python_reads_or_refuses_mutated_files(target: str, count: int) -> None:
    outcomes, findings = python_run.run(target, SEED, count)
    assert not findings
    assert outcomes.total() == count
    assert ENDINGS[target] <= set(outcomes)


def test_the_jvm_reads_or_refuses_mutated_segments(request: pytest.FixtureRequest) -> None:
    outcomes, findings = jvm_run.run(SEED, 30_000, request.config.cache.mkdir("scala-fuzz"))
    assert not findings
    assert outcomes.total() == 30_000
    assert set(outcomes) == jvm_run.ENDINGS


@pytest.mark.parametrize("wrong", ["drop", "flip", *first_every_day("find", "tombstones", "times")])
def test_a_wrong_reader_in_the_jvm_is_reported(request: pytest.FixtureRequest, wrong: str) -> None:
    _, findings = jvm_run.run(SEED, 300, request.config.cache.mkdir("scala-fuzz"), wrong)
    what = "find" if wrong == "find" else "rows"
    assert findings
    assert all(f"WrongAnswer: {what}: " in finding for finding in findings)
