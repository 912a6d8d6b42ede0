"""The comparison sees every difference and nothing else."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from support.rows import difference, normal, normal_rows

NAMES = ("ours", "theirs")
ROWS = [Row(key=Row(a=1, b=None), value=[1.5, math.nan]), Row(key=Row(a=2, b="x"), value=None)]


def test_order_does_not_matter() -> None:
    assert difference({"batch 1": normal_rows(ROWS)}, {"batch 1": normal_rows(ROWS[::-1])}, NAMES) == ""


def test_a_wrong_row_is_shown_on_both_sides() -> None:
    wrong = [ROWS[0], Row(key=Row(a=2, b="y"), value=None)]
    text = difference({"batch 1": normal_rows(ROWS)}, {"batch 1": normal_rows(wrong)}, NAMES)
    assert text == (
        "batch 1:\n  only in ours: 1 rows\n    ((2, 'x'), None)\n  only in theirs: 1 rows\n    ((2, 'y'), None)"
    )


def test_a_row_too_often_is_shown() -> None:
    text = difference({"batch 1": normal_rows(ROWS)}, {"batch 1": normal_rows([*ROWS, ROWS[1]])}, NAMES)
    assert text == "batch 1:\n  only in theirs: 1 rows\n    ((2, 'x'), None)"


def test_a_missing_batch_is_shown() -> None:
    assert difference({"batch 1": []}, {"batch 1": [], "batch 2": []}, NAMES) == "batch 2: missing in ours"


def test_a_long_difference_is_cut() -> None:
    left = {f"batch {number}": normal_rows([Row(a=number)] * 50) for number in range(9)}
    lines = difference(left, {label: [] for label in left}, NAMES).splitlines()
    assert len(lines) == 4 * 7 + 1
    assert lines[-1] == "... and 5 more: batch 4, batch 5, batch 6, batch 7, batch 8"


@pytest.mark.parametrize(
    ("left", "right"),
    [(0.0, -0.0), (None, ""), (Decimal("1.0"), Decimal("1.1")), ([], None), ([None], []), (bytearray(b"a"), b"b")],
)
def test_different_values_differ(left: object, right: object) -> None:
    assert normal(left) != normal(right)


def test_nan_is_equal_to_nan() -> None:
    assert normal([float("nan"), math.inf]) == normal([math.nan, math.inf])


def test_maps_have_no_order() -> None:
    assert normal({"a": 1, "b": [2]}) == normal({"b": [2], "a": 1})


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(TypeError, match="a row holds set"):
        normal({1})


VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.floats() | st.booleans() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=6), st.randoms(use_true_random=False))
def test_any_rows_equal_themselves_in_any_order(values: list[object], rng: object) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert normal_rows(values) == normal_rows(shuffled)
