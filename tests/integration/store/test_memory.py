"""What a store's sessions hold outside of the heap: bounded, and given back whatever the session did."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, index_memory, room_for_indexes_alone, server_processes
from keygroups.configure import PROVIDER
from support.everyday import first_every_day
from support.spark import session_with

GRACE_SECONDS = 15
ROWS = 2_000
"""Of a batch of two texts as keys and a value of 500 bytes."""


def held_by(spark: SparkSession) -> tuple[int, int]:
    """Pages of write buffers in use, and bytes of write buffers with their tables, in the JVM."""
    return int(cast(Any, spark)._jvm.io.keygroups.spark.memory.PagePool.pagesInUse()), write_memory(spark)


@pytest.mark.parametrize("call", first_every_day("put", "remove", "scan"))
def test_an_aborted_session_gives_its_memory_back(spark: SparkSession, tmp_path: Path, call: str) -> None:
    """Whether it only removed rows, only scanned (which makes room for writes on the way), or wrote."""
    driver = Driver(spark, tmp_path)
    driver.open(0, "")
    driver.putRange("text", 0, 100, "value")
    driver.commit()
    _await_at_most(spark, (0, 1 << 30))
    driver.open(1, "")
    before = held_by(spark)
    if call == "remove":
        driver.remove("text", 1)
    elif call == "put":
        driver.put("text", 1, "other")
    else:
        assert len(driver.rows()) == 100
    assert held_by(spark)[1] > before[1]
    driver.abort()
    _await_at_most(spark, before)
    driver.close()


def test_scans_that_are_through_hold_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Write buffers go once they are sorted, though the session has scanned between its writes."""
    driver = Driver(spark, tmp_path, {PREFIX + "overlayBytes": "1m"})
    driver.open(0, "")
    for turn in range(12):
        driver.putRange(f"text {turn}", 0, 150, "v" * 9000)
        assert driver.count() == 150 * (turn + 1)
    assert held_by(spark)[0] < 20  # each of the twelve buffers has three pages or more
    driver.abort()
    driver.close()


def _await_at_most(spark: SparkSession, wanted: tuple[int, int]) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    while any(a > b for a, b in zip(held_by(spark), wanted, strict=True)) and time.monotonic() < deadline:
        threading.Event().wait(0.2)
    assert all(a <= b for a, b in zip(held_by(spark), wanted, strict=True)), (held_by(spark), wanted)


def test_the_write_buffers_of_all_families_share_one_bound(spark: SparkSession, tmp_path: Path) -> None:
    """Seven families with nearly a megabyte each stay within the bound of one, and that of what is being sorted."""
    session = session_with(spark, {PREFIX + "overlayBytes": "1m"})
    driver = cast(Any, spark)._jvm.keygroups.tests.FamilyDriver(session._jsparkSession, PROVIDER, str(tmp_path))
    driver.open(0)
    families = ("values", "lists", "maps", "longs", "floats", "stamps", "times")
    for number in range(100):
        for family in families:
            driver.put(family, "text", number, "v" * 9000)
    driver.commit()
    assert driver.numKeys() == 100 * len(families) - 19  # of the floats every fifth is null, the same key
    assert 0 < driver.metric("keyGroupsOverlayBytes") < 2.1 * 2**20
    driver.close()


@pytest.mark.parametrize(("budget", "least", "most"), [("1g", 96, 128), ("128m", 24, 56), ("16m", 0, 32)])
def test_the_write_buffers_of_all_stores_share_the_budget(
    spark: SparkSession, tmp_path: Path, budget: str, least: int, most: int
) -> None:
    """Four stores write 24 MB each; an overlay has three pages or more, and as many while it is being sorted."""
    conf = {PREFIX + "memoryBudget": budget, PREFIX + "blockBytes": "1m"}
    drivers = [Driver(spark, tmp_path / str(n), conf) for n in range(4)]
    held = 0
    for driver in drivers:
        driver.open(0, "")
    for turn in range(24):
        for driver in drivers:
            driver.putRange(f"text {turn}", 0, 110, "v" * 9000)
            held = max(held, held_by(spark)[0])
    assert least <= held <= most
    for driver in drivers:
        assert driver.count() == 24 * 110
        driver.commit()
        driver.close()


