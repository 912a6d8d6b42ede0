"""What a store does with wrong settings, foreign or damaged checkpoints, full disks and two attempts at a version."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, Rows, as_rows, kill_servers, server_processes
from keygroups.checkpoint.manifest import read_manifest
from keygroups.checkpoint.names import parse_name

FAILURE = (Py4JJavaError, PySparkException)


def filled(spark: SparkSession, folder: Path, versions: int, conf: dict[str, str] | None = None) -> tuple[Driver, Rows]:
    """A store with some versions, each of 100 new rows and one update."""
    driver, rows = Driver(spark, folder, conf), Rows()
    for version in range(versions):
        driver.open(version, "")
        driver.putRange(f"v{version}", 0, 100, f"value {version}")
        driver.put("shared", 0, f"value {version}")
        driver.commit()
        rows |= {(f"v{version}", n): f"value {version}" for n in range(100)} | {("shared", 0): f"value {version}"}
    return driver, rows


def message_of(error: BaseException) -> str:
    """The whole chain of messages, as a user sees it in the log."""
    return str(error) + str(getattr(error, "desc", ""))


def files(folder: Path, pattern: str) -> list[Path]:
    """Checkpoint files, oldest version first."""
    return sorted(folder.glob(f"state/0/0/{pattern}.arrows"))


@contextmanager
def fails(*words: str) -> Iterator[None]:
    """The body fails, with all these words in the chain of messages."""
    with pytest.raises(FAILURE) as raised:
        yield
    text = chain(raised.value)
    assert all(word in text for word in words), text


def chain(error: BaseException) -> str:
    """Messages of a Java exception and its causes."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = [str(error)]
    while java is not None:
        texts.append(str(java.getMessage()))
        java = java.getCause()
    return " | ".join(texts)


