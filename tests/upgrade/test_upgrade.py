"""Queries that release 0.1.0 began go on: its files are read, and merged with those of this release."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from store.driver import PREFIX
from support.spark import session_with
from upgrade.queries import OLD_BATCHES, QUERIES, read_rows, run, write_batch

ARCHIVE = Path(__file__).with_name("checkpoints-0.1.0.tar.xz")
NEW_BATCHES = 5


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
