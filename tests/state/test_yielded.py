"""What a function yields goes out as it is then, in the harness and in the batches of a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row

from integration.streams.functions import LATE
from keygroups.functions import Context, KeyedProcessFunction, RuntimeContext
from keygroups.keyed.yielded import copied
from keygroups.state import StateError, ValueStateDescriptor
from keygroups.state.types import parse_type
from keygroups.streams.adapters import Reducer
from keygroups.streams.rows import in_batches as batches_of
from keygroups.streams.side_outputs import row_of
from keygroups.streams.spec import Operator
from keygroups.testing import KeyedHarness
from state.in_memory import MemoryHarness

ROWS = [Row(k="a", n=n) for n in range(6)]


class Threes(KeyedProcessFunction):
    """Yields the list that it collects in, and goes on with it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", "array<bigint>", default=[]))

    def process_element(self, value: Any, ctx: Context) -> Any:
        del ctx
        seen = self.seen.value()
        seen.append(value.n)
        if len(seen) == 3:
            yield value.k, seen
            seen.clear()
        self.seen.update(seen)


class Again(KeyedProcessFunction):
    """Yields one dict again and again, for every third row a tuple."""

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self.row = {"k": "", "n": 0}

    def process_element(self, value: Any, ctx: Context) -> Any:
        del ctx
        self.row.update(k=value.k, n=value.n)
        yield (value.k, value.n) if value.n % 3 == 1 else self.row


def in_batches(make: Callable[[], KeyedProcessFunction], output: str) -> list[dict[str, Any]]:
    """What a task gives to the JVM of the rows of a function."""
    harness = MemoryHarness(make(), "k")
    rows = harness._operator.process([(row.k, row, 0) for row in ROWS])
    columns, key = ("k", "n"), parse_type("k string")
    operator = Operator(make(), "uid", columns, key, parse_type(output), (), None, 1)  # type: ignore[arg-type]
    return [row for batch in batches_of(operator, iter(rows)) for row in batch.to_pylist()]


def in_harness(make: Callable[[], KeyedProcessFunction]) -> list[Any]:
    """What the harness gives."""
    harness = KeyedHarness(make(), "k")
    harness.process_all(ROWS)
    return harness.output


def test_a_list_that_is_changed_later() -> None:
    assert in_harness(Threes) == [("a", [0, 1, 2]), ("a", [3, 4, 5])]
    assert in_batches(Threes, "k string, xs array<bigint>") == [{"k": "a", "xs": xs} for xs in ([0, 1, 2], [3, 4, 5])]


def test_a_row_that_is_used_again() -> None:
    rows = [{"k": "a", "n": n} for n in range(6)]
    assert in_harness(Again) == [("a", n) if n % 3 == 1 else row for n, row in enumerate(rows)]
    assert in_batches(Again, "k string, n bigint") == rows


@pytest.mark.parametrize(
    "value", [(1, [2]), [Row(x=[1])], {"x": ([2],)}, bytearray(b"x"), Row("x")([2]), "text", None, np.arange(2)]
)
def test_a_copy_is_equal_and_of_the_same_kind(value: Any) -> None:
    made = copied(value)
    assert type(made) is type(value)
    assert repr(made) == repr(value)
    assert getattr(made, "__fields__", None) == getattr(value, "__fields__", None)


@pytest.mark.parametrize("row", [("x", 1, ("ann", 2)), ("x", 1, None), ("x",), {"a": "x", "late": ("ann", 2)}, 5])
def test_a_main_row_of_another_width_is_no_row_of_a_side_output(row: Any) -> None:
    make = row_of(parse_type("a string, b bigint"), [LATE], "uid")  # type: ignore[arg-type]
    assert make(("x", 1)) == ("x", 1, None)
    assert make({"b": 1}) == (None, 1, None)
    with pytest.raises(StateError, match=r"'uid' gave a wrong row .expected struct<a:string,b:bigint>"):
        make(row)


@pytest.mark.parametrize(
    ("value", "wanted"), [({}, []), ({"a": 1}, [("a", 1)]), ({"m": {"b": 2}}, [("b", 2)]), (({"c": 3},), [("c", 3)])]
)
def test_a_map_is_the_value_of_the_only_column(value: Any, wanted: list[Any]) -> None:
    class Maps(KeyedProcessFunction):
        def process_element(self, _: Any, ctx: Context) -> Any:
            del ctx
            yield value

    assert in_batches(Maps, "m map<string, bigint>") == [{"m": wanted}] * len(ROWS)


def test_rows_that_are_reduced_to_nothing() -> None:
    """None of a reduce function is no value, and so no row."""
    kind = parse_type("k string, n bigint")
    harness = KeyedHarness(Reducer(lambda old, new: None if new.n == 2 else Row(k="a", n=old.n + new.n), kind), "k")
    harness.process_all(ROWS[:4])
    assert harness.output == [("a", 0), ("a", 1), ("a", 3)]
