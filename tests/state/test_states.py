"""What states do, row by row of Flink's semantics."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from keygroups.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateDescriptor,
    StateError,
    ValueStateDescriptor,
)
from state.probe import Probed
from state.test_descriptors import Mean

EARLIER = dt.datetime(2026, 10, 25, 2, 45)  # noqa: DTZ001 - local time
LATER = dt.datetime(2026, 10, 25, 2, 15, fold=1)  # noqa: DTZ001 - local time
ALL: dict[str, tuple[StateDescriptor, Callable[[Any], Any]]] = {
    "value": (ValueStateDescriptor("s", "bigint"), lambda p: p.s.update(1)),
    "list": (ListStateDescriptor("s", "bigint"), lambda p: p.s.add(1)),
    "map": (MapStateDescriptor("s", "string", "bigint"), lambda p: p.s.put("x", 1)),
    "sorted map": (SortedMapStateDescriptor("s", "string", "bigint"), lambda p: p.s.put("x", 1)),
    "reducing": (ReducingStateDescriptor("s", max, "bigint"), lambda p: p.s.add(1)),
    "aggregating": (AggregatingStateDescriptor("s", Mean(), "n bigint, sum bigint"), lambda p: p.s.add(1)),
    "folding": (FoldingStateDescriptor("s", 0, lambda acc, v: acc + v, "bigint"), lambda p: p.s.add(1)),
}


@pytest.mark.parametrize("kind", ALL)
def test_clear_is_of_one_key(kind: str) -> None:
    """Row P0."""
    descriptor, fill = ALL[kind]
    probed = Probed(s=descriptor)
    probed.do(lambda p: p.s.clear())
    for key in "ab":
        probed.do(fill, key)
    assert probed.harness.number_of_keys("s") == 2
    probed.do(lambda p: p.s.clear())
    assert probed.harness.number_of_keys("s") == 1
    assert list(probed.stored()) == ["b"]


@pytest.mark.parametrize("kind", ALL)
def test_there_is_no_state_without_a_key(kind: str) -> None:
    """Row C1."""
    descriptor, fill = ALL[kind]
    probed = Probed(s=descriptor)
    with pytest.raises(StateError, match="state 's' was used without a key"):
        fill(probed.probe)


def test_value() -> None:
    """Rows V1, V2."""
    probed = Probed(s=ValueStateDescriptor("s", "bigint"), d=ValueStateDescriptor("d", "array<bigint>", default=[1]))
    assert probed.do(lambda p: p.s.value()) is None
    probed.do(lambda p: p.s.update(5))
    assert [probed.do(lambda p: p.s.value(), key) for key in "ab"] == [5, None]
    probed.do(lambda p: p.s.update(None))
    assert probed.harness.number_of_keys("s") == 0
    assert probed.do(lambda p: p.d.value().append(2) or p.d.value()) == [1]
    probed.do(lambda p: p.d.update([3]))
    assert probed.do(lambda p: p.d.value().append(4) or p.d.value()) == [3]
    assert probed.do(lambda p: p.d.update(None) or p.d.value()) == [1]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("bigint", "1"),
        ("bigint", True),
        ("bigint", 1 << 63),
        ("int", 1 << 31),
        ("string", 1),
        ("double", "1"),
        ("array<int>", 5),
        ("array<int>", ["a"]),
        ("a int, b string", (1,)),
        ("a int, b string", (1, 2)),
        ("a int, b string", {"a": 1, "c": "x"}),
        ("a struct<b: int>", {"a": {"b": 1, "c": 2}}),
        ("string", "\ud800"),
        ("array<string>", ["é", "\udfff"]),
    ],
)
def test_a_wrong_value_names_the_state(kind: str, wrong: object) -> None:
    """Rows V2, L2: when it is set, not when the batch ends."""
    probed = Probed(s=ValueStateDescriptor("s", kind))
    with pytest.raises(StateError, match=r"value state 's' was given a wrong value .*found "):
        probed.do(lambda p: p.s.update(wrong))
    assert probed.harness.number_of_keys("s") == 0


def test_a_wrong_default_names_the_state() -> None:
    """When the operator is opened, not when a key has no value."""
    with pytest.raises(StateError, match=r"value state 's' was given a wrong value .expected bigint, found 'none'"):
        Probed(s=ValueStateDescriptor("s", "bigint", default="none"))


@pytest.mark.parametrize(
    ("kind", "given_value", "stored"),
    [
        ("double", 1, 1.0),
        ("a int, b string", (1, "x"), Row(a=1, b="x")),
        ("a int, b string", {"a": 1}, Row(a=1, b=None)),
        ("a int, b struct<c: array<double>>", (1, ([1, 2.5],)), Row(a=1, b=Row(c=[1.0, 2.5]))),
        ("map<string, array<int>>", {"k": (1, 2)}, {"k": [1, 2]}),
        ("binary", bytearray(b"a"), b"a"),
        ("a map<binary, array<binary>>", ({b"a": [bytearray(b"b")]},), Row(a={b"a": [b"b"]})),
        ("timestamp_ntz", LATER, LATER.replace(fold=0)),
    ],
)
def test_what_is_stored_has_the_type_of_the_state(kind: str, given_value: object, stored: object) -> None:
    """At once, and after it was stored."""
    probed = Probed(s=ValueStateDescriptor("s", kind))
    assert repr(probed.do(lambda p: p.s.update(given_value) or p.s.value())) == repr(stored)
    assert repr(probed.do(lambda p: p.s.value())) == repr(stored)


def test_list() -> None:
    """Rows L1, L3, L4."""
    probed = Probed(s=ListStateDescriptor("s", "bigint"))
    assert probed.do(lambda p: p.s.get()) == []
    probed.do(lambda p: p.s.add(2) or p.s.add_all([1, 2]) or p.s.add_all([]))
    assert probed.do(lambda p: p.s.get().append(9) or [list(p.s), p.s.get()]) == [[2, 1, 2]] * 2
    assert probed.do(lambda p: p.s.update(iter([7])) or p.s.get()) == [7]
    probed.do(lambda p: p.s.update([]))
    assert probed.harness.number_of_keys("s") == 0


@pytest.mark.parametrize(
    "action",
    [
        lambda p: p.s.add(None),
        lambda p: p.s.add_all(None),
        lambda p: p.s.add_all([8, None]),
        lambda p: p.s.update(None),
        lambda p: p.s.update([8, None]),
        lambda p: p.s.add_all([8, "x"]),
    ],
)
def test_a_list_takes_all_or_nothing(action: Callable[[Any], Any]) -> None:
    """Rows L2, L3, L4."""
    probed = Probed(s=ListStateDescriptor("s", "bigint"))
    probed.do(lambda p: p.s.add(1))
    with pytest.raises(StateError, match="list state 's' was given"):
        probed.do(action)
    assert probed.do(lambda p: p.s.get()) == [1]


def test_reducing() -> None:
    """Row R1."""
    probed = Probed(s=ReducingStateDescriptor("s", lambda a, b: a + b, "bigint"))
    assert probed.do(lambda p: p.s.get()) is None
    assert probed.do(lambda p: p.s.add(1) or p.s.add(2) or p.s.get()) == 3
    assert probed.do(lambda p: p.s.add(None) or p.s.get()) is None


def test_a_sum_of_decimals_has_all_digits() -> None:
    """Python's own sum has 28."""
    probed = Probed(s=ReducingStateDescriptor("s", "sum", "decimal(38,10)"))
    for number in ("1234567890123456789012345678.1234567890", "0.0000000001"):
        probed.do(partial(lambda number, p: p.s.add(Decimal(number)), number))
    assert probed.do(lambda p: p.s.get()) == Decimal("1234567890123456789012345678.1234567891")


