"""A cluster, an interpreter for its executors, and the rows that queries must give; each is made once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.cluster.environment import borrowed
from integration.cluster.jobs import counts
from integration.cluster.standalone import Cluster, standalone
from integration.remote.jobs import undisturbed, write_input

BATCHES = 7


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input files."""
    folder = tmp_path_factory.mktemp("source")
    write_input(folder, range(BATCHES))
    return folder


@pytest.fixture(scope="session")
def expected(source: Path) -> dict[int, list[list[object]]]:
    """What the aggregation must give."""
    return counts(source)


@pytest.fixture(scope="session")
def joined(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Any]]:
    """What the join gives with Spark's RocksDB provider in one process, undisturbed."""
    return undisturbed(tmp_path_factory.mktemp("expected"), source, ["join"])["join"]


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the wheel, as an administrator installs it on every machine."""
    return borrowed(tmp_path_factory.mktemp("installed") / "environment", wheel)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for tests that leave its workers alone."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster for a test that harms its workers."""
    (tmp_path / "cluster").mkdir()
    with standalone(tmp_path / "cluster") as running:
        yield running


@pytest.fixture
def rng(any_seed: int) -> random.Random:
    """Moments of faults."""
    return random.Random(any_seed)
