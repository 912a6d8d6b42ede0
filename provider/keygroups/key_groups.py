"""Flink's key groups: which group and which subtask a key belongs to, by Flink's own formulas.

For users who must agree with a Flink job, such as one that reads the same partitions. Keygroups itself assigns rows by
Spark's hash (ARCHITECTURE.md, "Terms"): the two do not give the same groups.

Source: ``KeyGroupRangeAssignment``, ``KeyGroupRange`` and ``MathUtils`` of Flink 2.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from keygroups.errors import SettingError

UPPER_BOUND_MAX_PARALLELISM: Final = 1 << 15
"""The greatest number of key groups; the smallest is 1."""

DEFAULT_LOWER_BOUND_MAX_PARALLELISM: Final = 1 << 7
"""The smallest number of key groups that Flink chooses by itself."""

_MASK: Final = 0xFFFFFFFF


@dataclass(frozen=True)
class KeyGroupRange:
    """Consecutive key groups, both ends included. A range whose end lies before its start is empty.

    Args:
        start: First key group.
        end: Last key group.

    Raises:
        SettingError: The range is not empty and starts below 0.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        """Check the start; all empty ranges become the same one."""
        if self.start > self.end:
            object.__setattr__(self, "start", 0)
            object.__setattr__(self, "end", -1)
        elif self.start < 0:
            raise SettingError("a key group range starts below 0", expected="0 or more", found=self.start)

    def __len__(self) -> int:
        """Give the number of key groups."""
        return self.end - self.start + 1

    def __iter__(self) -> Iterator[int]:
        """Walk the key groups in their order."""
        return iter(range(self.start, self.end + 1))

    def __contains__(self, key_group: object) -> bool:
        """Tell whether a key group lies in the range."""
        return isinstance(key_group, int) and self.start <= key_group <= self.end

    def intersection(self, other: KeyGroupRange) -> KeyGroupRange:
        """Give the key groups that both ranges have: what a subtask reads of an older one's state."""
        return KeyGroupRange(max(self.start, other.start), min(self.end, other.end))


def murmur_hash(code: int) -> int:
    """Spread a hash code: MurmurHash3 of its four bytes with seed 0, as a number of 0 or more.

    Args:
        code: What Java's ``hashCode`` gives, as ``java_hash`` does; its low 32 bits count.
    """
    k = code & _MASK
    k = k * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = (_rotated(k, 13) * 5 + 0xE6546B64 & _MASK) ^ 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    signed = h - (1 << 32) if h >> 31 else h
    return 0 if signed == -1 << 31 else abs(signed)


def compute_key_group_for_key_hash(key_hash: int, max_parallelism: int) -> int:
    """Give the key group of a key by its hash code.

    Raises:
        SettingError: The maximum parallelism is out of bounds.
    """
    check_max_parallelism(max_parallelism)
    return murmur_hash(key_hash) % max_parallelism


def compute_operator_index_for_key_group(max_parallelism: int, parallelism: int, key_group: int) -> int:
    """Give the subtask that owns a key group.

    Raises:
        SettingError: A parallelism or the key group is out of bounds.
    """
    _check_both(max_parallelism, parallelism)
    _check_index("key group", key_group, max_parallelism)
    return key_group * parallelism // max_parallelism


def assign_key_to_parallel_operator(key_hash: int, max_parallelism: int, parallelism: int) -> int:
    """Give the subtask that owns a key, by the key's hash code.

    Raises:
        SettingError: A parallelism is out of bounds.
    """
    key_group = compute_key_group_for_key_hash(key_hash, max_parallelism)
    return compute_operator_index_for_key_group(max_parallelism, parallelism, key_group)


def compute_key_group_range_for_operator_index(max_parallelism: int, parallelism: int, index: int) -> KeyGroupRange:
    """Give the key groups of a subtask. Their numbers differ by one at most, and none is 0.

    Raises:
        SettingError: A parallelism or the index is out of bounds.
    """
    _check_both(max_parallelism, parallelism)
    _check_index("subtask", index, parallelism)
    start = (index * max_parallelism + parallelism - 1) // parallelism
    return KeyGroupRange(start, ((index + 1) * max_parallelism - 1) // parallelism)


def compute_default_max_parallelism(parallelism: int) -> int:
    """Give the number of key groups that Flink chooses where the job sets none.

    Raises:
        SettingError: The parallelism is not within 1 and 32,768.
    """
    _check_bounds("parallelism", parallelism)
    rounded = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(rounded, DEFAULT_LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)


def check_max_parallelism(max_parallelism: int) -> None:
    """Refuse a number of key groups that Flink refuses.

    Raises:
        SettingError: It is not within 1 and 32,768.
    """
    _check_bounds("maximum parallelism", max_parallelism)


def restored_max_parallelism(configured: int | None, restored: int, parallelism: int) -> int:
    """Give the number of key groups with which a job goes on from a checkpoint. It never changes after the first one.

    Args:
        configured: What the job sets, or None.
        restored: What the checkpoint has.
        parallelism: Subtasks of the job.

    Raises:
        SettingError: The job sets another number than the checkpoint has, or has more subtasks than key groups.
    """
    if configured not in (None, restored):
        raise SettingError(
            "the maximum parallelism of a checkpoint cannot change",
            expected=restored,
            found=configured,
            fix=f"set it to {restored}, or leave it unset to take over what the checkpoint has",
        )
    _check_both(restored, parallelism)
    return restored


def key_group_prefix_bytes(max_parallelism: int) -> int:
    """Give the bytes by which Flink's RocksDB backend prefixes a key, in big-endian order: 1 or 2."""
    check_max_parallelism(max_parallelism)
    return 1 if max_parallelism <= 1 << 7 else 2


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK


def _check_both(max_parallelism: int, parallelism: int) -> None:
    check_max_parallelism(max_parallelism)
    _check_bounds("parallelism", parallelism)
    if parallelism > max_parallelism:
        raise SettingError(
            "the parallelism is greater than the maximum parallelism",
            expected=f"{max_parallelism} or less",
            found=parallelism,
            fix="lower the parallelism: each subtask needs a key group of its own",
        )


def _check_bounds(what: str, value: int) -> None:
    if not 1 <= value <= UPPER_BOUND_MAX_PARALLELISM:
        raise SettingError(f"the {what} is out of bounds", expected="1 to 32768", found=value)


def _check_index(what: str, value: int, count: int) -> None:
    if not 0 <= value < count:
        raise SettingError(f"there is no such {what}", expected=f"0 to {count - 1}", found=value)
