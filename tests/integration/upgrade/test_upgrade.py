"""Checkpoints go on: those of release 0.1.0 on this one, those of the older Spark on the newer. Jars tell Sparks apart.

What needs the older Spark is slow here and runs in ``make test-older``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX
from integration.upgrade.queries import OLD_BATCHES, QUERIES, read_rows, run, write_batch
from keygroups.configure import jar_path
from support.spark import ROOT, session_with

ARCHIVE = Path(__file__).with_name("checkpoints-0.1.0.tar.xz")
NEW_BATCHES = 5
OLDER_SPARK = ROOT / "build" / "pyspark-4.2.0"
BEFORE, AFTER = ["a b a", "c"], ["a d", "b b b"]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_of_release_0_1_0_goes_on(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Its next batches give what a query over all input gives, while compaction merges old files with new ones."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    checkpoint, rows = tmp_path / "checkpoints" / name, tmp_path / "input"
    assert list(checkpoint.rglob("v*.arrow")), "no files of release 0.1.0"
    _move_input(checkpoint, rows)
    for batch in range(OLD_BATCHES):
        write_batch(rows, batch)
    session = session_with(spark, {PREFIX + "compactionFanout": "2"})
    query, mode = QUERIES[name]
    for batch in range(OLD_BATCHES, OLD_BATCHES + NEW_BATCHES):
        before = Counter(query(read_rows(spark, rows)).collect())
        write_batch(rows, batch)
        expected = Counter(query(read_rows(spark, rows)).collect())
        found = Counter(run(session, name, rows, checkpoint))
        assert found == (expected - before if mode == "append" else expected)


def _move_input(checkpoint: Path, folder: Path) -> None:
    """Have a checkpoint say that its files were read from another folder."""
    for log in (file for file in checkpoint.glob("sources/*/*") if file.is_file()):
        text = log.read_text(encoding="utf-8")
        log.write_text(re.sub(r"file:/+[^\"]*/input/", f"{folder.as_uri()}/", text), encoding="utf-8")


def _run_job(folder: Path, texts: list[str], *, older: bool = False) -> dict[str, Any]:
    """Run the job on one of the two Sparks, and give what it prints."""
    found: dict[str, Any] = json.loads(_last_line("job.py", folder, *texts, older=older))
    return found


def _last_line(script: str, *arguments: object, older: bool) -> str:
    """Run a script of this folder in a process of its own, on one of the two Sparks."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    paths = [*([str(OLDER_SPARK)] if older else []), str(ROOT / "provider"), str(Path(__file__).parent)]
    environment = {**known, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_checkpoint_of_the_older_spark_goes_on(tmp_path: Path) -> None:
    """Two Sparks one after the other show what one does: aggregation, deduplication, transformWithState."""
    assert _run_job(tmp_path / "both", BEFORE, older=True)["spark"].startswith("4.2")
    both = _run_job(tmp_path / "both", AFTER)
    _run_job(tmp_path / "one", BEFORE)
    one = _run_job(tmp_path / "one", AFTER)
    assert both["spark"].startswith("4.3")
    assert both == one
    assert both["counts"] == [["a", 3], ["b", 4], ["c", 1], ["d", 1]]


@pytest.mark.slow
@pytest.mark.parametrize(("older", "ours", "theirs"), [(True, "4.3", "4.2"), (False, "4.2", "4.3")])
def test_a_jar_of_the_older_spark_or_the_newer_says_so_on_the_other(
    tmp_path: Path, older: bool, ours: str, theirs: str
) -> None:
    line = _last_line("count.py", jar_path(ours), tmp_path, older=older)
    assert f"is built for Spark {ours} and this is Spark {theirs}" in line
    assert "use the jar that 'keygroups conf' names for it" in line
