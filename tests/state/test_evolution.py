"""Types of stored values that change: each pair is converted, or refused with both types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row

from keygroups.partition.conversions import conversion
from keygroups.rows.times import BeyondDate, BeyondTime
from keygroups.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    PickleType,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateError,
    ValueStateDescriptor,
)
from keygroups.state.types import parse_type
from state.on_files import FileHarness
from state.probe import HARNESS, Probed

DAY = dt.date(2026, 11, 26)
NOON = dt.datetime(2026, 11, 26, 12)  # noqa: DTZ001 - a time without a zone
MIDNIGHT = NOON.replace(hour=0)
VALUES: dict[str, Any] = {
    "boolean": True,
    "tinyint": 7,
    "smallint": 300,
    "int": (1 << 24) + 1,
    "bigint": (1 << 53) + 1,
    "float": 0.5,
    "double": 0.1,
    "decimal(10,2)": Decimal("1.50"),
    "decimal(11,2)": Decimal("1.50"),
    "string": "x",
    "binary": b"x",
    "date": DAY,
    "timestamp": NOON,
    "timestamp_ntz": NOON,
    "interval day to second": dt.timedelta(5),
    "array<int>": [1],
    "map<int, int>": {1: 2},
    "struct<a: int>": Row(a=1),
}
CONVERTED: dict[tuple[str, str], Any] = {
    ("tinyint", "smallint"): 7,
    ("tinyint", "int"): 7,
    ("tinyint", "bigint"): 7,
    ("tinyint", "float"): 7.0,
    ("tinyint", "double"): 7.0,
    ("smallint", "int"): 300,
    ("smallint", "bigint"): 300,
    ("smallint", "float"): 300.0,
    ("smallint", "double"): 300.0,
    ("int", "bigint"): (1 << 24) + 1,
    ("int", "float"): float(1 << 24),
    ("int", "double"): float((1 << 24) + 1),
    ("bigint", "float"): float(1 << 53),
    ("bigint", "double"): float(1 << 53),
    ("float", "double"): 0.5,
    ("date", "timestamp"): MIDNIGHT,
    ("date", "timestamp_ntz"): MIDNIGHT,
    ("string", "binary"): b"x",
    ("binary", "string"): "x",
}
"""All that are converted: others are refused."""


@pytest.fixture(autouse=True)
def _on_files() -> Any:
    token = HARNESS.set(FileHarness)
    yield
    HARNESS.reset(token)


def test_each_pair_of_types_is_converted_or_refused() -> None:
    """Alone, and in fields, elements and entries."""
    for old, new in product(VALUES, VALUES):
        for form in ("{}", "struct<f: {}>", "array<{}>", "map<string, {}>", "map<{}, string>", "array<struct<f: {}>>"):
            convert = conversion(parse_type(form.format(old)), parse_type(form.format(new)))
            assert (convert is not None) is (old == new or (old, new) in CONVERTED), (form, old, new)


@pytest.mark.parametrize(("old", "new"), CONVERTED)
def test_stored_values_are_converted(old: str, new: str) -> None:
    """In a value, and in a field of the values of a map."""
    before = Probed(s=ValueStateDescriptor("s", old), m=MapStateDescriptor("m", "string", f"f {old}, gone int"))
    before.do(lambda p: p.s.update(VALUES[old]) or p.m.put("k", (VALUES[old], 1)) or p.m.put("none", None))
    after = Probed(
        before.harness.snapshot(),
        s=ValueStateDescriptor("s", new),
        m=MapStateDescriptor("m", "string", f"f {new}, more array<int>"),
    )
    expected = CONVERTED[old, new]
    found = after.do(lambda p: (p.s.value(), sorted(p.m.items())))
    assert repr(found) == repr((expected, [("k", Row(f=expected, more=None)), ("none", None)]))
    assert after.do(lambda p: (p.s.value(), sorted(p.m.items()))) == found


@pytest.mark.parametrize(
    ("old", "new"),
    [("bigint", "int"), ("string", "bigint"), ("date", "bigint"), ("a int", "a string"), ("a int", "int"),
     ("a int", "a int, b int not null"), ("decimal(10,2)", "decimal(11,2)"), ("timestamp", "timestamp_ntz")],
)  # fmt: skip
def test_another_type_is_refused_with_both(old: str, new: str) -> None:
    snapshot = Probed(s=ValueStateDescriptor("s", old)).harness.snapshot()
    kinds = [parse_type(one).simpleString() for one in (old, new)]
    with pytest.raises(StateError) as caught:
        Probed(snapshot, s=ValueStateDescriptor("s", new))
    assert str(caught.value) == (
        f"the values of state 's' cannot become another type (expected {kinds[0]}, found {kinds[1]}): keep the type, or "
        "give the state another name"
    )


def test_what_is_pickled_is_no_binary() -> None:
    assert conversion(PickleType(), parse_type("binary")) is None
    assert conversion(parse_type("binary"), PickleType()) is None
    assert conversion(PickleType(), PickleType()) is not None


def test_bytes_that_are_no_text_name_the_state_and_stay() -> None:
    before = Probed(s=ValueStateDescriptor("s", "binary"))
    before.do(lambda p: p.s.update(b"\xff"))
    snapshot = before.harness.snapshot()
    with pytest.raises(
        StateError, match=r"a stored value of state 's' cannot become .*can't decode.*go back to the type"
    ):
        Probed(snapshot, s=ValueStateDescriptor("s", "string"))
    assert Probed(snapshot, s=ValueStateDescriptor("s", "binary")).do(lambda p: p.s.value()) == b"\xff"


def test_dates_that_python_does_not_have_become_times() -> None:
    convert = conversion(parse_type("date"), parse_type("timestamp_ntz"))
    assert convert is not None
    assert convert(BeyondDate(5_000_000)) == BeyondTime(5_000_000 * 86_400_000_000)


def test_numbers_of_floating_point_are_rounded_as_in_avro() -> None:
    convert = conversion(parse_type("bigint"), parse_type("float"))
    assert convert is not None
    for number in (0, -1, (1 << 24) + 1, (1 << 63) - 1, -(1 << 63)):
        assert convert(number) == np.float32(number).item()


KINDS: dict[str, Any] = {
    "value": ValueStateDescriptor("s", "bigint"),
    "reducing": ReducingStateDescriptor[int]("s", "sum", "bigint"),
    "aggregating": AggregatingStateDescriptor[int, int, int]("s", "count", "bigint"),
    "folding": FoldingStateDescriptor[int, int]("s", 0, lambda a, b: a + b, "bigint"),
    "list": ListStateDescriptor("s", "bigint"),
    "map": MapStateDescriptor("s", "bigint", "bigint"),
    "sorted map": SortedMapStateDescriptor("s", "bigint", "bigint"),
}


@pytest.mark.parametrize(("old", "new"), list(product(KINDS, KINDS)))
def test_another_kind_of_state_does_not_read_what_is_stored(old: str, new: str) -> None:
    """Neither in structs, whose columns are the user's; a sorted map is stored as a map."""
    snapshot = Probed(s=KINDS[old]).harness.snapshot()
    if old.removeprefix("sorted ") == new.removeprefix("sorted "):
        Probed(snapshot, s=KINDS[new])
        return
    kind = old.split()[-1]
    with pytest.raises(
        StateError, match=f"'s' was stored as another one .expected a .*{kind} state.*found {new} state"
    ):
        Probed(snapshot, s=KINDS[new])


def test_the_kind_is_stored_with_a_struct_too() -> None:
    snapshot = Probed(s=ValueStateDescriptor("s", "a int comment 'kept', b string")).harness.snapshot()
    with pytest.raises(StateError, match=r"expected a value state .*found reducing state"):
        Probed(snapshot, s=ReducingStateDescriptor("s", "last", "a int, b string"))
    Probed(snapshot, s=ValueStateDescriptor("s", "a bigint, b string"))
