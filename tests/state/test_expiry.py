"""Expired values that nobody reads, over a store's files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keygroups.partition import expiry
from keygroups.state import (
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from keygroups.state.ttl import StateTtlConfigBuilder
from state.on_files import FileHarness
from state.probe import HARNESS, Probe, Probed

TTL = 100
KEYS = [f"key {i}" for i in range(40)]
KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "value": (lambda: ValueStateDescriptor("s", "bigint"), lambda p: p.s.update(1)),
    "struct": (lambda: ValueStateDescriptor("s", "n bigint, text string"), lambda p: p.s.update((1, "one"))),
    "list": (lambda: ListStateDescriptor("s", "bigint"), lambda p: p.s.add_all([1, 2])),
    "texts": (lambda: ListStateDescriptor("s", "string"), lambda p: p.s.add_all(["", "a text of two words"])),
    "map": (lambda: MapStateDescriptor("s", "string", "bigint"), lambda p: p.s.put("n", 1)),
}


def builder() -> StateTtlConfigBuilder:
    return StateTtlConfig.new_builder(Duration.of_millis(TTL))


def probed(kind: str, ttl: StateTtlConfigBuilder) -> Probed:
    descriptor = KINDS[kind][0]()
    descriptor.enable_time_to_live(ttl.build())
    token = HARNESS.set(FileHarness)
    try:
        return Probed(s=descriptor, other=ValueStateDescriptor("other", "bigint"))
    finally:
        HARNESS.reset(token)


def touch(p: Probe) -> None:
    p.other.update(1)  # type: ignore[attr-defined]


def fill(probe: Probed, kind: str, at: int, keys: list[str]) -> None:
    probe.harness.advance_processing_time(at)
    probe.harness.process_all([(key, lambda p, _: KINDS[kind][1](p)) for key in keys])


def let_go(probe: Probed, number: int, at: int) -> None:
    """Batches until so many keys are left; each looks at some rows."""
    for _ in range(500):
        probe.do(touch, "z", at=at)
        if probe.harness.number_of_keys("s") <= number:
            return


@pytest.mark.parametrize("kind", KINDS)
def test_what_nobody_reads_goes_with_the_batches(kind: str) -> None:
    """A window a batch; what was written since, in this batch or before, stays."""
    probe = probed(kind, builder().cleanup_incrementally(7, run_cleanup_for_every_record=True))
    fill(probe, kind, 0, KEYS)
    fill(probe, kind, 50, KEYS[:3])
    probe.do(touch, KEYS[0], at=99)
    assert probe.harness.number_of_keys("s") == len(KEYS)
    probe.harness.advance_processing_time(149)
    probe.harness.process_all([(KEYS[3], lambda p, _: KINDS[kind][1](p)), ("z", lambda p, _: touch(p))])
    assert len(KEYS) - 2 * expiry.PER_MERGED_ROW <= probe.harness.number_of_keys("s") < len(KEYS)
    let_go(probe, 4, 149)
    assert set(probe.stored()) == set(KEYS[:4])
    probe.harness.restart()
    let_go(probe, 1, 150)
    assert set(probe.stored()) == {KEYS[3]}


@pytest.mark.parametrize("kind", KINDS)
def test_without_background_only_a_read_deletes(kind: str) -> None:
    """Even after many batches."""
    probe = probed(kind, builder().disable_cleanup_in_background())
    fill(probe, kind, 0, KEYS)
    for _ in range(20):
        probe.do(touch, "z", at=500)
    assert probe.harness.number_of_keys("s") == len(KEYS)


@pytest.mark.parametrize("chunk", [1, expiry.CHUNK_BYTES])
@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_has_nothing_expired_after_a_restart(kind: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch of a process looks at all that is stored, and removes some at a time."""
    monkeypatch.setattr(expiry, "CHUNK_BYTES", chunk)
    probe = probed(kind, builder().cleanup_full_snapshot().disable_cleanup_in_background())
    fill(probe, kind, 0, KEYS)
    fill(probe, kind, 450, KEYS[:2])
    probe.do(touch, "z", at=500)
    assert probe.harness.number_of_keys("s") == len(KEYS)
    probe.harness.restart()
    monkeypatch.setattr(expiry, "_looked_at", {})
    probe.do(touch, "z", at=500)
    assert set(probe.stored()) == set(KEYS[:2])


def test_a_batch_that_runs_again_looks_at_all_rows_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first attempt has removed was not committed."""
    probe = probed("value", builder().cleanup_full_snapshot().disable_cleanup_in_background())
    fill(probe, "value", 0, KEYS)
    fill(probe, "value", 450, KEYS[:2])
    probe.harness.restart()
    monkeypatch.setattr(expiry, "_looked_at", {})
    with monkeypatch.context() as lost:
        lost.setattr(type(probe.harness), "_commit", lambda *_: None)
        probe.do(touch, "z", at=500)
    assert probe.harness.number_of_keys("s") == len(KEYS)
    probe.do(touch, "z", at=500)
    assert set(probe.stored()) == set(KEYS[:2])


def test_a_list_lives_as_long_as_its_newest_element() -> None:
    """Elements that were appended in another batch lie in a row of their own."""
    probe = probed("list", builder().cleanup_incrementally(100, run_cleanup_for_every_record=True))
    fill(probe, "list", 0, KEYS)
    fill(probe, "list", 60, KEYS[:5])
    probe.do(touch, "z", at=120)
    assert set(probe.stored()) == set(KEYS[:5])
    probe.do(touch, "z", at=160)
    assert probe.stored() == {}


@pytest.mark.parametrize("kind", ["list", "texts"])
def test_a_list_lives_as_long_as_its_youngest_element_after_a_clock_was_set_back(kind: str) -> None:
    """The element that was written last is not the youngest, in a row of its own and merged with the older ones."""
    probe = probed(kind, builder().cleanup_incrementally(100, run_cleanup_for_every_record=True))
    fill(probe, kind, 1000, KEYS)
    fill(probe, kind, 940, KEYS)
    probe.harness.process_all([(KEYS[0], lambda p, _: p.s.update(list(p.s.get())))])
    fill(probe, kind, 1000, KEYS[:1])
    fill(probe, kind, 940, KEYS[:1])
    probe.do(touch, "z", at=1045)
    assert set(probe.stored()) == set(KEYS)
    probe.do(touch, "z", at=1100)
    assert probe.stored() == {}
