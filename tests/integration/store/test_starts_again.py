"""A query that is started again in the same application, with state that nearly fills its budgets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.store.restarting import DISK_BUDGET, INDEX_LIMIT
from support.everyday import first_every_day

SCRIPT = Path(__file__).with_name("restarting.py")


@pytest.mark.parametrize("runs", first_every_day(3, 10))
def test_a_new_run_takes_the_place_of_the_one_before(tmp_path: Path, runs: int) -> None:
    """Spark keeps the providers of an earlier run until its second maintenance, here for two hours."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(runs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    held = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(held) == runs
    assert all(indexes > INDEX_LIMIT / 2 and local > DISK_BUDGET / 2 for indexes, local in held)  # two do not fit
