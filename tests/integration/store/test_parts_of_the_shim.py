"""Parts of the shim that need no query: the pools in which stores merge and upload, and uploads that fail."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from keygroups.configure import jars
from support.scala_classes import compile_classes

SOURCES = Path(__file__).parent / "scala"
UPLOADS = 2
PROJECTED = ("DECIMAL(38,4)", "STRING COLLATE UTF8_LCASE", "FLOAT", "DOUBLE", "ARRAY<INT>", "all")
"""Types of keys that are hashed through a projection."""
ROWS_HASHED = 300
OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.nio", "jdk.internal.ref")]
"""As Spark does."""


def lines(request: pytest.FixtureRequest, main: str) -> list[str]:
    """What a program prints that is compiled against the shim."""
    jar = jars()[".".join(pyspark.__version__.split(".")[:2])]
    classes = compile_classes(request.config.cache.mkdir("scala-store"), SOURCES, jar)
    path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", str(jar), str(classes)])
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # each runs for seconds
    command = ["java", "-Xmx128m", *quick, *OPENED, "-cp", path, f"io.keygroups.spark.{main}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()


def test_the_pools_of_merges(request: pytest.FixtureRequest) -> None:
    """What a commit waits for goes first; merges that wait for their upload, each with a file, are few."""
    processors, *found = lines(request, "versions.MergePoolsMain")
    merges = max(1, int(processors.removeprefix("processors ")) // 4)
    most, newest = 2 * UPLOADS + merges, UPLOADS + merges
    assert found == ["order ceabd", f"begun {most} {most + 1}", f"begun beside {newest} {newest + 1}"]


def test_a_file_whose_acknowledgement_is_lost_stays(request: pytest.FixtureRequest) -> None:
    """Without checkpoint ids, the next batch may have read it: Spark has committed another attempt meanwhile."""
    assert lines(request, "files.LostAnswersMain") == ["lost true", "late true"]


def test_a_transfer_may_take_longer_than_the_deadline_while_bytes_move(request: pytest.FixtureRequest) -> None:
    """A file may be large, or the file system slow; one that is stuck fails its task."""
    assert lines(request, "files.SlowFilesMain") == ["moving true true", "stuck false false"]


def test_the_time_of_a_batch_is_read_once(request: pytest.FixtureRequest) -> None:
    """By all stores of a run, of which there may be thousands; another run of the query may have another log."""
    assert lines(request, "BatchTimesMain") == [
        "same run 1000 1000 1000, reads 1 0 0",
        "another batch 1000 1000 1000, reads 2 0 0",
        "not in the log none none none, reads 3 1 1",
        "other runs 1000 1000 2000",
        "after 100 others 1000 1000 1000, reads 1 0 0",
    ]


def test_a_file_that_the_system_says_nothing_of_is_not_gone(request: pytest.FixtureRequest) -> None:
    """A cleanup would delete what that file lists, and a load would say that it is missing."""
    found = lines(request, "files.MountedFilesMain")
    assert found == ["no folder 0", "listed file", "downloaded true false", "refused true true"]


def test_a_file_that_cannot_be_opened_is_not_gone(request: pytest.FixtureRequest) -> None:
    """Hadoop's local file system has one error for both."""
    assert lines(request, "files.HadoopFilesMain") == ["downloaded true false", "read true false", "refused true true"]


def test_a_task_that_is_interrupted_deletes_its_files(request: pytest.FixtureRequest) -> None:
    """As that of a query which is stopped: its session ends in the same thread."""
    assert lines(request, "session.InterruptedMain") == ["deleted true interrupted true"]


def test_a_store_process_that_is_stopped_ends_no_executor(request: pytest.FixtureRequest) -> None:
    """As an error that leaves any thread of an executor does."""
    assert lines(request, "bridge.ClosedLogMain")[-1] == "uncaught None"


def test_memory_outside_of_the_heap_has_a_limit_of_its_own(request: pytest.FixtureRequest) -> None:
    """That of direct memory is the heap's: keys that are well within the budget would fail the executor."""
    taken, heap = (int(part.split()[1]) for part in lines(request, "memory.OffHeapMain")[-1].split(","))
    assert taken > 2 * heap


def test_hash_of_every_type_of_key_is_sparks(request: pytest.FixtureRequest) -> None:
    """By it, Spark partitions an operator's rows; most types need no projection for each session."""
    found = dict(line.rsplit(": ", 1) for line in lines(request, "keys.KeyHashMain"))
    assert len(found) == 22
    for name, outcome in found.items():
        assert outcome == f"{'projected' if name in PROJECTED else 'shared'}, {ROWS_HASHED} equal, true", name
