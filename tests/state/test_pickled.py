"""Values that are pickled because a user asks for it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from keygroups.state import (
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    PickleType,
    ReducingStateDescriptor,
    SortedMapStateDescriptor,
    StateError,
    StateTtlConfig,
    ValueStateDescriptor,
)
from state.on_files import FileHarness
from state.probe import Probe, Probed


def test_objects_of_any_class() -> None:
    """They come back equal, and changing them changes no state."""
    timed = ValueStateDescriptor("timed", PickleType())
    timed.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(100)).build())
    probe = Probed(
        value=ValueStateDescriptor("value", PickleType()),
        listed=ListStateDescriptor("listed", PickleType()),
        mapped=MapStateDescriptor("mapped", "string", PickleType()),
        total=ReducingStateDescriptor("total", lambda a, b: a + b, PickleType()),
        timed=timed,
    )
    words = Counter("abracadabra")
    probe.do(lambda p: p.value.update(words))
    probe.do(lambda p: p.value.value().clear())
    probe.do(lambda p: p.listed.add_all([words, {1, 2}, None.__class__]))
    probe.do(lambda p: p.mapped.put("third", Fraction(1, 3)))
    for _ in range(3):
        probe.do(lambda p: p.total.add(Fraction(1, 3)))
    probe.do(lambda p: p.timed.update({"a": (1, 2)}))
    if isinstance(probe.harness, FileHarness):
        probe.harness.restart()
    assert probe.do(lambda p: p.value.value()) == words
    assert probe.do(lambda p: list(p.listed.get())) == [words, {1, 2}, type(None)]
    assert probe.do(lambda p: p.mapped.get("third")) == Fraction(1, 3)
    assert probe.do(lambda p: p.total.get()) == 1
    assert probe.do(lambda p: p.timed.value(), at=99) == {"a": (1, 2)}
    assert probe.do(lambda p: p.timed.value(), at=100) is None


def test_objects_that_compare_element_by_element() -> None:
    """Such as the arrays of numpy."""
    probe = Probed(
        value=ValueStateDescriptor("value", PickleType()),
        listed=ListStateDescriptor("listed", PickleType()),
        mapped=MapStateDescriptor("mapped", "string", PickleType()),
    )
    array = np.arange(3)
    probe.do(lambda p: p.value.update(array))
    probe.do(lambda p: p.listed.add_all([array, array]) or p.listed.add(array))
    probe.do(lambda p: p.mapped.put_all({"some": array, "none": None}))
    assert probe.do(lambda p: p.value.value()).tolist() == [0, 1, 2]
    assert [one.tolist() for one in probe.do(lambda p: p.listed.get())] == [[0, 1, 2]] * 3
    assert probe.do(lambda p: p.mapped.get("some")).tolist() == [0, 1, 2]
    assert probe.do(lambda p: p.mapped.get("none")) is None


def test_what_cannot_be_pickled() -> None:
    """The error names the state, when it is set."""
    probe = Probed(value=ValueStateDescriptor("value", PickleType()))
    with pytest.raises(StateError, match="value state 'value' was given a wrong value"):
        probe.do(lambda p: p.value.update(threading.Lock()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MapStateDescriptor("s", PickleType(), "bigint"), "the keys of state 's' are pickled"),
        (lambda: SortedMapStateDescriptor("s", PickleType(), "bigint"), "the keys of state 's' are pickled"),
    ],
)
def test_where_no_pickle_can_be(make: Callable[[], Any], message: str) -> None:
    """Keys are found by their bytes."""
    with pytest.raises(StateError, match=message):
        make()


def test_binary_is_not_pickled() -> None:
    """Neither reads what the other wrote; a time to live can be switched on."""
    before = FileHarness(Probe(s=ValueStateDescriptor("s", PickleType())), lambda row: row[0])
    before.process(("a", lambda p, _: p.s.update({1: 2})))
    with pytest.raises(StateError, match="cannot read what is stored under its name"):
        FileHarness(Probe(s=ValueStateDescriptor("s", "binary")), lambda row: row[0], restore=[before.snapshot()])
    timed = ValueStateDescriptor("s", PickleType())
    timed.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(100)).build())
    after = FileHarness(Probe(s=timed), lambda row: row[0], restore=[before.snapshot()])
    after.process(("a", lambda p, _: p.s.value()))
    assert after.output == [{1: 2}]