class Balance(Mean):
    """Forgets what it has when that comes to nothing."""

    def add(self, value: int, accumulator: Any) -> Any:
        n, total = super().add(value, accumulator)
        return (n, total) if total else None


@pytest.mark.parametrize(
    ("descriptor", "fresh"),
    [
        (ReducingStateDescriptor[int]("s", lambda a, b: a + b or None, "bigint"), 7),
        (AggregatingStateDescriptor("s", Balance(), "n bigint, sum bigint"), 7.0),
        (FoldingStateDescriptor[int, int]("s", 1, lambda acc, v: acc + v or None, "bigint"), 8),
    ],
    ids=["reducing", "aggregating", "folding"],
)
def test_a_function_that_gives_none_clears(descriptor: StateDescriptor, fresh: Any) -> None:
    """As in Flink's heap backend: the next value is the first one again."""
    first, second = (5, -6) if descriptor.kind == "folding" else (5, -5)
    probed = Probed(s=descriptor)
    assert probed.do(lambda p: p.s.add(first) or p.s.add(second) or p.s.get()) is None
    assert probed.harness.number_of_keys("s") == 0
    assert probed.do(lambda p: p.s.add(7) or p.s.get()) == fresh


def test_aggregating() -> None:
    """Row A1: the result of no value is not asked for; it would divide by zero."""
    probed = Probed(s=AggregatingStateDescriptor("s", Mean(), "n bigint, sum bigint"))
    assert probed.do(lambda p: p.s.get()) is None
    assert probed.do(lambda p: p.s.add(1) or p.s.add(2) or p.s.get()) == 1.5
    assert probed.stored() == {"a": (Row(n=2, sum=3), 0)}
    assert probed.do(lambda p: p.s.add(None) or p.s.get()) is None


