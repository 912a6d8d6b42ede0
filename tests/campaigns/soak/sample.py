"""What a process and a folder hold at one moment."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psutil
from pyspark.sql import SparkSession

Figures = dict[str, float]


def stores_below(jvm: psutil.Process) -> list[psutil.Process]:
    """The store processes of a JVM."""
    return [process for process in jvm.children() if _is_store(process)]


def _is_store(process: psutil.Process) -> bool:
    try:
        return any("keygroups.bridge" in word for word in process.cmdline())
    except psutil.NoSuchProcess:  # ended since it was listed
        return False


def of_process(name: str, process: psutil.Process) -> Figures:
    """Memory, files, mappings and threads of a process.

    Pages of mapped files are not the process's own memory: the system takes them back when it needs room. So they are
    told apart.
    """
    memory = process.memory_info()
    return {
        f"{name} resident": memory.rss,
        f"{name} own": memory.rss - memory.shared,
        f"{name} files": process.num_fds(),
        f"{name} maps": Path(f"/proc/{process.pid}/maps").read_bytes().count(b"\n"),
        f"{name} threads": process.num_threads(),
    }


def of_mappings(name: str, process: psutil.Process, store: Path) -> Figures:
    """Mappings of a process, those of files below a folder, deleted ones among them, and others."""
    maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    state = sum(f"{store}/" in line for line in maps)
    return {f"{name} state maps": state, f"{name} other maps": len(maps) - state}


def of_folder(name: str, folder: Path) -> Figures:
    """Number and bytes of the files below a folder, which others may delete meanwhile."""
    sizes = list(_sizes(folder))
    return {f"{name} bytes": sum(sizes), f"{name} files": len(sizes)}


def _sizes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):  # which passes over folders that are gone by then
        for name in names:
            try:
                yield Path(parent, name).stat().st_size
            except FileNotFoundError:
                continue


def of_classes(spark: SparkSession) -> Figures:
    """How many classes the JVM has loaded, and what they and compiled code take."""
    beans = cast(Any, spark)._jvm.java.lang.management.ManagementFactory
    return {
        "code": float(beans.getMemoryMXBean().getNonHeapMemoryUsage().getCommitted()),
        "classes": float(beans.getClassLoadingMXBean().getLoadedClassCount()),
    }


def of_heap(spark: SparkSession) -> Figures:
    """What the heap holds after a collection."""
    gc.collect()  # Python's references keep objects of the JVM alive
    memory = cast(Any, spark)._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    memory.gc()
    return {"heap": float(memory.getHeapMemoryUsage().getUsed())}


def jvm_pid(spark: SparkSession) -> int:
    """The process id of the session's JVM."""
    return int(cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid())
