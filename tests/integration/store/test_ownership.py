"""What a session has made goes with it, however it ends: files of its writes, sorted segments, mappings."""

from __future__ import annotations

import os
import resource
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from signal import SIGCONT, SIGSEGV, SIGSTOP
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from integration.store.driver import (
    PREFIX,
    Driver,
    field,
    held_merges,
    kill_servers,
    room_for_indexes_alone,
    server_processes,
)
from integration.store.test_families import family_driver
from integration.store.test_faults import FAILURE, fails, files, needs_mount, small_disk
from support.processes import wait_for
from support.spark import session_with

GRACE_SECONDS = 15
ROWS = 20_000
DISK_BUDGET = "7m"
"""Five runs of ROWS rows fit, a merge of four beside them does not."""


def test_a_scan_of_a_session_that_has_ended_touches_no_memory(spark: SparkSession, tmp_path: Path) -> None:
    """A thread that outlives its task asks for one: what the session mapped may be gone."""
    driver = Driver(spark, tmp_path, prefixed=True)
    driver.open(0, "")
    driver.put("a", 1, "one")
    driver.commit()
    driver.open(1, "")
    driver.abort()
    memory = cast(Any, spark)._jvm.io.keygroups.spark.memory.WriteMemory

    def taken() -> int:
        before = memory.bytes()
        for scan in (driver.rows, lambda: driver.rows_of("a")):
            with pytest.raises(Py4JJavaError, match="is closed"):
                scan()
        return int(memory.bytes() - before)

    # What sessions of earlier tests have released may be freed meanwhile, so a difference alone tells nothing.
    wait_for(lambda: taken() == 0, GRACE_SECONDS, lambda: f"{taken()} bytes")
    driver.close()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Where the store process of a test keeps its files."""
    kill_servers()
    folder = tmp_path / "local"
    folder.mkdir()
    return folder


def chunks(local: Path) -> list[Path]:
    """Files of writes on their way to the store process."""
    return list(local.rglob("*.chunk"))


def segments(local: Path) -> list[Path]:
    """Local segment files."""
    return [path for path in local.glob("*/store-*/segments/*") if path.is_file()]


def goes(found: Callable[[], list[Any]]) -> None:
    """What is found is gone within the time for which memory is kept for late readers."""
    wait_for(lambda: not found(), GRACE_SECONDS, lambda: str(found()))


def jvm_pid(spark: SparkSession) -> int:
    return int(cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid())


def mapped(spark: SparkSession, local: Path) -> list[str]:
    """Files below the folder that the JVM has mapped."""
    lines = Path(f"/proc/{jvm_pid(spark)}/maps").read_text().splitlines()
    return sorted({line.split()[5] for line in lines if str(local) in line})


def replace_server(other: Driver) -> None:
    """Kill the store process, and let another store start the next one."""
    kill_servers()
    try:
        other.open(0, "")
    except FAILURE:  # the JVM has noticed the death by this
        other.open(0, "")
    other.abort()
    other.close()
    assert len(server_processes()) == 1


@pytest.mark.parametrize("feed", ["keys", "writes"])
def test_a_dead_process_leaves_no_chunks_to_the_next(
    spark: SparkSession, tmp_path: Path, local: Path, feed: str
) -> None:
    """The chunks of a session whose process died lie in the folder of the process that came after it."""
    conf = {PREFIX + "localDir": str(local), PREFIX + "changeFeed": feed}
    driver = Driver(spark, tmp_path / "checkpoint", conf)
    driver.open(0, "")
    driver.putRange("text", 0, 1000, "value")
    replace_server(Driver(spark, tmp_path / "other", conf))
    with fails("version 0 is no longer in memory"):
        driver.commit()
    driver.abort()
    goes(lambda: chunks(local))
    driver.close()


@needs_mount
@pytest.mark.parametrize("feed", ["keys", "writes"])
def test_a_full_disk_leaves_no_chunks_of_other_families(spark: SparkSession, tmp_path: Path, feed: str) -> None:
    """The first family's chunk is written, the second one's fills the disk."""
    kill_servers()
    with small_disk(tmp_path / "small", 16) as disk:
        conf = {PREFIX + "localDir": str(disk), PREFIX + "changeFeed": feed, PREFIX + "overlayBytes": "12m"}
        driver = family_driver(session_with(spark, conf), tmp_path / "checkpoint")
        driver.open(0)
        (disk / "ballast").write_bytes(bytes(8 << 20))
        with fails("the local disk is full"):
            for number in range(2000):
                for family in ("values", "maps", "lists"):
                    driver.put(family, "text", number, "v" * 9000)
        driver.abort()
        goes(lambda: chunks(disk))
        driver.close()
        kill_servers()


@needs_mount
def test_a_full_disk_leaves_no_copy_of_keys(spark: SparkSession, tmp_path: Path) -> None:
    """Keys for which memory has no room get a file: if the disk has none either, the load fails and later succeeds."""
    kill_servers()
    conf = {PREFIX + "mappedValueBytes": "1", PREFIX + "memoryBudget": "1g", PREFIX + "diskBudget": "1g"}
    with small_disk(tmp_path / "small", 8) as disk, room_for_indexes_alone(spark):
        driver = Driver(spark, tmp_path / "checkpoint", conf | {PREFIX + "localDir": str(disk)})
        driver.open(0, "")
        driver.putRange("k" * 120, 0, 3000, "v" * 1000)
        driver.commit()
        segment = sum(path.stat().st_size for path in disk.rglob("segments/*"))
        assert segment > 3000 * 1000
        driver.close()
        kill_servers()
        driver = Driver(spark, tmp_path / "checkpoint", conf | {PREFIX + "localDir": str(disk)})
        size, _, free = shutil.disk_usage(disk)
        (disk / "ballast").write_bytes(bytes(free - segment - size // 32 - (64 << 10)))  # a load leaves a 32nd free
        with fails("the local disk is full"):
            driver.open(1, "")
        assert not list(disk.rglob("keys-*"))
        (disk / "ballast").unlink()
        driver.open(1, "")
        assert driver.count() == 3000
        assert driver.get("k" * 120, 2999) == "v" * 1000
        assert not list(disk.rglob("keys-*"))
        driver.abort()
        driver.close()
        kill_servers()


def test_an_abort_during_the_sort_leaves_no_segment(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """The sorted rows of a session that was aborted meanwhile are dropped too."""
    conf = {PREFIX + "localDir": str(local), PREFIX + "overlayBytes": "48m"}
    driver = Driver(spark, tmp_path / "checkpoint", conf)
    for turn in range(3):
        driver.open(0, "")
        number = 0
        while not chunks(local):
            driver.putRange(f"turn {turn}", number, number + 1000, "v" * 1000)
            number += 1000
        started = time.monotonic()
        driver.abort()
        assert time.monotonic() - started < 2
        goes(lambda: chunks(local))
        goes(lambda: segments(local))
    goes(lambda: mapped(spark, local))
    driver.close()


def filled(spark: SparkSession, folder: Path, local: Path) -> Driver:
    """A store whose third version was three segments, the oldest the largest, and whose latest is one."""
    conf = {PREFIX + "localDir": str(local), PREFIX + "compactionFanout": "2"}
    driver = Driver(spark, folder / "checkpoint", conf)
    for version, rows in enumerate((3000, 300, 30, 3000, 4000)):
        driver.open(version, "")
        driver.putRange(f"v{version}", 0, rows, "value" * 20)
        driver.commit()
        driver.maintain()
    driver.open(5, "")
    driver.abort()
    return driver


def test_a_segment_that_cannot_be_mapped_leaves_no_mappings(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """The segments that were mapped before it are released."""
    driver = filled(spark, tmp_path, local)
    known = set(segments(local))
    driver.open(3, "")
    driver.abort()
    restored = sorted(set(segments(local)) - known, key=lambda path: path.stat().st_size)
    assert len(restored) == 3
    driver.open(5, "")
    driver.abort()
    goes(lambda: [name for name in mapped(spark, local) if Path(name) in restored])
    with restored[-1].open("ab") as largest:
        largest.write(b"more")
    with fails("a local segment file is damaged"):
        driver.open(3, "")
    goes(lambda: [name for name in mapped(spark, local) if Path(name) in restored])
    driver.close()


def test_a_segment_that_is_gone_for_good_is_an_error(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """A file that was compacted away meanwhile is asked for again, but not for ever."""
    driver = filled(spark, tmp_path, local)
    known = set(segments(local))
    driver.open(3, "")
    driver.abort()
    restored = sorted(set(segments(local)) - known, key=lambda path: path.stat().st_size)
    driver.open(5, "")
    driver.abort()
    restored[-1].unlink()
    with fails("a local segment file is missing", restored[-1].name):
        driver.open(3, "")
    goes(lambda: [name for name in mapped(spark, local) if Path(name) in restored])
    driver.close()


def test_an_unreadable_offset_log_leaves_no_mappings(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """The time of the batch, which its rows are stamped with, is asked for before the version is held."""
    conf = {PREFIX + "localDir": str(local), PREFIX + "ttl": "1d"}
    driver = Driver(spark, tmp_path / "checkpoint", conf)
    driver.open(0, "")
    driver.putRange("text", 0, 100, "value")
    driver.commit()
    driver.abort()
    (tmp_path / "checkpoint" / "offsets" / "1").mkdir(parents=True)
    with pytest.raises(FAILURE):
        driver.open(1, "")
    driver.close()
    goes(lambda: mapped(spark, local))


def test_a_merged_segment_that_cannot_be_mapped_is_uploaded_later(
    spark: SparkSession, tmp_path: Path, local: Path
) -> None:
    """The JVM runs out of file handles while the store process merges."""
    driver = Driver(spark, tmp_path / "checkpoint", {PREFIX + "localDir": str(local)})
    with held_merges(spark):
        for version in range(4):
            driver.open(version, "")
            driver.putRange("text", version, version + ROWS, "value")
            driver.commit()
        (server,) = server_processes()
        before = files(tmp_path / "checkpoint", "s*")
        os.kill(server.pid, SIGSTOP)
    with ThreadPoolExecutor(1) as thread:
        maintained = thread.submit(driver.maintain)
        threading.Event().wait(2)
        pid = jvm_pid(spark)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, limits[1]))
        try:
            os.kill(server.pid, SIGCONT)
            maintained.result()
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    assert files(tmp_path / "checkpoint", "s*") == before
    driver.maintain()
    assert len(files(tmp_path / "checkpoint", "s*")) == len(before) + 1
    driver.close()


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("/x: Too many open files", "the executor has too many files open"),
        ("Map failed", "the executor has too many memory mappings"),
        ("No space left on device", "the local disk is full or cannot be written"),
    ],
)
def test_what_the_system_refuses_is_told_from_a_full_disk(spark: SparkSession, found: str, told: str) -> None:
    """By the text of the JDK, which has no class of its own for it."""
    jvm = cast(Any, spark)._jvm
    error = jvm.io.keygroups.spark.Failures.localDisk(jvm.java.io.File("/x").toPath(), jvm.java.io.IOException(found))
    assert error.kind() == "capacity"
    assert told in error.getMessage()


def test_a_merged_segment_that_is_held_again_is_let_go_once(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """After a failed upload it is merged again, and installed before the first mapping of it was released."""
    driver = Driver(spark, tmp_path / "checkpoint", {PREFIX + "localDir": str(local)})
    driver.open(0, "")
    driver.putRange("text", 0, 100, "value")
    driver.commit()
    driver.abort()
    driver.open(1, "")
    (segment,) = field(driver._driver, "store").session().version().segments()
    piece, store = segment.view(), field(field(field(driver._driver, "provider"), "host"), "store")
    store.hold(piece)
    store.hold(piece)
    store.letGo(piece.id())
    driver.abort()
    driver.close()
    goes(lambda: mapped(spark, local))


def test_a_merge_that_fails_in_maintenance_leaves_the_rest_to_it(
    spark: SparkSession, tmp_path: Path, local: Path
) -> None:
    """Its result has no room on the local disk. The file of a superseded attempt goes; Spark, which would unload the
    store, sees no error."""
    checkpoint = tmp_path / "checkpoint"
    conf = {PREFIX + "localDir": str(local)}
    conf["spark.sql.streaming.minBatchesToRetain"] = "2"
    first = Driver(spark, checkpoint, conf)
    first.open(0, "")
    first.put("first attempt", 1, "value")
    first.commit()
    first.close()
    (superseded,) = files(checkpoint, "v*")
    driver = Driver(spark, checkpoint, conf | {PREFIX + "diskBudget": DISK_BUDGET, PREFIX + "blockBytes": "256k"})
    for version in range(5):
        driver.open(version, "")
        driver.putRange("text", version, version + ROWS, "value")
        driver.commit()
    driver.maintain()
    assert not files(checkpoint, "s*")
    assert not superseded.exists()
    driver.abort()
    driver.close()
    goes(lambda: segments(local))


def test_a_death_during_a_call_is_told_from_silence(spark: SparkSession, tmp_path: Path, local: Path) -> None:
    """The exit status says who killed the process."""
    driver = Driver(
        spark, tmp_path / "checkpoint", {PREFIX + "localDir": str(local), PREFIX + "callTimeoutSeconds": "3"}
    )
    driver.open(0, "")
    driver.putRange("text", 0, ROWS, "value")
    (server,) = server_processes()
    server.suspend()
    with ThreadPoolExecutor(1) as thread:
        committed = thread.submit(driver.commit)
        threading.Event().wait(1)
        server.send_signal(SIGSEGV)
        server.resume()
        with fails("died in 'commit': exit status 139"):
            committed.result()
    driver.abort()
    driver.open(0, "")
    driver.putRange("text", 0, ROWS, "value")
    (server,) = server_processes()
    server.suspend()
    with fails("did not answer 'commit' in time"):
        driver.commit()
    driver.abort()
    driver.close()
