"""Functions known by their names: the same one by one and by batch, or refused where they are declared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from keygroups.functions import BatchContext, BatchKeys, KeyedBatchFunction, RuntimeContext
from keygroups.state import AggregatingStateDescriptor, PickleType, ReducingStateDescriptor, StateError
from keygroups.state.arrow import values_of
from keygroups.testing import KeyedHarness

NOON = dt.datetime(2026, 11, 26, 12)  # noqa: DTZ001 - a time without a zone
VALUES: dict[str, list[Any]] = {
    "boolean": [False, True, False],
    "tinyint": [3, 5, 4],
    "smallint": [3, 5, 4],
    "int": [3, 5, 4],
    "bigint": [3, 5, 4],
    "float": [0.1, 0.5, float("nan")],
    "double": [0.1, 0.5, 0.3],
    "decimal(6,2)": [Decimal("0.10"), Decimal("0.50"), Decimal("0.30")],
    "string": ["a", "é", "b"],
    "binary": [b"a", b"\xff", b"b"],
    "date": [dt.date(2026, 1, 1), dt.date(2026, 1, 3), dt.date(2026, 1, 2)],
    "timestamp": [NOON, NOON + dt.timedelta(2), NOON + dt.timedelta(1)],
    "timestamp_ntz": [NOON, NOON + dt.timedelta(2), NOON + dt.timedelta(1)],
    "interval day to second": [dt.timedelta(1), dt.timedelta(3), dt.timedelta(2)],
    "array<bigint>": [[1], [3], [2]],
    "map<string, bigint>": [{"a": 1}, {"a": 3}, {"a": 2}],
    "struct<a: bigint>": [(1,), (3,), (2,)],
    "void": [None, None, None],
}
NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal(6,2)", "interval day to second"}
ORDERED = NUMBERS | {"boolean", "string", "binary", "date", "timestamp", "timestamp_ntz"}
GOES = {"sum": NUMBERS, "min": ORDERED, "max": ORDERED, "last": set(VALUES)}


class Both(KeyedBatchFunction):
    """Adds a column to one state by batch, and to another row by row; gives what both have."""

    def __init__(self, how: str, kind: str, values: list[Any]) -> None:
        self.how, self.kind, self.values = how, kind, values

    def open(self, runtime_context: RuntimeContext) -> None:
        one, many = (ReducingStateDescriptor[Any](name, self.how, self.kind) for name in ("one", "many"))
        self.one, self.many = runtime_context.get_reducing_state(one), runtime_context.get_reducing_state(many)

    def process_batch(self, keys: BatchKeys, batch: pa.RecordBatch, ctx: BatchContext) -> Iterator[Any]:
        del ctx
        (by_batch,) = values_of(self.many.add_many(keys, self.values))
        for _ in keys:
            for value in self.values:
                if value is not None:  # which clears
                    self.one.add(value)
            assert repr(self.one.get()) == repr(by_batch) == repr(self.many.get())
        yield {"rows": [batch.num_rows]}


@pytest.mark.parametrize("how", GOES)
@pytest.mark.parametrize("kind", VALUES)
def test_one_by_one_and_by_batch_are_the_same(how: str, kind: str) -> None:
    if kind not in GOES[how]:
        with pytest.raises(StateError, match=f"state 's' has a type that '{how}' does not go with .expected .*found"):
            ReducingStateDescriptor("s", how, kind)
        return
    harness = KeyedHarness(Both(how, kind, VALUES[kind]), "key")
    harness.process_batch([{"key": "a"}] * 3)
    assert harness.output == [(3,)]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize(
    ("how", "good"), [("count", {"tinyint", "smallint", "int", "bigint"}), ("collect", {"array<bigint>"})]
)
def test_a_count_is_a_whole_number_and_a_collection_an_array(how: str, good: set[str], kind: str) -> None:
    if kind in good:
        assert AggregatingStateDescriptor("s", how, kind).built_in == how
        return
    with pytest.raises(StateError, match=f"state 's' has a type that '{how}' does not go with .*use another type"):
        AggregatingStateDescriptor("s", how, kind)


def test_objects_may_have_sums_and_orders_of_their_own() -> None:
    for how in GOES:
        assert ReducingStateDescriptor("s", how, PickleType()).built_in == how
