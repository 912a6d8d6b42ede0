"""The faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from campaigns.faults.injectors import processes
from campaigns.faults.injectors.disks import Disk, ReadOnlyDisk
from campaigns.faults.injectors.life import Injector
from campaigns.faults.injectors.processes import Kill, KillDriver
from campaigns.faults.injectors.steps import Cut, Halt
from keygroups.settings import PREFIX

CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.task.maxFailures": "20"}
RETRIES = {"spark.master": "local[2,20]"}
MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
HADOOP = {"spark.sql.streaming.checkpointFileManagerClass": MANAGER}
DEATHS = 30
"""At most, in one run of a query: then it comes to its end in peace."""
JVM_STEPS = 500
STORE_STEPS = 2000
"""A batch takes the store process about 300 operations, loading both partitions anew up to 1000: it must get further in
most of its lives."""


@dataclass(frozen=True)
class Place:
    """A job that an injector is made for.

    Attributes:
        folder: of the job; the injector makes its own folder or disk in it.
        log: of the job.
        checkpoint: of its query.
        seed: of the run.
        batches: of the input.
    """

    folder: Path
    log: Path
    checkpoint: Path
    seed: int
    batches: int


@dataclass(frozen=True)
class Fault:
    """A kind of fault.

    Attributes:
        title: what goes wrong.
        effective: when it counts.
        make: makes the injector of a job.
        conf: of the job.
        seconds: longest pause between two of them.
        python: it needs a query with Python workers.
    """

    title: str
    effective: str
    make: Callable[[Place], Injector]
    conf: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 1.5
    python: bool = False


def _kill(word: str, evidence: str, **more: bool) -> Callable[[Place], Injector]:
    return lambda _place: Kill(word, evidence, **more)


def _cut(place: Place, steps: int = STORE_STEPS, times: int = DEATHS) -> Injector:
    return Cut(place.folder / "interpreter", place.seed, steps, times)


def _halt(place: Place, steps: int = JVM_STEPS, times: int = DEATHS) -> Injector:
    return Halt(place.folder / "agent", place.log, steps, times)


def _state(kind: type[Disk]) -> Callable[[Place], Injector]:
    return lambda place: kind(place.checkpoint / "state", {})


def _local(place: Place) -> Injector:
    path = place.folder / "disk"
    return Disk(path, {PREFIX + "localDir": str(path)})


STEP = "always: the process is in that operation"
WRITE = "a write failed meanwhile: the log has the error"
TASK = "a task failed with it"

FAULTS: Mapping[str, Fault] = {
    "store": Fault(
        "kill -9 of a store process that is running",
        "the call that it was serving failed: the log names its process id and the call, or its start",
        _kill(processes.STORE, processes.DIED, busy=True),
        RETRIES,
        seconds=1.0,
    ),
    "cut": Fault("kill -9 of the store process before or after one of its file operations", STEP, _cut, RETRIES),
    "executor": Fault(
        "kill -9 of an executor", TASK, _kill(processes.EXECUTOR, processes.LOST_EXECUTOR), CLUSTER, seconds=4
    ),
    "worker": Fault(
        "kill -9 of a Python worker",
        TASK,
        _kill(processes.WORKER, processes.LOST_TASK, leaves=True),
        RETRIES,
        python=True,
    ),
    "driver": Fault(
        "kill -9 of the driver",
        "the offset log has a batch that the commit log does not have",
        lambda place: KillDriver(place.batches),
        seconds=4,
    ),
    "halt": Fault("the JVM halts before or after one of the provider's file operations", STEP, _halt),
    "halt hadoop": Fault("the same, through Spark's file manager as on HDFS", STEP, _halt, HADOOP),
    "checkpoint full": Fault("full checkpoint store", WRITE, _state(Disk), RETRIES),
    "checkpoint read-only": Fault("read-only checkpoint store", WRITE, _state(ReadOnlyDisk), RETRIES),
    "local full": Fault("full local disk", WRITE, _local, RETRIES),
}


def fewer(name: str, steps: int, times: int) -> Fault:
    """A fault that strikes a few times, within fewer operations, for a short input."""
    make = _cut if name == "cut" else _halt
    return replace(FAULTS[name], make=partial(make, steps=steps, times=times))


SHORT: Mapping[str, Fault] = {
    **FAULTS,
    "cut": fewer("cut", 500, 4),
    "halt": fewer("halt", 300, 2),
    "halt hadoop": fewer("halt hadoop", 300, 2),
}
"""The faults for a short input: thirty lives of a JVM take ten minutes."""
