"""The two Sparks side by side: checkpoints go on, jars tell them apart. Run by ``make test-older``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keygroups.configure import jar_path

ROOT = Path(__file__).resolve().parents[2]
OLDER = ROOT / "build" / "pyspark-4.2.0"
BEFORE, AFTER = ["a b a", "c"], ["a d", "b b b"]


def run(folder: Path, texts: list[str], *, older: bool = False) -> dict[str, Any]:
    """Run the job on one of the two Sparks, and give what it prints."""
    found: dict[str, Any] = json.loads(_last_line("job.py", folder, *texts, older=older))
    return found


def _last_line(script: str, *arguments: object, older: bool) -> str:
    """Run a script of this folder in a process of its own, on one of the two Sparks."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    paths = [*([str(OLDER)] if older else []), str(ROOT / "provider"), str(Path(__file__).parent)]
    environment = {**known, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_checkpoint_of_the_older_spark_goes_on(tmp_path: Path) -> None:
    """Two Sparks one after the other show what one does: aggregation, deduplication, transformWithState."""
    assert run(tmp_path / "both", BEFORE, older=True)["spark"].startswith("4.2")
    both = run(tmp_path / "both", AFTER)
    run(tmp_path / "one", BEFORE)
    one = run(tmp_path / "one", AFTER)
    assert both["spark"].startswith("4.3")
    assert both == one
    assert both["counts"] == [["a", 3], ["b", 4], ["c", 1], ["d", 1]]


@pytest.mark.slow
@pytest.mark.parametrize(("older", "ours", "theirs"), [(True, "4.3", "4.2"), (False, "4.2", "4.3")])
def test_a_jar_that_meets_another_spark_says_so(tmp_path: Path, older: bool, ours: str, theirs: str) -> None:
    line = _last_line("count.py", jar_path(ours), tmp_path, older=older)
    assert f"is built for Spark {ours} and this is Spark {theirs}" in line
    assert "use the jar that 'keygroups conf' names for it" in line
