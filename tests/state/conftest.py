"""The states' tests run three times: in the harness, in memory, and over the files of a store."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from keygroups.testing import KeyedHarness
from state.in_memory import MemoryHarness
from state.on_files import FileHarness
from state.probe import HARNESS

THRICE = {"test_pickled", "test_states", "test_ttl"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise the modules of ``THRICE``."""
    if metafunc.module.__name__.rpartition(".")[2] in THRICE:
        metafunc.parametrize(
            "harness", [KeyedHarness, MemoryHarness, FileHarness], ids=["harness", "memory", "files"], indirect=True
        )


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is that of Berlin, whose clocks went back at three o'clock on 25 October 2026."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(autouse=True)
def harness(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a ``Probed`` of the test runs in."""
    token = HARNESS.set(getattr(request, "param", KeyedHarness))
    yield
    HARNESS.reset(token)
