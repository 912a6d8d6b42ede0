"""What keyed functions need beside pyspark: protobuf on the driver, for a stream. They do not need pandas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

COUNTS = [["a", 1], ["a", 2], ["b", 1]]


def without(folder: Path, *packages: str) -> str:
    """Run the job where packages cannot be imported, neither by the driver nor by its workers."""
    for package in packages:
        blocked = folder / "blocked" / package
        blocked.mkdir(parents=True)
        (blocked / "__init__.py").write_text(f"raise ModuleNotFoundError('no {package} here', name='{package}')\n")
    path = os.pathsep.join([str(folder / "blocked"), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(Path(__file__).with_name("keyed.py")), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_keyed_functions_run_without_pandas(tmp_path: Path) -> None:
    assert json.loads(without(tmp_path, "pandas")) == [COUNTS, COUNTS]


def test_a_stream_needs_protobuf(tmp_path: Path) -> None:
    counts, error = json.loads(without(tmp_path, "google"))
    assert counts == COUNTS
    assert error.startswith("operator 'count' needs the Python package protobuf on the driver (expected ")
    assert "found no google here" in error
