"""Jars of the servers and of their clients, from Maven Central."""

from __future__ import annotations

import subprocess
from pathlib import Path

_HERE = Path(__file__).parent
BUILD = _HERE.parents[1] / "build" / "servers"
"""What servers are made of."""


def jars(name: str) -> Path:
    """The folder with what ``pom-<name>.xml`` names, fetched at the first use and when the file has changed.

    Raises:
        RuntimeError: Maven can't fetch it.
    """
    pom = _HERE / f"pom-{name}.xml"
    folder, stamp = BUILD / name, BUILD / f"{name}.xml"
    if stamp.exists() and stamp.read_text() == pom.read_text():
        return folder
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Maven could not fetch the jars of {pom}:\n{done.stdout}{done.stderr}")
    stamp.write_text(pom.read_text())
    return folder
