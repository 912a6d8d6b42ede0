"""The deadline of a call is for progress, not for size; what is stuck costs its own operation, never the process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, field, kill_servers, server_processes
from integration.store.test_faults import fails, files
from integration.store.test_ownership import GRACE_SECONDS, mapped, segments
from support.processes import wait_for
from support.slow_process import SlowProcess

CALL_SECONDS = 2
ROWS = 16_000
"""Nine blocks of a version file."""
FEW = 2400
"""Ten blocks of a merge of two versions."""
VALUE = "v" * 100


@pytest.fixture
def process(tmp_path: Path) -> Iterator[SlowProcess]:
    """The next store process."""
    kill_servers()
    (folder := tmp_path / "process").mkdir()
    process = SlowProcess(folder)
    yield process
    process.go_on()
    kill_servers()


def conf(process: SlowProcess, **more: str) -> dict[str, str]:
    """Small blocks and a short deadline."""
    settings = {
        "python": str(process.python),
        "callTimeoutSeconds": str(CALL_SECONDS),
        "blockBytes": "64k",
        "compactionFanout": "2",
        **more,
    }
    return {PREFIX + name: value for name, value in settings.items()}


def filled(driver: Driver, versions: int = 1, rows: int = ROWS) -> Driver:
    """With versions of some blocks each."""
    for version in range(versions):
        driver.open(version, "")
        driver.putRange(f"v{version}", 0, rows, VALUE)
        driver.commit()
    return driver


def pid() -> int:
    (server,) = server_processes()
    return int(server.pid)


def test_a_load_that_goes_on_may_take_longer_than_the_deadline(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """Each block takes a quarter of it."""
    filled(Driver(spark, tmp_path / "checkpoint", conf(process))).close()
    driver = Driver(spark, tmp_path / "checkpoint", conf(process))
    before = pid()
    process.slow("call")
    started = time.monotonic()
    driver.open(1, "")
    assert time.monotonic() - started > 1.5 * CALL_SECONDS
    assert len(driver.rows()) == ROWS
    assert pid() == before
    driver.abort()
    driver.close()


@pytest.mark.slow
def test_a_merge_that_goes_on_may_take_longer_than_the_deadline(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """Commits do not wait for it, and maintenance sees its end."""
    driver = filled(Driver(spark, tmp_path / "checkpoint", conf(process)), 1, FEW)
    before = pid()
    process.slow("background")
    driver.open(1, "")
    driver.putRange("more", 0, FEW, VALUE)
    started = time.monotonic()
    driver.commit()
    driver.maintain()
    assert time.monotonic() - started > 1.5 * CALL_SECONDS
    assert process.was("slow-background")
    assert files(tmp_path / "checkpoint", "s*")
    driver.open(2, "")
    assert len(driver.rows()) == 2 * FEW
    assert pid() == before
    driver.abort()
    driver.close()


def test_a_stuck_load_fails_its_task_and_no_other_store(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """The other one's versions stay in the process, so its checkpoint is not needed."""
    filled(Driver(spark, tmp_path / "checkpoint", conf(process))).close()
    other = filled(Driver(spark, tmp_path / "other", conf(process)))
    before = pid()
    process.stuck("call")
    driver = Driver(spark, tmp_path / "checkpoint", conf(process))
    with fails("'load' of a store made no progress and was cancelled", "state/0/0", "keyGroups.callTimeoutSeconds"):
        driver.open(1, "")
    assert process.was("stuck-call")
    for path in files(tmp_path / "other", "*"):
        path.unlink()
    other.open(1, "")
    assert len(other.rows()) == ROWS
    other.abort()
    process.go_on()
    driver.open(1, "")
    assert len(driver.rows()) == ROWS
    driver.abort()
    assert pid() == before
    for store in (driver, other):
        store.close()


def test_a_store_that_is_closed_stops_its_merge(spark: SparkSession, tmp_path: Path, process: SlowProcess) -> None:
    """The store process deletes its files without the merge's end."""
    local = tmp_path / "local"
    local.mkdir()
    process.stuck("background")
    driver = filled(
        Driver(spark, tmp_path / "checkpoint", conf(process, localDir=str(local), callTimeoutSeconds="60")), 2
    )
    wait_for(lambda: process.was("stuck-background"))
    driver.close()
    wait_for(lambda: not list(local.glob("*/store-*/segments/*")), 20)
    process.go_on()
    wait_for(lambda: not list(local.glob("*/store-*")))
    assert not files(tmp_path / "checkpoint", "s*")


