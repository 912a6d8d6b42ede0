"""A few of the faults of ``make faults``, on a query of a few batches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.jobs import counts
from faults.campaign import Campaign
from faults.run import SIZE
from faults.table import FAULTS
from remote.jobs import write_input
from support.scala_classes import compile_classes

BATCHES = 8


@pytest.mark.parametrize(
    ("name", "times", "steps"), [pytest.param("store", 1, 0, marks=pytest.mark.slow), ("cut", 4, 500), ("halt", 1, 300)]
)
def test_rows_equal_those_of_an_undisturbed_run(
    name: str, times: int, steps: int, any_seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Whatever the moment: ``--seed`` repeats it as far as threads let it."""
    classes = compile_classes(request.config.cache.mkdir("scala"))
    write_input(tmp_path / "in", range(BATCHES), **SIZE)
    expected = counts(tmp_path / "in")
    fault = replace(FAULTS[name], steps=steps)
    result = Campaign(fault, times, any_seed, tmp_path / "work", classes, tmp_path / "in", expected).run()
    assert result.equal, f"--seed {any_seed}: wrong rows, see {tmp_path}"
