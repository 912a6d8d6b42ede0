"""Which files decide how state of Spark's operators is kept, and how fast: results name the newest commit of these."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

_PACKAGES: Final = ("bridge", "store", "runs", "checkpoint", "segment")
_MODULES: Final = ("settings.json", "settings.py", "configure.py", "errors.py")
_KEYED: Final = (
    "jvm-shim/src/io/keygroups/spark/operators/Keyed*.scala",
    "jvm-shim/src/io/keygroups/spark/operators/RowBatches.scala",
    "jvm-shim/src/io/keygroups/spark/operators/WorkerWrites.scala",
    "jvm-shim/src/io/keygroups/spark/operators/EarliestTimer.scala",
    "jvm-shim/src/org/apache/spark/sql/execution/streaming/state/keygroups/WorkerInternals.scala",
)
"""The node of keyed functions: no query without one runs it."""

ENGINE: Final = (
    "jvm-shim",
    *(f"provider/keygroups/{name}" for name in (*_PACKAGES, *_MODULES)),
    *(f":(exclude){name}" for name in _KEYED),
)
"""Git pathspecs: the shim, and what the store process imports."""
_ROOT: Final = Path(__file__).parents[2]


def engine_commit(digits: int = 10) -> str:
    """The newest commit of these files, with ``+changes`` where they hold uncommitted changes."""
    commit = _git("log", "-1", "--format=%h", f"--abbrev={digits}", "--", *ENGINE)
    return commit + ("+changes" if _git("status", "--porcelain", "--", *ENGINE) else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()
