"""Fixtures of all tests: the Spark session, the wheel, the cases of the differential suite; each is made once."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from keygroups.configure import jars
from support.case import Case
from support.engine import Outcome, run_case
from support.outside import build_wheel
from support.scala_classes import compile_classes
from support.spark import PROVIDERS, build_session

settings.register_profile("everyday", derandomize=True, deadline=None)  # speed is measured by ``make bench``
settings.register_profile("random", deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """A change is judged by the same examples each time; ``make test-all`` draws others."""
    settings.load_profile("everyday" if config.option.markexpr == "not slow" else "random")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("keygroups", "the differential suite")
    pair = os.environ.get("KEYGROUPS_PAIR", "keygroups,hdfs")
    seed = os.environ.get("KEYGROUPS_SEED", "1")
    group.addoption("--pair", default=pair, help=f"providers to compare, two or more of {','.join(PROVIDERS)}")
    group.addoption("--seed", default=seed, type=int, help="seed of the input")
    servers = "S3 server of the tests: moto comes from PyPI, versitygw is built with Go, which has to be installed"
    group.addoption("--s3", default="moto", choices=["moto", "versitygw"], help=servers)


@pytest.fixture(scope="session", autouse=True)
def _temporary_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary folders go with the session, whoever makes them."""
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path_factory.mktemp("temporary"))
    yield
    tempfile.tempdir = before


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on local[2] that knows our jar and the Scala classes of the tests."""
    classes = compile_classes(request.config.cache.mkdir("scala"))
    session = build_session(classes, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def pair(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Short names of the providers that the differential suite compares."""
    names = tuple(request.config.getoption("--pair").split(","))
    if unknown := set(names) - set(PROVIDERS):
        raise pytest.UsageError(f"--pair: unknown provider {', '.join(sorted(unknown))}; use {', '.join(PROVIDERS)}")
    if "keygroups" in names and not jars():
        raise pytest.UsageError(
            "the jar of our provider is missing: run `make jar`, or compare others with --pair hdfs,rocksdb"
        )
    return names


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of the input of the differential suite."""
    return int(request.config.getoption("--seed"))


@pytest.fixture
def any_seed(request: pytest.FixtureRequest) -> int:
    """Seed of random moments, another one in each run; ``--seed`` repeats it."""
    given = int(request.config.getoption("--seed"))
    chosen = random.randrange(1 << 30) if given == 1 else given
    print(f"--seed {chosen}")
    return chosen


@pytest.fixture(scope="session")
def outcome(
    spark: SparkSession, pair: tuple[str, ...], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Case], Outcome]:
    """Runs a case at its first use in the session."""
    known: dict[str, Outcome] = {}

    def run(case: Case) -> Outcome:
        if case.name not in known:
            known[case.name] = run_case(spark, case, pair, seed, tmp_path_factory.mktemp("case"))
        return known[case.name]

    return run
