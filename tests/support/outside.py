"""The wheel, and commands that can lean on nothing of this source tree or its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.spark import ROOT

_HIDDEN = (
    *("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"),
    *("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "SPARK_CONF_DIR"),
)


def environment() -> dict[str, str]:
    """This process's environment without what leads to our sources, our interpreter or our Spark."""
    return {name: value for name, value in os.environ.items() if name not in _HIDDEN}


def run(folder: Path, *command: object) -> str:
    """Run a command in a folder, with nothing of this environment to lean on, and give what it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this source tree."""
    run(folder, sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built
