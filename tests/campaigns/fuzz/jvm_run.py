"""Runs the JVM's reader of local segments in a JVM of its own."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pyspark

from campaigns.fuzz import samples
from campaigns.fuzz.python_run import MEMORY_FOLDER, Result
from campaigns.fuzz.rows import Row, rows_of_segment
from keygroups.bridge.messages import segment_view
from keygroups.configure import jars
from keygroups.segment.file import Segment, write_segment
from support.scala_classes import compile_classes

SOURCES = Path(__file__).parent / "scala"
HANG_SECONDS = 1800
ENDINGS = {"read", "read whole", "refused"}
_OPENED = ("java.lang", "java.nio", "jdk.internal.ref", "sun.nio.ch")


def run(seed: int, count: int, cache: Path, wrong: str = "") -> Result:
    """Map and read ``count`` mutated segments; see ``python_run.run``. ``wrong`` makes the reader wrong (see Judge)."""
    classes = compile_classes(cache, SOURCES, _jar())
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    with TemporaryDirectory(dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None) as name:
        folder = Path(name)
        segments = _write(folder)
        first = 0
        while first < count:
            ended, found, first = _part(folder, classes, (seed, first, count, wrong))
            outcomes += ended
            findings += found
        del segments
    return outcomes, findings


def _jar() -> Path:
    return jars()[".".join(pyspark.__version__.split(".")[:2])]


def _write(folder: Path) -> list[Segment]:
    """Valid local segments with their views, and their rows as Arrow reads them."""
    segments = [write_segment(folder, blocks) for blocks in samples.contents()]
    for number, segment in enumerate(segments):
        (folder / f"{number:02}.json").write_bytes(msgspec.json.encode(segment_view(segment)))
        (folder / f"{number:02}.rows").write_text("\n".join(map(_text, rows_of_segment(segment.path.read_bytes()))))
    return segments


def _text(row: Row) -> str:
    """As Row.scala writes it."""
    value = "null" if row.value is None else row.value.hex()
    return f"{row.locator} {row.key_group} {row.key.hex()} {value} {str(row.appended).lower()} {row.written}"


def _part(folder: Path, classes: Path, inputs: tuple[int, int, int, str]) -> tuple[Counter[str], list[str], int]:
    """Continue from input ``first`` until the end, or until the JVM dies; where to continue then."""
    seed, first, count, wrong = inputs
    path = ":".join([f"{Path(pyspark.__file__).parent}/jars/*", str(_jar()), str(classes)])
    opened = [word for package in _OPENED for word in ("--add-opens", f"java.base/{package}=ALL-UNNAMED")]
    command = ["java", "-XX:+UseSerialGC", "-Xmx512m", f"-XX:ErrorFile={folder}/died.log", *opened, "-cp", path]
    command += ["keygroups.fuzz.FuzzMain", str(folder), str(seed), str(first), str(count - first), wrong]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    if done.returncode:
        number = int.from_bytes((folder / "progress").read_bytes(), "big")
        what = f"jvm, seed {seed}, input {number}: exit code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}"
        return Counter(), [what], number + 1
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    for line in done.stdout.splitlines():
        times, _, ending = line.partition(" ")
        if ending in ENDINGS:
            outcomes[ending] += int(times)
        else:
            findings.append(f"jvm, seed {seed}: {ending}")
    return outcomes, findings, count