def test_unknown_setting_names_the_nearest(spark: SparkSession, tmp_path: Path) -> None:
    """Before any file is written or process started."""
    with fails("keyGroups.compresion is not a setting", "did you mean", "keyGroups.compression?"):
        Driver(spark, tmp_path, {PREFIX + "compresion": "zstd"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("prefix", ["keygroups", "KeyGroups", "keyGroup", "key-groups"])
def test_a_misspelt_prefix_is_not_passed_over(spark: SparkSession, tmp_path: Path, prefix: str) -> None:
    """Spark takes any name, and a time to live that is not read would be off."""
    state = PREFIX.removesuffix("keyGroups.")
    with fails(f"{state}{prefix}.TTL is not a setting", "did you mean", PREFIX + "ttl?"):
        Driver(spark, tmp_path, {f"{state}{prefix}.TTL": "7d"})
    assert not list(tmp_path.iterdir())


def test_operators_of_a_time_to_live_have_names_that_spark_has(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path, {PREFIX + "ttl": "7d", PREFIX + "ttlOperators": "deduplicate"})
    with fails("keyGroups.ttlOperators is not valid", "dedupeWithinWatermark", "deduplicate"):
        driver.open(0, "")
    assert not list(tmp_path.iterdir())


def test_invalid_value_says_what_is_expected(spark: SparkSession, tmp_path: Path) -> None:
    """By the store process, when the store opens."""
    driver = Driver(spark, tmp_path, {PREFIX + "compression": "gzip"})
    with fails("keyGroups.compression is not valid", "zstd or lz4 or none", "gzip"):
        driver.open(0, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("provider", ["hdfs", "rocksdb"])
def test_checkpoint_of_another_provider_is_refused(spark: SparkSession, tmp_path: Path, provider: str) -> None:
    """At whatever version, before anything is written."""
    other = Driver(spark, tmp_path, provider=provider)
    other.open(0, "")
    other.put("a", 1, "x")
    other.commit()
    other.maintain()
    before = sorted(tmp_path.rglob("*"))
    for version in (0, 1):
        with fails("another state store provider wrote this checkpoint", "StateStoreProvider", "new checkpoint"):
            Driver(spark, tmp_path).open(version, "")
    assert sorted(tmp_path.rglob("*")) == before


def test_another_maximum_parallelism_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """With both values in the message."""
    filled(spark, tmp_path, 1)[0].close()
    with fails("maximum parallelism", "28800", "1024"):
        Driver(spark, tmp_path, {PREFIX + "maxParallelism": "1024"}).open(1, "")


def test_missing_version_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """A version that was never written, and a negative one."""
    driver, _ = filled(spark, tmp_path, 1)
    with fails("version 7 of the state does not exist", "v00000000000000000007"):
        driver.open(7, "")
    with fails("CANNOT_LOAD_STATE_STORE"):
        driver.open(-1, "")


@pytest.mark.parametrize("damage", ["cut", "flip", "delete"])
def test_damaged_segment_is_gone_round(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    """The version files that it was merged from hold the same rows."""
    driver, rows = filled(spark, tmp_path, 3, {PREFIX + "compactionFanout": "2"})
    driver.maintain()
    driver.open(3, "")
    driver.put("last", 0, "x")
    driver.commit()
    driver.close()
    segments = files(tmp_path, "s*")
    assert segments
    for segment in segments:
        hurt(segment, damage)
    fresh = Driver(spark, tmp_path)
    fresh.open(4, "")
    assert fresh.rows() == rows | {("last", 0): "x"}


@pytest.mark.parametrize("damage", ["cut", "flip", "delete"])
def test_damage_without_a_way_round_names_the_file(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    """Never wrong rows."""
    filled(spark, tmp_path, 3)[0].close()
    first = files(tmp_path, "v*")[0]
    hurt(first, damage)
    with fails(first.name):
        Driver(spark, tmp_path).open(3, "")


def hurt(path: Path, damage: str) -> None:
    """Damage a file, without the help of the file system's own checksum."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    data = path.read_bytes()
    middle = len(data) // 2
    if damage == "delete":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:middle])
    else:
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])


def test_two_attempts_at_one_version(spark: SparkSession, tmp_path: Path) -> None:
    """Without checkpoint ids the last one counts; neither can touch the other's file."""
    first, second = Driver(spark, tmp_path), Driver(spark, tmp_path)
    for driver, value in ((first, "one"), (second, "two")):
        driver.open(0, "")
        driver.put("a", 1, value)
    first.commit()
    second.commit()
    assert len(files(tmp_path, "v*")) == 2
    fresh = Driver(spark, tmp_path)
    fresh.open(1, "")
    assert fresh.rows() == {("a", 1): "two"}


def test_a_batch_that_runs_again_goes_on_after_a_failed_upload(spark: SparkSession, tmp_path: Path) -> None:
    """Both attempts at it have pushed their base out of the store process's memory; the JVM must not go on with it."""
    driver = Driver(spark, tmp_path)
    for version, value in ((0, "old"), (1, "first")):
        driver.open(version, "")
        driver.put("a", 1, value)
        driver.commit()
    driver.open(1, "")
    driver.put("a", 1, "failed")
    folder = tmp_path / "state" / "0" / "0"
    folder.rename(tmp_path / "aside")
    folder.touch()
    with fails("could not be written"):
        driver.commit()
    driver.abort()
    folder.unlink()
    (tmp_path / "aside").rename(folder)
    driver.open(1, "")
    assert driver.rows() == {("a", 1): "old"}
    driver.put("a", 1, "second")
    driver.commit()
    driver.open(2, "")
    assert driver.rows() == {("a", 1): "second"}
    driver.abort()
    driver.close()


def test_checkpoint_ids_tell_attempts_apart(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's checkpoint format 2: the driver says which attempt counts."""
    conf = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
    ids = {}
    for value in ("one", "two"):
        driver = Driver(spark, tmp_path, conf)
        driver.open(0, "")
        driver.put("a", 1, value)
        driver.commit()
        ids[value] = driver.checkpointId()
    fresh = Driver(spark, tmp_path, conf)
    for value in ("one", "two"):
        fresh.open(1, ids[value])
        assert fresh.rows() == {("a", 1): value}


def test_retention_keeps_versions_loadable(spark: SparkSession, tmp_path: Path) -> None:
    """Old files go, every retained version stays, also after a restart that knows no manifest."""
    conf = {"spark.sql.streaming.minBatchesToRetain": "2", PREFIX + "compactionFanout": "2"}
    driver, rows = filled(spark, tmp_path, 12, conf)
    driver.close()
    fresh = Driver(spark, tmp_path, conf)
    fresh.open(12, "")
    fresh.maintain()
    retained = files(tmp_path, "v*")[-3:]
    assert [int(path.name[1:21]) for path in retained] == [10, 11, 12]
    needed = {ref.name for path in retained for ref in read_manifest(path, path.name).segments}
    older = {path.name for path in files(tmp_path, "*") if int(path.name[1:21]) < 10}
    kept = {str(name) for name in needed if name.version < 10}
    assert older >= kept
    oldest = parse_name(retained[0].name)
    for name in older - kept:  # merged segments: who has seen no version list one gives its writer an hour to do so
        segment = parse_name(name)
        assert segment
        assert segment.kind == "segment"
        assert oldest
        assert segment.begun + 3600 * 10**6 > oldest.begun
    fresh.close()
    for version in (10, 11, 12):
        again = Driver(spark, tmp_path, conf)
        again.open(version, "")
        assert {k: v for k, v in again.rows().items() if k[0] != "shared"} == {
            (f"v{v}", n): f"value {v}" for v in range(version) for n in range(100)
        }
    assert len(rows) == 12 * 100 + 1


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    """A file system of a few megabytes."""
    path.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


needs_mount = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")


@needs_mount
def test_a_disk_that_is_full_in_the_middle_of_a_merge(spark: SparkSession, tmp_path: Path) -> None:
    """A later piece finds no room: batches go on with what is there, and the merge once there is room again."""
    conf = {"blockBytes": "64k", "compactionFanout": "3", "compression": "none", "localDir": str(tmp_path / "small")}
    with small_disk(tmp_path / "small", 16) as disk:
        driver = Driver(spark, tmp_path / "checkpoint", {PREFIX + name: value for name, value in conf.items()})
        for batch, rows in enumerate([1_500, 1_500, 800]):
            driver.open(batch, "")
            if batch == 2:  # what remains holds this batch, and then a piece of 16 blocks or two of the merge of all
                (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free - 4 * 2**20))
            driver.putRange(f"v{batch}", 0, rows, "x" * 1400)
            driver.commit()
        driver.maintain()
        merged = files(tmp_path / "checkpoint", "s*")
        assert merged, "no piece was merged before the disk was full"
        driver.open(3, "")
        assert driver.count() == 3_800
        driver.put("small", 1, "fits")
        assert driver.commit() == 4
        assert driver.metric("keyGroupsSegments") == 5, "what is merged, the rest of three runs, and the new one"
        (disk / "ballast").unlink()
        driver.maintain()
        assert len(files(tmp_path / "checkpoint", "s*")) > len(merged)
        driver.open(4, "")
        found = driver.rows()
        driver.put("small", 2, "merged")
        driver.commit()
        assert driver.metric("keyGroupsSegments") == 3
    assert len(found) == 3_801
    again = Driver(spark, tmp_path / "checkpoint")
    again.open(4, "")
    assert again.rows() == found
    kill_servers()


@needs_mount
@pytest.mark.parametrize("full", ["local", "checkpoint"])
def test_full_disk_fails_the_batch_only(spark: SparkSession, tmp_path: Path, full: str) -> None:
    """The message says which disk; the version before stays good; after space is freed the query goes on."""
    with small_disk(tmp_path / "small", 4) as disk:
        checkpoint = disk / "checkpoint" if full == "checkpoint" else tmp_path / "checkpoint"
        conf = {PREFIX + "compression": "none"} | ({PREFIX + "localDir": str(disk)} if full == "local" else {})
        driver = Driver(spark, checkpoint, conf)
        driver.open(0, "")
        driver.put("a", 1, "good")
        driver.commit()
        (disk / "ballast").write_bytes(bytes(3_500_000))
        driver.open(1, "")
        driver.putRange("b", 0, 20_000, "x" * 100)
        with fails("full" if full == "local" else "No space left"):
            driver.commit()
        driver.abort()
        driver.open(1, "")
        assert driver.rows() == {("a", 1): "good"}
        (disk / "ballast").unlink()
        driver.put("c", 1, "again")
        assert driver.commit() == 2
        driver.close()
        fresh = Driver(spark, checkpoint)
        fresh.open(2, "")
        assert fresh.rows() == {("a", 1): "good", ("c", 1): "again"}
        kill_servers()


def test_missing_interpreter_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """With the setting to change."""
    driver = Driver(spark, tmp_path, {PREFIX + "python": "/nowhere/python"})
    with fails("/nowhere/python", "could not be run", "keyGroups.python"):
        driver.open(0, "")


def test_missing_package_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """With the command that installs it."""
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH {os.environ["PYSPARK_PYTHON"]} -S "$@"\n')
    bare.chmod(0o755)
    with fails("'keygroups' is missing", "pip install spark-keygroups"):
        Driver(spark, tmp_path / "checkpoint", {PREFIX + "python": str(bare)}).open(0, "")


def test_a_version_written_anew_has_nothing_of_those_before(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's `loadEmpty`: what comes is the version after, of these rows alone, also after a restart."""
    driver, rows = filled(spark, tmp_path, 3)
    driver.openEmpty(3)
    assert driver.rows() == {}
    driver.put("new", 1, "value")
    assert driver.commit() == 4
    assert driver.rows() == {("new", 1): "value"}
    assert driver.numKeys() == 1
    driver.close()
    driver = Driver(spark, tmp_path)
    driver.open(4, "")
    assert driver.rows() == {("new", 1): "value"}
    driver.abort()
    driver.open(3, "")
    assert driver.rows() == rows
    driver.abort()
    assert as_rows(driver.replay(2, 4)) == {("new", 1): "value"}
    assert as_rows(driver.replay(2, 3)) == rows
    driver.close()


def test_a_restored_file_is_downloaded_again(spark: SparkSession, tmp_path: Path) -> None:
    """On a file system whose files are copied, by the same store process; no download is left behind."""
    manager = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    conf = {"spark.sql.streaming.checkpointFileManagerClass": manager}
    driver, rows = filled(spark, tmp_path / "checkpoint", 2, conf)
    driver.close()
    damaged = files(tmp_path / "checkpoint", "v*")[0]
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    for crc in damaged.parent.glob(".*.crc"):
        crc.unlink()
    driver = Driver(spark, tmp_path / "checkpoint", conf)
    with fails(damaged.name):
        driver.open(2, "")
    damaged.write_bytes(whole)
    driver.open(2, "")
    assert driver.rows() == rows
    driver.abort()
    assert not [path for process in server_processes() for path in Path(process.cwd()).glob("downloads-*")]
    driver.close()
