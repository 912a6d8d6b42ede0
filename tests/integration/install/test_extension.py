"""The jar registers its session extension by itself: no setting to forget, none to lose to another product."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from keygroups.configure import jar_path


def test_a_session_without_the_setting_runs_transform_with_state(tmp_path: Path) -> None:
    job = Path(__file__).with_name("extension.py")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(job), str(jar_path()), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "[('a', 2), ('b', 1)]"
