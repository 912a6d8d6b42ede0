"""A few of the faults of ``make faults``, on queries of a few batches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from campaigns.faults import job as script
from campaigns.faults.attempts import Shown, read
from campaigns.faults.judge import verdict
from campaigns.faults.kinds import FAULTS, Fault, fewer
from campaigns.faults.trial import EQUAL, Trial
from campaigns.faults.undisturbed import undisturbed
from integration.remote.jobs import Job
from support.scala_classes import compile_classes

BATCHES = 8


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Shown]:
    """What the queries show on Spark's RocksDB provider, where each must do all that it claims."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), ["windows", "texts", "timers"], BATCHES)


@pytest.mark.parametrize(
    ("fault", "query"),
    [
        pytest.param(fewer("cut", 500, 4), "timers", id="cut", marks=pytest.mark.slow),
        pytest.param(fewer("halt", 300, 2), "windows", id="halt", marks=pytest.mark.slow),
        pytest.param(fewer("halt", 300, 2), "texts", id="halt texts", marks=pytest.mark.slow),
        pytest.param(FAULTS["store"], "windows", id="store", marks=pytest.mark.slow),
        pytest.param(FAULTS["local full"], "timers", id="local full", marks=pytest.mark.slow),
    ],
)
def test_rows_and_state_equal_those_of_an_undisturbed_run(
    fault: Fault,
    query: str,
    expected: Mapping[str, Shown],
    any_seed: int,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    """Whatever the moment: ``--seed`` repeats it as far as threads let it."""
    classes = compile_classes(request.config.cache.mkdir("scala"))
    trial = Trial(fault, query, any_seed, tmp_path / "work", classes, BATCHES, expected[query])
    outcome = trial.run()
    assert outcome.result == EQUAL, f"--seed {any_seed}, see {tmp_path}: {outcome.result}"
    assert outcome.effective, f"--seed {any_seed}: the fault took no effect"


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "right"), [("hdfs", True), ("forgetful", False)])
def test_a_provider_that_ignores_removes_is_wrong(
    provider: str, right: bool, expected: Mapping[str, Shown], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The rows are right until the next eviction: the forgetful one emits each window again."""
    classes, conf = compile_classes(request.config.cache.mkdir("scala")), {"spark.test.batches": str(BATCHES)}
    place, path = str(tmp_path / "checkpoint"), Path(script.__file__)
    Job(tmp_path, tmp_path, place, conf, str(classes), provider, ["windows"], path).complete()
    differs = verdict(read(tmp_path / "output" / "windows"), expected["windows"])
    assert bool(differs) != right, differs
