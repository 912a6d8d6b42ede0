"""Compiles the Scala sources of the tests with the compiler that the pyspark wheel carries."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pyspark

SOURCES = Path(__file__).parent / "scala"


def compile_classes(cache: Path) -> Path:
    """Returns a folder with the compiled classes; compiles (8 s) only what has no folder of its hash yet.

    Args:
        cache: Folder that outlives the test run.

    Raises:
        RuntimeError: The sources do not compile; the message is the compiler's.
    """
    sources = sorted(SOURCES.glob("*.scala"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources) + pyspark.__version__.encode())
    target = cache / digest.hexdigest()[:16]
    if not target.exists():
        _compile(sources, cache / "unfinished", target)
    return target


def _compile(sources: list[Path], folder: Path, target: Path) -> None:
    """Compiles into a folder that gets its final name only when it is complete."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    jars = f"{Path(pyspark.__file__).parent}/jars/*"
    command = ["java", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(folder)]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{', '.join(s.name for s in sources)} did not compile:\n{done.stdout}{done.stderr}")
    folder.rename(target)
