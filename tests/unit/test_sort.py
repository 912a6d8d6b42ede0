"""The order of rows against Python's sort."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keygroups.segment.sort import ascending, sort_rows

LOCATORS = (
    st.integers(0, 2**64 - 1)
    | st.integers(0, 3)
    | st.integers(2**63, 2**63 + 3)
    | st.integers(2**64 - 4, 2**64 - 1)
    | st.builds(lambda high, low: high << 48 | low, st.integers(0, 2), st.integers(0, 7))
)
KEYS = st.sampled_from([bytes(8), b"\1" + bytes(7), bytes(7) + b"\1", b"\xff" * 8])
BYTES = st.sampled_from([0, 1, 127, 128, 255])


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(LOCATORS, KEYS), max_size=70), st.booleans(), st.booleans())
def test_rows_ascend_and_newer_ones_come_first(rows: list[tuple[int, bytes]], runs: bool, fixed: bool) -> None:
    """By locator, key and then as given; rows that repeat a key are marked."""
    locator = np.array([row[0] for row in rows], np.uint64)
    key = pa.array([row[1] for row in rows], pa.binary(8) if fixed else pa.binary())
    order, repeats = sort_rows(locator, key, runs=runs)
    assert order.dtype == np.int64
    expected = sorted(range(len(rows)), key=lambda row: rows[row])
    assert order.tolist() == expected
    same = [at > 0 and rows[expected[at]] == rows[expected[at - 1]] for at in range(len(rows))]
    assert repeats.tolist() == same


@pytest.mark.parametrize("count", [2, 255, 256, 257, 65_536, 65_537])
@pytest.mark.parametrize("spread", [1, 10, 40, 63, 64])
@pytest.mark.parametrize("near", [False, True])
def test_the_order_of_many_locators(count: int, spread: int, near: bool) -> None:
    """Where bits are left out that decide, too: rows in pairs that differ in the last ones."""
    random = np.random.default_rng(count * 100 + spread)
    locator = random.integers(0, 2**spread - 1, count, np.uint64, endpoint=True)
    if near:
        half = locator[: count // 2]
        locator = random.permutation(np.concatenate([half, half ^ np.uint64(1)]))
    assert np.array_equal(ascending(locator), np.argsort(locator, kind="stable"))


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_the_order_of_keys_that_share_a_locator(data: st.DataObject) -> None:
    """Of all lengths: those that become one number or a few words, and those that Arrow sorts."""
    lengths = data.draw(st.sampled_from([(0,), (5,), (8,), (16,), (24,), (64,), (72,), (0, 8), (8, 16, 24), (3, 4)]))
    differing = data.draw(st.lists(st.integers(0, max(lengths)), max_size=3))

    def key() -> bytes:
        made = bytearray(data.draw(st.sampled_from(lengths)))
        for at in differing:
            made[at : at + 1] = bytes([data.draw(BYTES)]) if at < len(made) else b""
        return bytes(made)

    rows = [(data.draw(st.sampled_from([0, 1, 2**63])), key()) for _ in range(data.draw(st.integers(0, 12)))]
    locator = np.array([row[0] for row in rows], np.uint64)
    kinds = [pa.binary(), *([pa.binary(lengths[0])] if len(lengths) == 1 and lengths[0] else [])]
    keys = pa.array([b"before", *(row[1] for row in rows)], pa.binary())[1:].cast(data.draw(st.sampled_from(kinds)))
    order, repeats = sort_rows(locator, keys, runs=data.draw(st.booleans()))
    assert order.tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
    ordered = [rows[row] for row in order]
    assert repeats.tolist() == [at > 0 and row == ordered[at - 1] for at, row in enumerate(ordered)]