def test_the_memory_manager_of_spark_hears_of_all_stores(spark: SparkSession, tmp_path: Path) -> None:
    """Of what their sessions write, of indexes and of the store process; not of mapped files."""
    driver = Driver(spark, tmp_path)
    driver.open(0, "")
    before = reported(spark)
    assert before > 20 << 20  # the store process
    driver.putRange("text", 0, 1000, "v" * 9000)
    assert 8 << 20 < reported(spark) - before < 100 << 20
    held = write_memory(spark)
    driver.commit()
    driver.close()
    deadline = time.monotonic() + GRACE_SECONDS
    while write_memory(spark) > held - (8 << 20) and time.monotonic() < deadline:
        threading.Event().wait(0.5)
    assert write_memory(spark) <= held - (8 << 20)


def write_memory(spark: SparkSession) -> int:
    """Bytes of the write buffers of all sessions."""
    return int(cast(Any, spark)._jvm.io.keygroups.spark.memory.WriteMemory.bytes())


def reported(spark: SparkSession) -> int:
    """Bytes outside of the heap that the provider tells Spark of."""
    memory = cast(Any, spark)._jvm.org.apache.spark.memory
    manager = getattr(memory, "UnifiedMemoryManager$")
    return int(getattr(manager, "MODULE$").getMemoryByComponentType("KeyGroups"))


def test_indexes_that_do_not_fit_are_an_error_with_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Of the batch that wrote them, and before each batch after it."""
    few = {PREFIX + "memoryBudget": "32k", PREFIX + "blockBytes": "4k"}
    message = "do not fit into memory \\(expected at most 20480 bytes, found [0-9]+\\).*keyGroups.memoryBudget"
    driver = Driver(spark, tmp_path)
    driver.open(0, "")
    driver.putRange("text", 0, 20_000, "value")
    assert driver.commit() == 1
    driver.close()
    driver = Driver(spark, tmp_path, few)
    with pytest.raises(Exception, match=message):
        driver.open(1, "")
    driver.close()
    driver = Driver(spark, tmp_path)
    driver.open(1, "")
    assert driver.count() == 20_000
    driver.abort()
    driver.close()


def test_of_a_file_with_its_values_what_is_copied_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Keys, the columns of numbers, an index: not the address space that a buffer of more than 1 MB reserves."""
    before = index_memory(spark)
    driver = Driver(spark, tmp_path, {PREFIX + "mappedValueBytes": "1k"})
    driver.open(0, "")
    driver.putRange("k" * 40, 0, 20_000, "v" * 500)
    driver.commit()
    taken = index_memory(spark) - before
    shown = driver.metric("keyGroupsIndexBytes")
    driver.abort()  # Spark does so at the end of the task
    driver.close()
    assert 20_000 * 64 < taken < 20_000 * 128
    assert shown == taken


def test_beside_a_state_that_does_not_fit_no_values_are_mapped(spark: SparkSession, tmp_path: Path) -> None:
    """Not even the few of a small batch: the page cache would lose them again and again."""
    for limit, are_mapped in (("4m", False), ("1g", True)):
        conf = {PREFIX + "mappedValueBytes": limit, PREFIX + "memoryBudget": "1g"}
        driver = Driver(spark, tmp_path / limit, conf)
        for batch, rows in enumerate((10_000, 10)):
            before = set(mapped_segments(spark))
            driver.open(batch, "")
            driver.putRange("text", 0, rows, "v" * 1000)
            driver.commit()
            assert bool(set(mapped_segments(spark)) - before) == are_mapped, (limit, batch)
        driver.close()


def test_keys_without_room_are_read_from_their_files(spark: SparkSession, tmp_path: Path) -> None:
    """Those of the first batch are copied; of the others the indexes alone take memory, and so after a merge of all."""
    driver = Driver(spark, tmp_path, {PREFIX + "mappedValueBytes": "1", PREFIX + "memoryBudget": "1g"})
    _write_batch(driver, 0)
    with room_for_indexes_alone(spark):
        before = index_memory(spark)
        for batch in range(1, 4):
            _write_batch(driver, batch)
        assert 3 * ROWS < index_memory(spark) - before < 3 * ROWS * 8
        _check_batches(driver)
        driver.maintain()
        _check_batches(driver)
        driver.close()