def test_folding() -> None:
    """Row F1: what is folded into is each key's own."""

    def folded(acc: list[int], value: int) -> list[int]:
        acc.append(value)
        return acc

    probed = Probed(s=FoldingStateDescriptor("s", [0], folded, "array<bigint>"))
    assert probed.do(lambda p: p.s.get()) is None
    assert probed.do(lambda p: p.s.add(1) or p.s.add(2) or p.s.get()) == [0, 1, 2]
    assert probed.do(lambda p: p.s.add(3) or p.s.get(), "b") == [0, 3]
    assert probed.do(lambda p: p.s.add(None) or p.s.get()) is None


@pytest.fixture(params=[MapStateDescriptor, SortedMapStateDescriptor])
def mapped(request: pytest.FixtureRequest) -> Probed:
    return Probed(s=request.param("s", "string", "bigint"))


def test_map_entries(mapped: Probed) -> None:
    """Rows M1, M2, M3, M5: None may be a value."""
    mapped.do(
        lambda p: p.s.put("x", 1) or p.s.put_all({"y": 2, "dd": None}) or p.s.put_all([("z", 3)]) or p.s.put_all({})
    )
    assert mapped.do(lambda p: [p.s.get(k) for k in ("x", "y", "dd", "z", "none")]) == [1, 2, None, 3, None]
    assert mapped.do(lambda p: [p.s.contains("dd"), "dd" in p.s, "none" in p.s, p.s["none"]]) == [
        True,
        True,
        False,
        None,
    ]
    mapped.do(lambda p: p.s.__setitem__("x", 9) or p.s.__delitem__("none") or p.s.remove("y"))
    assert sorted(mapped.do(lambda p: list(p.s.items()))) == [("dd", None), ("x", 9), ("z", 3)]
    assert sorted(mapped.do(lambda p: list(p.s))) == sorted(mapped.do(lambda p: list(p.s.keys()))) == ["dd", "x", "z"]
    assert mapped.do(lambda p: sorted(v or 0 for v in p.s.values())) == [0, 3, 9]
    for name in ("dd", "x", "z"):
        assert not mapped.do(lambda p: p.s.is_empty())
        mapped.do(partial(lambda name, p: p.s.remove(name), name))
    assert mapped.do(lambda p: p.s.is_empty())
    assert mapped.harness.number_of_keys("s") == 0


def test_views_of_an_empty_map(mapped: Probed) -> None:
    """Row M4."""
    assert mapped.do(lambda p: [list(view()) for view in (p.s.items, p.s.keys, p.s.values)]) == [[], [], []]


