"""A cluster, an interpreter for its executors, and the rows that queries must give; each is made once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.environment import borrowed, build_wheel
from cluster.standalone import Cluster, standalone
from remote.jobs import Job, Rows, write_input

BATCHES = 8


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input files."""
    folder = tmp_path_factory.mktemp("source")
    write_input(folder, range(BATCHES))
    return folder


@pytest.fixture(scope="session")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What Spark's RocksDB provider gives in one process, undisturbed."""
    folder = tmp_path_factory.mktemp("expected")
    queries = ["aggregation", "join"]
    return Job(folder, source, str(folder / "checkpoint"), provider="rocksdb", queries=queries).run()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


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
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Moments of faults; ``--seed`` repeats them."""
    seed = request.config.getoption("--seed")
    seed = random.randrange(1 << 30) if seed == 1 else seed
    print(f"--seed {seed}")
    return random.Random(seed)
