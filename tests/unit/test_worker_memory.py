"""Memory of a Python worker."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from keygroups.streams.memory import OBJECTS, few_collections


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("given", "meanwhile"), [((700, 10, 10), OBJECTS), ((OBJECTS + 1, 5, 5), OBJECTS + 1), ((0, 10, 10), 0)]
)
def test_collections_are_few_for_a_while(given: tuple[int, int, int], meanwhile: int) -> None:
    """Not more than the worker's user wants, and none where there were none."""
    gc.set_threshold(*given)
    with few_collections():
        assert gc.get_threshold() == (meanwhile, *given[1:])
    assert gc.get_threshold() == given