def test_merges_that_keep_failing_fail_the_commits_at_last(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """At four times maxSegments runs, with the cause; when that is mended, merges catch up and commits go on."""
    settings = conf(process, maxSegments="4", callTimeoutSeconds="1")
    driver = filled(Driver(spark, tmp_path / "checkpoint", settings), 1, 100)
    process.stuck("background")
    version = 1
    with fails("the runs of a store cannot be merged", "fewer than 16", "'compact' of a store made no progress"):
        for version in range(1, 40):
            driver.open(version, "")
            driver.put("key", version, VALUE)
            driver.commit()
    assert 15 <= version <= 17
    process.go_on()
    driver.abort()
    driver.open(version, "")
    driver.put("key", version, VALUE)
    driver.commit()
    driver.close()


def test_commits_wait_for_merges_at_some_batches_however_many_runs_these_have(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """Batches of three memtables: two have more runs than maxSegments, and four are behind."""
    settings = conf(process, maxSegments="4", overlayBytes="64k", callTimeoutSeconds="60")
    driver = Driver(spark, tmp_path / "checkpoint", settings)
    process.stuck("background")
    with ThreadPoolExecutor(1) as thread:
        filling = thread.submit(filled, driver, 4, 900)
        filling.result(20)
        assert process.was("stuck-background")
        assert driver.metric("keyGroupsSegments") == 12
        driver.open(4, "")
        driver.put("key", 1, VALUE)
        committing = thread.submit(driver.commit)
        with pytest.raises(TimeoutError):
            committing.result(1)
        process.go_on()
        committing.result(20)
    driver.close()


def test_a_task_that_is_killed_stops_its_load(spark: SparkSession, tmp_path: Path, process: SlowProcess) -> None:
    """It hears of the kill within a second, however long its deadline is."""
    filled(Driver(spark, tmp_path / "checkpoint", conf(process))).close()
    process.stuck("call")
    driver = Driver(spark, tmp_path / "checkpoint", conf(process, callTimeoutSeconds="300"))
    with ThreadPoolExecutor(1) as thread:
        loading = thread.submit(driver.openInterrupted, 1)
        wait_for(lambda: process.was("stuck-call"))
        driver.interrupt()
        with fails("the task was interrupted"):
            loading.result(20)
    driver.close()


def test_maintenance_does_not_wait_for_ever_for_merges(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """Batches may write as fast as a store merges. Old files go all the same."""
    settings = conf(process, callTimeoutSeconds="60") | {"spark.sql.streaming.minBatchesToRetain": "1"}
    filled(Driver(spark, tmp_path / "checkpoint", settings), 1, FEW).close()
    (superseded,) = files(tmp_path / "checkpoint", "v*")
    driver = Driver(spark, tmp_path / "checkpoint", settings)
    process.stuck("background")
    filled(driver, 4, FEW)
    compactor = field(field(field(driver._driver, "provider"), "host"), "compactor")
    patience = compactor.getClass().getDeclaredField("patienceSeconds")
    patience.setAccessible(True)
    patience.setLong(compactor, 1)
    driver.maintain()
    assert process.was("stuck-background")
    assert not files(tmp_path / "checkpoint", "s*")
    assert not superseded.exists()
    process.go_on()
    driver.maintain()
    driver.close()


def test_a_task_that_is_killed_during_a_commit_leaves_nothing(
    spark: SparkSession, tmp_path: Path, process: SlowProcess
) -> None:
    """Another thread ends its session meanwhile: what the commit has made goes too, and the store when it is closed."""
    (local := tmp_path / "local").mkdir()
    driver = Driver(spark, tmp_path / "checkpoint", conf(process, localDir=str(local)))
    driver.open(0, "")
    driver.putRange("a", 0, ROWS, VALUE)
    process.slow("writer")
    with ThreadPoolExecutor(1) as thread:
        committing = thread.submit(driver.commit)
        wait_for(lambda: process.was("slow-writer"), CALL_SECONDS)
        driver.abort()
        assert not committing.done()
        with fails("is closed"):
            committing.result()
    process.go_on()
    driver.close()
    wait_for(lambda: not segments(local), CALL_SECONDS, lambda: str(segments(local)))
    wait_for(lambda: not mapped(spark, local), GRACE_SECONDS, lambda: str(mapped(spark, local)))
