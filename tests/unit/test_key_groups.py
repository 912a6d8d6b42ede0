"""Flink's formulas against the figures that Flink 2.3 gave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keygroups.errors import SettingError
from keygroups.java_hash import java_hash, pyflink_hash
from keygroups.key_groups import (
    UPPER_BOUND_MAX_PARALLELISM,
    KeyGroupRange,
    assign_key_to_parallel_operator,
    compute_default_max_parallelism,
    compute_key_group_for_key_hash,
    compute_key_group_range_for_operator_index,
    compute_operator_index_for_key_group,
    key_group_prefix_bytes,
    murmur_hash,
    restored_max_parallelism,
)

MURMUR = {
    0: 593689054,
    1: 68075478,
    2: 1085422463,
    42: 1134849565,
    -1: 1982413648,
    -42: 189366624,
    2**31 - 1: 1653689534,
    -(2**31): 1718298732,
    97: 1455541201,
}
BOUNDS = st.integers(1, UPPER_BOUND_MAX_PARALLELISM)


@pytest.mark.parametrize(("code", "hashed"), MURMUR.items())
def test_murmur_hash(code: int, hashed: int) -> None:
    """Row K1."""
    assert murmur_hash(code) == hashed


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (1, 1),
        (-1, 0),
        (1 << 32, 1),
        ("", 0),
        ("a", 97),
        ("😀", 1772899),
        (True, 1231),
        (False, 1237),
        (0.0, 0),
        (-0.0, -(2**31)),
        (1.5, 1073217536),
        ((1, "a"), 128),
    ],
)
def test_java_hash(key: object, code: int) -> None:
    """Row K9."""
    assert java_hash(key) == code


def test_pyflink_hashes_a_row() -> None:
    """Row K9: the same key has another key group there."""
    assert (java_hash(1), pyflink_hash(1)) == (1, 63)
    assert [compute_key_group_for_key_hash(hashed, 128) for hashed in (1, 63)] == [86, 44]


@pytest.mark.parametrize(
    ("max_parallelism", "parallelism", "ranges"),
    [
        (128, 3, [(0, 42), (43, 85), (86, 127)]),
        (10, 4, [(0, 2), (3, 4), (5, 7), (8, 9)]),
        (5, 2, [(0, 2), (3, 4)]),
    ],
)
def test_ranges(max_parallelism: int, parallelism: int, ranges: list[tuple[int, int]]) -> None:
    """Row K4."""
    found = [compute_key_group_range_for_operator_index(max_parallelism, parallelism, i) for i in range(parallelism)]
    assert [(r.start, r.end) for r in found] == ranges


@given(BOUNDS, BOUNDS, st.data())
def test_each_key_group_has_one_owner(a: int, b: int, data: st.DataObject) -> None:
    """Rows K3, K4, K12: ranges and owners agree, and sizes differ by one at most."""
    parallelism, max_parallelism = sorted((a, b))
    key_group = data.draw(st.integers(0, max_parallelism - 1))
    owner = compute_operator_index_for_key_group(max_parallelism, parallelism, key_group)
    owned = compute_key_group_range_for_operator_index(max_parallelism, parallelism, owner)
    assert key_group in owned
    assert len(owned) in (max_parallelism // parallelism, -(-max_parallelism // parallelism))


def test_a_key_goes_to_the_owner_of_its_group() -> None:
    """Rows K2, K3."""
    assert [assign_key_to_parallel_operator(code, 128, 4) for code in (0, 1, 2)] == [
        compute_key_group_for_key_hash(code, 128) * 4 // 128 for code in (0, 1, 2)
    ]


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, 128), (85, 128), (86, 256), (171, 256), (1000, 2048), (10000, 16384), (21846, 32768), (32768, 32768)],
)
def test_default_max_parallelism(parallelism: int, expected: int) -> None:
    """Row K5."""
    assert compute_default_max_parallelism(parallelism) == expected


def test_bounds() -> None:
    """Rows K4, K6: the limits are in, what lies beyond is refused with the number."""
    assert compute_key_group_for_key_hash(1, 1) == 0
    assert compute_key_group_for_key_hash(1, 32768) < 32768
    for wrong in (0, -1, 32769):
        with pytest.raises(SettingError, match=f"expected 1 to 32768, found {wrong}"):
            compute_key_group_for_key_hash(1, wrong)
        with pytest.raises(SettingError, match=f"found {wrong}"):
            compute_default_max_parallelism(wrong)
    with pytest.raises(SettingError, match="expected 4 or less, found 5"):
        compute_key_group_range_for_operator_index(4, 5, 0)
    with pytest.raises(SettingError, match=r"no such subtask .expected 0 to 3, found 4"):
        compute_key_group_range_for_operator_index(128, 4, 4)
    with pytest.raises(SettingError, match=r"no such key group .expected 0 to 127, found 128"):
        compute_operator_index_for_key_group(128, 4, 128)


def test_a_range() -> None:
    """Rows K4, K11."""
    assert list(KeyGroupRange(3, 5)) == [3, 4, 5]
    assert KeyGroupRange(5, 2) == KeyGroupRange(0, -1)
    assert not KeyGroupRange(5, 2)
    assert KeyGroupRange(0, 63).intersection(KeyGroupRange(43, 85)) == KeyGroupRange(43, 63)
    assert not KeyGroupRange(0, 42).intersection(KeyGroupRange(43, 85))
    assert 81 not in KeyGroupRange(0, 63)
    with pytest.raises(SettingError, match="found -1"):
        KeyGroupRange(-1, 5)


def test_it_is_fixed_after_the_first_checkpoint() -> None:
    """Row K7."""
    assert restored_max_parallelism(None, 128, 4) == restored_max_parallelism(128, 128, 4) == 128
    with pytest.raises(SettingError, match="expected 128, found 256"):
        restored_max_parallelism(256, 128, 4)
    with pytest.raises(SettingError, match="expected 128 or less, found 200"):
        restored_max_parallelism(None, 128, 200)


def test_prefix_bytes() -> None:
    """Row K8."""
    assert [key_group_prefix_bytes(n) for n in (1, 128, 129, 32768)] == [1, 1, 2, 2]


@pytest.mark.parametrize("key", [None, b"bytes", [1], (), (1, None), 1 << 63])
def test_what_is_no_key(key: object) -> None:
    """Rows K2, K9."""
    with pytest.raises(SettingError, match="key"):
        java_hash(key)