@pytest.mark.parametrize("view", ["items", "keys", "values"])
def test_an_iterator_removes(mapped: Probed, view: str) -> None:
    """Row M4."""
    mapped.do(lambda p: p.s.put_all({"x": 1, "y": 2, "z": 3}))

    def remove_two(p: Any) -> list[Any]:
        walk = getattr(p.s, view)()
        with pytest.raises(StateError, match="there is no entry to remove"):
            walk.remove()
        for _ in range(2):
            next(walk)
            walk.remove()
        with pytest.raises(StateError, match="there is no entry to remove"):
            walk.remove()
        return [*walk]

    assert len(mapped.do(remove_two)) == 1
    assert len(mapped.do(lambda p: list(p.s))) == 1


def test_an_iterator_removes_the_last_entry_after_its_end(mapped: Probed) -> None:
    """As Java's does: what next() has given last."""
    mapped.do(lambda p: p.s.put_all({"x": 1}))

    def remove_after(p: Any) -> list[Any]:
        walk = p.s.keys()
        seen = [*walk]
        walk.remove()
        return seen

    assert mapped.do(remove_after) == ["x"]
    assert mapped.do(lambda p: p.s.is_empty())


def test_an_iterator_removes_under_the_key_it_walks(mapped: Probed) -> None:
    for key in "ab":
        mapped.do(lambda p: p.s.put("x", 1), key)
    walks: list[Any] = []
    mapped.harness.process_all(
        [
            ("a", lambda p, _: walks.append(p.s.items())),
            ("b", lambda *_: [next(walks[0]), walks[0].remove()]),
        ]
    )
    assert [mapped.do(lambda p: list(p.s), key) for key in "ab"] == [[], ["x"]]


@pytest.mark.parametrize("change", [lambda s: s.put("new", 1), lambda s: s.remove("x"), lambda s: s.clear()])
def test_a_map_is_not_changed_while_it_is_walked(mapped: Probed, change: Callable[[Any], None]) -> None:
    """Row M4."""
    mapped.do(lambda p: p.s.put_all({"x": 1, "y": 2}))

    def walked(p: Any) -> None:
        for _ in p.s.items():
            change(p.s)

    with pytest.raises(StateError, match="a map state was changed while it was walked"):
        mapped.do(walked)


@pytest.mark.parametrize("wrong", [None, {"x": "y"}, {1: 1}, [("a", 1), ("b", "c")]])
def test_a_map_takes_all_or_nothing(mapped: Probed, wrong: Any) -> None:
    """Row M2."""
    with pytest.raises(StateError, match="map state 's' was given"):
        mapped.do(lambda p: p.s.put_all(wrong))
    assert mapped.do(lambda p: p.s.is_empty())


def test_a_map_may_have_a_key_of_none() -> None:
    """Rows M1, SM2: but not one whose keys have an order."""
    probed = Probed(s=MapStateDescriptor("s", "string", "bigint"), o=SortedMapStateDescriptor("o", "string", "bigint"))
    assert probed.do(lambda p: p.s.put(None, 1) or p.s.get(None)) == 1
    with pytest.raises(StateError, match="has no place in an order"):
        probed.do(lambda p: p.o.put(None, 1))


def test_keys_of_a_map_are_compared_by_value() -> None:
    probed = Probed(s=MapStateDescriptor("s", "a int, b array<double>", "bigint"))
    probed.do(lambda p: p.s.put((1, [math.nan]), 7))
    assert probed.do(lambda p: [p.s.get({"a": 1, "b": [math.nan]}), next(iter(p.s)).a]) == [7, 1]


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [
        ("bigint", [-(2**63), -1, 0, 1, 2**63 - 1]),
        ("double", [-math.inf, -1.5, 0.0, 1.5, math.inf, math.nan]),
        ("string", ["", "A", "a", "ab", "b", "é", "\uffff", "😀"]),
        ("binary", [b"", b"\x00", b"\x7f", b"\x80", b"\xff"]),
        ("a int, b string", [(-1, "z"), (0, None), (0, ""), (0, "a"), (1, "")]),
    ],
)
def test_order_of_keys(kind: str, ordered: list[Any]) -> None:
    """Row SM2: negative numbers too, texts by their code points."""
    probed = Probed(s=SortedMapStateDescriptor("s", kind, "bigint"))
    probed.do(lambda p: [p.s.put(key, i) for i, key in reversed(list(enumerate(ordered)))])
    assert probed.do(lambda p: list(p.s.values())) == list(range(len(ordered)))
    assert probed.do(lambda p: [p.s.first_entry()[1], p.s.last_entry()[1]]) == [0, len(ordered) - 1]


