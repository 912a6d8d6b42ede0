"""Compiles the Scala sources of the tests with the compiler that the pyspark wheel carries."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pyspark

SOURCES = Path(__file__).parent / "scala"


def compile_classes(cache: Path, folder: Path = SOURCES, jar: Path | None = None) -> Path:
    """Returns a folder with the compiled classes; compiles (8 s) only what has no folder of its hash yet.

    Args:
        cache: Folder that outlives the test run.
        folder: Of the sources.
        jar: What they use beside Spark.

    Raises:
        RuntimeError: The sources do not compile; the message is the compiler's.
    """
    sources = sorted(folder.glob("*.scala"))
    inputs = [*sources, jar] if jar else sources
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in inputs) + pyspark.__version__.encode())
    target = cache / digest.hexdigest()[:16]
    if not target.exists():
        _compile(sources, cache / f"unfinished-{os.getpid()}", target, jar)
    return target


def _compile(sources: list[Path], folder: Path, target: Path, jar: Path | None) -> None:
    """Compiles into a folder that gets its final name only when it is complete."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    jars = f"{Path(pyspark.__file__).parent}/jars/*" + (f":{jar}" if jar else "")
    command = [
        "java",
        "-Xss8m",
        "-XX:+UseSerialGC",
        "-cp",
        jars,
        "scala.tools.nsc.Main",
        "-usejavacp",
        "-nowarn",
        "-d",
        str(folder),
    ]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{', '.join(s.name for s in sources)} did not compile:\n{done.stdout}{done.stderr}")
    try:
        folder.rename(target)
    except OSError:  # another test run was faster
        shutil.rmtree(folder)
