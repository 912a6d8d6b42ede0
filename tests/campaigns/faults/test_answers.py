"""What support.answers takes for right, and what not."""

from __future__ import annotations

import pytest

from support.answers import Batches, same_answers

EXPECTED: Batches = {0: [["a", 1], ["b", 1]], 1: [["a", 2], ["c", 1]], 2: [["b", 2]]}


def test_one_file_a_batch() -> None:
    assert same_answers(EXPECTED, EXPECTED)


def test_a_batch_of_two_files() -> None:
    assert same_answers({0: [["a", 1], ["b", 1]], 1: [["c", 1], ["b", 2], ["a", 2]]}, EXPECTED)


@pytest.mark.parametrize(
    "found",
    [
        EXPECTED | {1: [["a", 2], ["a", 2], ["c", 1]]},
        EXPECTED | {1: [["a", 2], ["b", 1], ["c", 1]]},
        EXPECTED | {1: [["a", 2]]},
        EXPECTED | {1: [["a", 1], ["c", 1]]},
        EXPECTED | {3: [["b", 2]]},
        {0: EXPECTED[0], 1: EXPECTED[1]},
        {0: EXPECTED[0], 2: EXPECTED[1], 3: EXPECTED[2]},
    ],
    ids=[
        "a row twice",
        "a needless row",
        "a missing row",
        "an old value",
        "a batch too many",
        "a missing batch",
        "a gap",
    ],
)
def test_what_is_wrong(found: Batches) -> None:
    assert not same_answers(found, EXPECTED)
