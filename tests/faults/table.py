"""The faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import psutil

from faults import injectors
from faults.injectors import Disk, Injector

CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.task.maxFailures": "20"}
RETRIES = {"spark.master": "local[2,20]"}
MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
HADOOP = {"spark.sql.streaming.checkpointFileManagerClass": MANAGER}


@dataclass(frozen=True)
class Fault:
    """A kind of fault.

    Attributes:
        title: what goes wrong.
        conf: of the job.
        injector: does it while the job runs; None where the job's own settings do.
        seconds: longest pause between two of them.
        query: that is disturbed.
        small: which of the job's places is a small file system: checkpoint or local.
        harm: what happens to that file system.
        halts: the JVM halts by itself, at a step of file operations.
        patch: what is wrong in the store process itself: a module of ``faults.patches``.
        steps: after so many at the latest, the JVM or the store process is gone. A batch takes the store process about
            300, loading both partitions anew up to 1000: it must get further in most of its lives.
    """

    title: str
    conf: Mapping[str, str] = field(default_factory=dict)
    injector: Injector | None = None
    seconds: float = 1.5
    query: str = "aggregation"
    small: str = ""
    harm: Callable[[Disk, psutil.Process, random.Random], bool] = Disk.fill
    halts: bool = False
    patch: str = ""
    steps: int = 0


FAULTS = {
    "store": Fault("kill -9 of a store process", RETRIES, injectors.kill(injectors.STORE)),
    "cut": Fault(
        "kill -9 of the store process before or after a step of its own file operations",
        RETRIES,
        patch="cut",
        steps=2000,
    ),
    "executor": Fault("kill -9 of an executor", CLUSTER, injectors.kill(injectors.EXECUTOR), seconds=6),
    "worker": Fault(
        "kill -9 of a Python worker", RETRIES, injectors.kill(injectors.WORKER, leaves=True), query="transform"
    ),
    "driver": Fault("kill -9 of the driver", {}, injectors.kill(injectors.DRIVER, beside=injectors.STORE), seconds=4),
    "halt": Fault("the JVM halts before or after one of its file operations", halts=True, steps=500),
    "halt hadoop": Fault("the same, through Spark's file manager as on HDFS", HADOOP, halts=True, steps=500),
    "checkpoint full": Fault("full checkpoint store", RETRIES, small="checkpoint", seconds=6),
    "checkpoint read-only": Fault(
        "read-only checkpoint store", RETRIES, small="checkpoint", harm=Disk.protect, seconds=6
    ),
    "local full": Fault("full local disk", RETRIES, small="local", seconds=6),
    "clock": Fault("clock of the store process jumps back an hour, every other second", {}, patch="clock"),
}