def _write_batch(driver: Driver, batch: int) -> None:
    """Keys that every batch writes, and as many that it writes alone."""
    driver.open(batch, "")
    for text in ("k" * 40, f"{batch}" * 40):
        driver.putRange(text, 0, ROWS // 2, f"{batch}" * 500)
    assert driver.commit() == batch + 1


def _check_batches(driver: Driver) -> None:
    """Of the keys that every batch wrote the last values, and all that one batch alone wrote."""
    driver.open(4, "")
    assert driver.get("k" * 40, ROWS // 2 - 1) == "3" * 500
    assert driver.get("1" * 40, 0) == "1" * 500
    assert driver.get("4" * 40, 0) is None
    rows = driver.rows()
    assert len(rows) == 5 * ROWS // 2
    assert all(value == ("3" if key[0] == "k" else key[0]) * 500 for (key, _), value in rows.items())
    driver.abort()


def test_memory_that_is_given_back_is_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    """Segments that nobody holds any more are freed seconds later: until then there is no room for others."""
    before = _settled_index_memory(spark)
    driver = Driver(spark, tmp_path)
    driver.open(0, "")
    driver.putRange("text", 0, 50_000, "value")
    driver.commit()
    taken = index_memory(spark) - before
    driver.abort()
    driver.close()
    _await_released(spark, before)
    tight = {PREFIX + "memoryBudget": str((before + taken * 3 // 2) * 8 // 5), PREFIX + "blockBytes": "16k"}
    for _ in range(2):
        driver = Driver(spark, tmp_path, tight)
        driver.open(1, "")
        assert driver.count() == 50_000
        assert before < index_memory(spark) < before + 2 * taken
        driver.abort()
        driver.close()


def _settled_index_memory(spark: SparkSession) -> int:
    """Once what earlier tests have given back is freed."""
    threading.Event().wait(6)
    return index_memory(spark)


def _await_released(spark: SparkSession, wanted: int) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    while index_memory(spark) > wanted and time.monotonic() < deadline:
        threading.Event().wait(0.2)
    assert index_memory(spark) <= wanted


def test_threads_that_come_and_go_leave_no_connection(spark: SparkSession, tmp_path: Path) -> None:
    """An executor's threads end after a minute without a task: each batch after a pause has new ones."""
    for turn in range(3):
        _in_a_new_thread(spark, tmp_path / f"warm-up {turn}")
    (server,) = server_processes()
    threads, files = server.num_threads(), server.num_fds()
    for turn in range(8):
        _in_a_new_thread(spark, tmp_path / str(turn))
    assert server.num_threads() <= threads
    assert server.num_fds() <= files


def _in_a_new_thread(spark: SparkSession, folder: Path) -> None:
    """Open and close a store in a thread of the JVM that did not exist before: PySpark has one for each of ours."""

    def use() -> None:
        driver = Driver(spark, folder)
        driver.open(0, "")
        driver.abort()
        driver.close()

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()


def test_a_file_is_one_mapping(spark: SparkSession, tmp_path: Path) -> None:
    """Linux allows a process 65,530, and a file has blocks of each column family."""
    session = session_with(spark, {PREFIX + "blockBytes": "16384"})
    driver = cast(Any, spark)._jvm.keygroups.tests.FamilyDriver(session._jsparkSession, PROVIDER, str(tmp_path))
    before = set(mapped_segments(spark))
    for batch in range(2):
        driver.open(batch)
        for family in ("values", "maps", "longs"):
            for number in range(300):
                driver.put(family, "text", number, f"{batch} " + "v" * 200)
        driver.commit()
    mapped = [path for path in mapped_segments(spark) if path not in before]
    newest = max(int(path.parent.parent.name.removeprefix("store-")) for path in mapped)  # others may be merging still
    ours = [path for path in mapped if path.parent.parent.name == f"store-{newest}"]
    assert len(ours) == len(set(ours)) == 2
    driver.close()


def mapped_segments(spark: SparkSession) -> list[Path]:
    """Segments that the JVM has mapped, one for each mapping."""
    pid = cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid()
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    return [Path(line.split()[5]) for line in maps if ".arrow" in line and "keygroups" in line]


@pytest.mark.parametrize("megabytes", [1400, 2500, 7000, 20000, 200000])
def test_default_limits_fit_into_the_container(spark: SparkSession, megabytes: int) -> None:
    """Indexes, sorting and merging, the least for write buffers, and half a gigabyte that two processes take anyway.

    Values that are mapped fit beside all of that but the indexes, or take an eighth.
    """
    beside = megabytes * 2**20
    budgets = cast(Any, spark)._jvm.io.keygroups.spark.memory.MemoryBudget
    budget = budgets.of(0, beside)
    work, values = int(budget.forWork()), int(budgets.forValues(beside))
    assert beside // 8 <= values <= beside // 2
    assert values == beside // 8 or values + work + work // 2 + 512 * 2**20 <= beside
    assert work == beside // 2 // 4
    assert 128 * 2**20 <= int(budget.indexLimit()) <= beside * 3 // 4
    assert int(budget.indexLimit()) + work + work // 2 + 512 * 2**20 <= beside
