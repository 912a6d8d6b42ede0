"""Times to live, row by row of Flink's semantics, with a clock that the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from keygroups.state import (
    AggregatingStateDescriptor,
    Duration,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from state.probe import Probed
from state.test_descriptors import Mean

TTL = 100
RENEWED = StateTtlConfig.UpdateType.OnReadAndWrite
SHOWN = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp


def living(descriptor: StateDescriptor, *choices: object, ttl: int = TTL) -> Any:
    """A descriptor with a time to live."""
    builder = StateTtlConfig.new_builder(Duration.of_millis(ttl))
    if RENEWED in choices:
        builder.update_ttl_on_read_and_write()
    if SHOWN in choices:
        builder.return_expired_if_not_cleaned_up().disable_cleanup_in_background()
    descriptor.enable_time_to_live(builder.build())
    return descriptor


def value_state(*choices: object) -> Probed:
    return Probed(s=living(ValueStateDescriptor("s", "bigint", default=7), *choices))


def read(probed: Probed, at: int) -> Any:
    return probed.do(lambda p: p.s.value(), at=at)


def test_a_value_expires_with_its_time() -> None:
    """Rows TT4, D1: the default does not hold then, and the read removes what it finds."""
    probed = value_state()
    probed.do(lambda p: p.s.update(1), at=0)
    assert [read(probed, at) for at in (50, 99)] == [1, 1]
    assert probed.harness.number_of_keys("s") == 1
    assert read(probed, 100) is None
    assert probed.harness.number_of_keys("s") == 0


def test_reads_renew_a_living_value() -> None:
    """Row TT1."""
    probed = value_state(RENEWED)
    probed.do(lambda p: p.s.update(1), at=0)
    assert [read(probed, at) for at in (50, 120, 219, 319)] == [1, 1, 1, None]


def test_an_expired_value_is_shown_once() -> None:
    """Row TT2."""
    probed = value_state(SHOWN)
    probed.do(lambda p: p.s.update(1), at=0)
    assert [read(probed, at) for at in (100, 100)] == [1, None]


@pytest.mark.parametrize(("choices", "shown"), [((), [[1, 2], [2], []]), ((SHOWN,), [[1, 2], [1, 2], [1, 2]])])
def test_elements_of_a_list_expire_one_by_one(choices: tuple[object, ...], shown: list[list[int]]) -> None:
    """Rows TT2, TT5: they stay stored until all have expired; the read that finds that removes them."""
    probed = Probed(s=living(ListStateDescriptor("s", "bigint"), *choices))
    probed.do(lambda p: p.s.add(1), at=0)
    probed.do(lambda p: p.s.add(2), at=50)
    found, stored = [], []
    for at in (60, 120, 150):
        found.append(probed.do(lambda p: p.s.get(), at=at))
        stored.append([len(rows) for rows in probed.stored().values()])
    assert found == shown
    assert stored == [[2], [2], []]
    assert probed.do(lambda p: p.s.get()) == []


def test_a_read_that_renews_drops_expired_elements() -> None:
    """Row TT5."""
    probed = Probed(s=living(ListStateDescriptor("s", "bigint"), RENEWED))
    probed.do(lambda p: p.s.add(1), at=0)
    probed.do(lambda p: p.s.add(2), at=50)
    assert [probed.do(lambda p: p.s.get(), at=at) for at in (120, 219)] == [[2], [2]]
    assert probed.stored() == {"a": [(2, 219)]}


@pytest.fixture(params=[MapStateDescriptor, SortedMapStateDescriptor])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_entries_of_a_map_expire_one_by_one(kind: Any) -> None:
    """Rows TT5, TT6: a read or a walk removes what it finds; is_empty does not look."""
    probed = Probed(s=living(kind("s", "string", "bigint")))
    probed.do(lambda p: p.s.put_all({"x": 1, "y": 2, "z": 3}), at=0)
    probed.do(lambda p: p.s.put("z", 4), at=50)
    assert probed.do(lambda p: [p.s.get("x"), p.s.contains("x")], at=100) == [None, False]
    assert probed.do(lambda p: list(p.s.items())) == [("z", 4)]
    assert len(probed.stored()["a"]) == 1
    assert probed.do(lambda p: p.s.is_empty(), at=200) is False
    assert probed.do(lambda p: [list(p.s), p.s.is_empty()]) == [[], True]


def test_an_expired_entry_is_shown_once(kind: Any) -> None:
    """Rows TT2, TT5."""
    probed = Probed(s=living(kind("s", "string", "bigint"), SHOWN))
    probed.do(lambda p: p.s.put_all({"x": 1, "y": 2}), at=0)
    assert probed.do(lambda p: [p.s.contains("x"), p.s.contains("x")], at=100) == [True, False]
    assert probed.do(lambda p: [list(p.s.items()), list(p.s.items())]) == [[("y", 2)], []]


@pytest.mark.parametrize(
    ("touch", "renews"),
    [
        (lambda s: s.get("x"), True),
        (lambda s: s.contains("x"), True),
        (lambda s: list(s.items()), True),
        (lambda s: list(s.keys()), True),
        (lambda s: list(s.values()), True),
        (lambda s: s.is_empty(), False),
    ],
)
def test_what_counts_as_a_read(kind: Any, touch: Any, renews: bool) -> None:
    """Row TT6."""
    probed = Probed(s=living(kind("s", "string", "bigint"), RENEWED))
    probed.do(lambda p: p.s.put("x", 1), at=0)
    probed.do(lambda p: touch(p.s) and None, at=90)
    assert probed.do(lambda p: p.s.contains("x"), at=150) is renews


def test_ends_of_a_sorted_map_live() -> None:
    probed = Probed(s=living(SortedMapStateDescriptor("s", "int", "int")))
    probed.do(lambda p: p.s.put_all({1: 1, 9: 9}), at=0)
    probed.do(lambda p: p.s.put(5, 5), at=50)
    assert probed.do(lambda p: [p.s.first_entry(), p.s.last_entry()], at=120) == [(5, 5), (5, 5)]


@pytest.mark.parametrize(("choices", "total"), [((), 2), ((SHOWN,), 3)])
@pytest.mark.parametrize(
    "descriptor",
    [
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b, "bigint"),
        lambda: FoldingStateDescriptor("s", 0, lambda a, b: a + b, "bigint"),
    ],
)
def test_sums_begin_anew(descriptor: Any, choices: tuple[object, ...], total: int) -> None:
    """Rows TT2, TT5: an expired sum goes on only if it may be seen; adding renews it."""
    probed = Probed(s=living(descriptor(), *choices))
    probed.do(lambda p: p.s.add(1), at=0)
    probed.do(lambda p: p.s.add(2), at=120)
    assert probed.do(lambda p: p.s.get(), at=219) == total


@pytest.mark.parametrize(("choices", "mean"), [((), 4.0), ((SHOWN,), 3.0)])
def test_aggregates_begin_anew(choices: tuple[object, ...], mean: float) -> None:
    """Row TT2."""
    probed = Probed(s=living(AggregatingStateDescriptor("s", Mean(), "n bigint, sum bigint"), *choices))
    probed.do(lambda p: p.s.add(2), at=0)
    probed.do(lambda p: p.s.add(4), at=120)
    assert probed.do(lambda p: p.s.get(), at=219) == mean
    assert probed.do(lambda p: p.s.get(), at=400) == (mean if choices else None)
    assert probed.do(lambda p: p.s.get(), at=400) is None


def test_none_in_a_map_lives() -> None:
    """Row TT7."""
    probed = Probed(
        s=living(MapStateDescriptor("s", "string", "bigint")), v=living(ValueStateDescriptor("v", "bigint"))
    )
    probed.do(lambda p: p.s.put("x", None) or p.v.update(1) or p.v.update(None), at=0)
    assert probed.harness.number_of_keys("v") == 0
    assert [probed.do(lambda p: p.s.contains("x"), at=at) for at in (99, 100)] == [True, False]


def test_switched_on_and_off() -> None:
    """Row TT13."""
    plain = Probed(s=ValueStateDescriptor("s", "bigint"))
    plain.do(lambda p: p.s.update(7), at=0)
    timed = Probed(plain.harness.snapshot(), now=1000, s=living(ValueStateDescriptor("s", "bigint")))
    assert read(timed, 1099) == 7
    expired = Probed(timed.harness.snapshot(), now=1100, s=living(ValueStateDescriptor("s", "bigint")))
    longer = Probed(timed.harness.snapshot(), now=1100, s=living(ValueStateDescriptor("s", "bigint"), ttl=1000))
    off = Probed(timed.harness.snapshot(), now=1100, s=ValueStateDescriptor("s", "bigint"))
    assert [read(probed, 1100) for probed in (expired, longer, off)] == [None, 7, 7]
