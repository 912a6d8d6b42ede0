"""The Java agent that halts a JVM."""

from __future__ import annotations

import zipfile
from pathlib import Path

CLASS = "keygroups.tests.HaltingAgent"
HALTED = "halted at a file operation: "
"""Begins its last words."""
MANIFEST = f"Manifest-Version: 1.0\nPremain-Class: {CLASS}\n"


def java_options(folder: Path, step: int) -> str:
    """Options of a JVM that halts at one of its file operations; the agent's class must be on its class path.

    Args:
        folder: for the agent's jar; exists.
        step: at which it halts; 0 is never.
    """
    agent = folder / "halting.jar"
    with zipfile.ZipFile(agent, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", MANIFEST)
    return f"-javaagent:{agent} -Dkeygroups.tests.halt={step}"
