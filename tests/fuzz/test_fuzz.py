"""A short run of the fuzzers, the same each time; ``make fuzz`` runs them for longer."""

from __future__ import annotations

import pytest

from fuzz import jvm_run, python_run

SEED = 1


@pytest.mark.parametrize(
    ("target", "count"), [("manifest", 6000), ("head", 3000), ("restore", 2000), ("load", 300), ("change", 300)]
)
def test_python_reads_or_refuses_mutated_files(target: str, count: int) -> None:
    outcomes, findings = python_run.run(target, SEED, count)
    assert not findings
    assert outcomes.total() == count
    assert {"read", "CheckpointError"} <= set(outcomes)


def test_the_jvm_reads_or_refuses_mutated_segments(request: pytest.FixtureRequest) -> None:
    outcomes, findings = jvm_run.run(SEED, 30_000, request.config.cache.mkdir("scala-fuzz"))
    assert not findings
    assert outcomes.total() == 30_000
    assert set(outcomes) == {"read", "refused"}
