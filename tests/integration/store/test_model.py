"""The store against a dict: random operations, versions, compaction and process restarts."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX, Driver, Rows, as_rows, kill_servers, room_for_indexes_alone

TEXTS = st.sampled_from(["", "a", "b", "ä-longer-than-eight-bytes", "z" * 40])
NUMBERS = st.integers(-3, 12)
VALUES = st.sampled_from(["", "x", "12345678", "y" * 100]) | st.text(max_size=12)


class StoreMachine(RuleBasedStateMachine):
    """One store, one session at a time, all versions remembered."""

    spark: SparkSession
    prefixed = False

    def __init__(self) -> None:
        super().__init__()
        self.taken = ExitStack()

    @initialize(small=st.booleans(), in_files=st.booleans(), compression=st.sampled_from(["zstd", "lz4", "none"]))
    def start(self, small: bool, in_files: bool, compression: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.conf = {PREFIX + "compression": compression, PREFIX + "compactionFanout": "2"}
        if small:  # write buffers and blocks overflow all the time
            self.conf |= {PREFIX + "overlayBytes": "65536", PREFIX + "blockBytes": "4096"}
        self.tail = "." * 600 if in_files else ""  # three quarters of a segment are values then
        if in_files:
            self.conf |= {PREFIX + "mappedValueBytes": "1", PREFIX + "memoryBudget": "1g"}
        self.versions: list[Rows] = [{}]
        self.base = 0
        self.driver = self.new_driver()
        self.begin(0)

    def new_driver(self) -> Driver:
        return Driver(self.spark, self.folder, self.conf, prefixed=self.prefixed)

    def begin(self, version: int) -> None:
        self.driver.open(version, "")
        self.base = version
        self.model = dict(self.versions[version])

    @rule(text=TEXTS, number=NUMBERS, value=VALUES)
    def put(self, text: str, number: int, value: str) -> None:
        self.driver.put(text, number, value)
        self.model[text, number] = value

    @rule(text=TEXTS, start=st.integers(0, 5000), count=st.integers(1, 2000))
    def put_range(self, text: str, start: int, count: int) -> None:
        value = f"{text}{count}{self.tail}"
        self.driver.putRange(text, start, start + count, value)
        self.model |= {(text, n): value for n in range(start, start + count)}

    @rule(text=TEXTS, number=NUMBERS)
    def remove(self, text: str, number: int) -> None:
        self.driver.remove(text, number)
        self.model.pop((text, number), None)

    @rule(text=TEXTS, number=NUMBERS)
    def get(self, text: str, number: int) -> None:
        assert self.driver.get(text, number) == self.model.get((text, number))
        assert self.driver.exists(text, number) == ((text, number) in self.model)

    @rule()
    def scan(self) -> None:
        assert self.driver.rows() == self.model

    @precondition(lambda self: self.prefixed)
    @rule(text=TEXTS)
    def scan_prefix(self, text: str) -> None:
        assert self.driver.rows_of(text) == {k: v for k, v in self.model.items() if k[0] == text}

    @rule(value=VALUES)
    def scan_and_write(self, value: str) -> None:
        assert as_rows(self.driver.scanAndWrite(value)) == self.model
        kept = {k: v for k, v in self.model.items() if k[1] % 3 != 1}
        self.model = {k: value if k[1] % 3 == 2 else v for k, v in kept.items()}

    @rule()
    def commit(self) -> None:
        assert self.driver.commit() == self.base + 1
        assert self.driver.numKeys() == len(self.model)
        assert self.driver.rows() == self.model
        self.versions = [*self.versions[: self.base + 1], self.model]
        self.begin(self.base + 1)

    @rule()
    def abort(self) -> None:
        self.driver.abort()
        self.begin(self.base)

    @rule(data=st.data())
    def reload_old_version(self, data: st.DataObject) -> None:
        self.driver.abort()
        self.begin(data.draw(st.integers(0, len(self.versions) - 1)))

    @rule()
    def maintain(self) -> None:
        self.driver.maintain()

    @rule()
    def use_up_memory(self) -> None:
        self.taken.enter_context(room_for_indexes_alone(self.spark))

    @rule()
    def free_memory(self) -> None:
        self.taken.close()

    @rule()
    def restart_provider(self) -> None:
        self.driver.close()
        self.driver = self.new_driver()
        self.begin(self.base)

    @rule()
    def kill_process(self) -> None:
        kill_servers()
        self.driver = self.new_driver()
        self.begin(self.base)

    @invariant()
    def count_is_exact(self) -> None:
        if hasattr(self, "model"):
            assert self.driver.numKeys() == len(self.model)

    def teardown(self) -> None:
        self.taken.close()
        if hasattr(self, "driver"):
            self.driver.abort()
            self.driver.close()
            # An upload that the abort found under way ends after it, and makes its folder anew.
            while self.folder.exists():
                shutil.rmtree(self.folder, ignore_errors=True)


class PrefixedStoreMachine(StoreMachine):
    """The same for a store that is scanned by prefix."""

    prefixed = True


@pytest.mark.parametrize("machine", [StoreMachine, PrefixedStoreMachine])
def test_store_equals_a_dict(spark: SparkSession, machine: type[StoreMachine]) -> None:
    """6 runs of 25 steps each; the wide sweep does more."""
    _run(spark, machine, examples=6, steps=25)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("machine", [StoreMachine, PrefixedStoreMachine])
def test_store_equals_a_dict_at_length(spark: SparkSession, machine: type[StoreMachine]) -> None:
    """200 runs of 50 steps each."""
    _run(spark, machine, examples=200, steps=50)


def _run(spark: SparkSession, machine: type[StoreMachine], examples: int, steps: int) -> None:
    machine.spark = spark
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
