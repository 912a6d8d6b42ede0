"""Drives a state store provider through Spark's interface, from Python."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import psutil
from pyspark.sql import SparkSession

from support.spark import PROVIDERS, session_with

Key = tuple[str, int]
Rows = dict[Key, str]
JavaObject: TypeAlias = Any

PREFIX = "spark.sql.streaming.stateStore.keyGroups."

COPY_LIMIT = 480 << 20
"""Bytes of indexes and keys, of a `memoryBudget` of 1 GB, above which keys are not copied."""

NOTICE_SECONDS = 0.2
"""A JVM says that a process is alive until a thread of its own has run after the end of it."""


class Driver:
    """One provider object on a checkpoint.

    Args:
        spark: the session whose JVM it lives in.
        checkpoint: folder of the checkpoint.
        conf: settings of the provider, by full name.
        prefixed: the text of a key is a scan prefix.
        provider: short name of the provider.
    """

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: Path,
        conf: dict[str, str] | None = None,
        *,
        prefixed: bool = False,
        provider: str = "keygroups",
        name: str = "default",
    ) -> None:
        jvm: Any = spark._jvm
        session: Any = session_with(spark, conf or {})._jsparkSession
        self._driver = jvm.keygroups.tests.StoreDriver(session, PROVIDERS[provider], str(checkpoint), name, prefixed)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Any method of the Scala class."""
        method: Callable[..., Any] = getattr(self._driver, name)
        return method

    def rows(self) -> Rows:
        """All rows of the open version; each key once."""
        return as_rows(self._driver.scan())

    def rows_of(self, text: str) -> Rows:
        """The rows of a scan prefix."""
        return as_rows(self._driver.scanPrefix(text))


def field(owner: JavaObject, name: str) -> JavaObject:
    """A private field of a JVM's object."""
    found = owner.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(owner)


@contextmanager
def held_merges(spark: SparkSession) -> Iterator[None]:
    """Merges of all stores wait for the end of the block."""
    jvm: Any = spark._jvm
    pools = jvm.io.keygroups.spark.versions.MergePools
    rooms = [field(pool, "room") for pool in (pools.merges(), pools.newest())]
    taken = [room.drainPermits() for room in rooms]
    try:
        yield
    finally:
        for room, permits in zip(rooms, taken, strict=True):
            room.release(permits)


def as_rows(flat: str) -> Rows:
    """Rows from the flat JSON list that the Scala class gives.

    Raises:
        AssertionError: a key comes twice.
    """
    texts = json.loads(flat)
    rows = {(texts[i], int(texts[i + 1])): texts[i + 2] for i in range(0, len(texts), 3)}
    assert len(rows) * 3 == len(texts), f"a key comes twice among {len(texts) // 3} rows"
    return rows


def index_memory(spark: SparkSession) -> int:
    """Bytes of indexes and of copied keys of all segments in this JVM."""
    jvm: Any = spark._jvm
    return int(jvm.io.keygroups.spark.memory.IndexMemory.bytes())


@contextmanager
def room_for_indexes_alone(spark: SparkSession) -> Iterator[None]:
    """Of a `memoryBudget` of 1 GB no room is left for keys, and a quarter of that for indexes."""
    jvm: Any = spark._jvm
    memory = getattr(getattr(jvm.io.keygroups.spark.memory, "IndexMemory$"), "MODULE$")
    taken = max(0, COPY_LIMIT - index_memory(spark))
    memory.add(taken)
    try:
        yield
    finally:
        memory.add(-taken)


def server_processes() -> list[psutil.Process]:
    """The store processes of this test's JVM."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("keygroups.bridge" in word for word in process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def kill_servers() -> int:
    """kill -9 of all store processes; how many there were."""
    processes = server_processes()
    for process in processes:
        process.kill()
        process.wait(10)
    if processes:
        threading.Event().wait(NOTICE_SECONDS)
    return len(processes)