SAME_TIME = (EARLIER, EARLIER.replace(fold=1))


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("wrapped", [False, True])
def test_order_of_instants_where_clocks_go_back(wrapped: bool) -> None:
    """Each is one key; the order is that of the instants, not that of what clocks show."""
    times = [EARLIER, LATER, SAME_TIME[1]]
    names = [Row(at=time) for time in times] if wrapped else times
    probed = Probed(s=SortedMapStateDescriptor("s", "at timestamp" if wrapped else "timestamp", "bigint"))
    probed.do(lambda p: p.s.first_entry() or [p.s.put(name, i) for i, name in reversed(list(enumerate(names)))])
    for _ in range(2):
        assert probed.do(lambda p: list(p.s.values())) == [0, 1, 2]
        assert probed.do(lambda p: [p.s.get(name) for name in names]) == [0, 1, 2]
        assert probed.do(lambda p: [value for _, value in p.s.sub_iterator(names[1], names[2])]) == [1]
    probed.do(lambda p: p.s.first_entry() and p.s.remove(names[0]))
    assert probed.do(lambda p: [p.s.first_entry()[1], *p.s.values()]) == [1, 1, 2]


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(("how", "found"), [("min", SAME_TIME[0]), ("max", SAME_TIME[1])])
@pytest.mark.parametrize("order", [SAME_TIME, SAME_TIME[::-1]])
def test_extremes_of_instants_where_clocks_go_back(how: str, found: dt.datetime, order: Any) -> None:
    """Whether a value comes with a zone or without one."""
    probed = Probed(s=ReducingStateDescriptor("s", how, "timestamp"))
    for value in (*order, found.astimezone(dt.timezone.utc)):
        probed.do(partial(lambda value, p: p.s.add(value), value))
    assert repr(probed.do(lambda p: p.s.get())) == repr(found)


@given(st.sets(st.integers(-20, 20)), st.integers(-21, 21), st.integers(-21, 21))
def test_ranges_of_a_sorted_map(keys: set[int], start: int, end: int) -> None:
    """Row SM1, against sorted keys."""
    probed = Probed(s=SortedMapStateDescriptor("s", "int", "int"))
    probed.do(lambda p: p.s.put_all({key: key for key in keys}))
    rows = [(key, key) for key in sorted(keys)]
    assert probed.do(lambda p: list(p.s.items())) == rows
    assert probed.do(lambda p: list(p.s.head_iterator(end))) == [row for row in rows if row[0] < end]
    assert probed.do(lambda p: list(p.s.tail_iterator(start))) == [row for row in rows if row[0] >= start]
    assert probed.do(lambda p: list(p.s.sub_iterator(start, end))) == [row for row in rows if start <= row[0] < end]
    ends = probed.do(lambda p: (p.s.first_entry(), p.s.last_entry()))
    assert ends == ((rows[0], rows[-1]) if rows else (None, None))


def test_bounds_of_none() -> None:
    """Row SM1."""
    probed = Probed(s=SortedMapStateDescriptor("s", "int", "int"))
    probed.do(lambda p: p.s.put(1, 1))
    walks = probed.do(lambda p: [p.s.head_iterator(None), p.s.tail_iterator(None), p.s.sub_iterator(None, 2)])
    assert [list(walk) for walk in walks] == [[], [], []]
