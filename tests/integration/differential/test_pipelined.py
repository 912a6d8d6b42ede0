"""Spark 4.3 can read the state of Python groups in one thread of a task while another writes it; 4.2 has one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.differential.pipelined import BATCHES, KEYS
from support.everyday import first_every_day

SCRIPT = Path(__file__).with_name("pipelined.py")


@pytest.mark.parametrize("overlay_bytes", first_every_day("64k", "64m"))
def test_a_thread_that_reads_beside_one_that_writes(tmp_path: Path, overlay_bytes: str) -> None:
    """Each key is counted once a batch. Without a lock, dozens of keys had counts of others."""
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, overlay_bytes],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "counts": [{str(number): KEYS} for number in range(1, BATCHES + 1)],
        "keys": [KEYS] * BATCHES,
    }
