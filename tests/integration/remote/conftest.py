"""Servers and the rows that queries must give; each is made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.remote.jobs import Rows, undisturbed, write_input
from integration.remote.queries import QUERIES
from servers.s3 import S3, Kind, s3

BATCHES = 6
EACH_QUERY = pytest.mark.parametrize(
    "queries", [("aggregation",), pytest.param(tuple(QUERIES), id="all", marks=pytest.mark.slow)], ids="-".join
)
"""One query every day, on S3: three take a minute more, and HDFS a minute and a half."""


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input files."""
    folder = tmp_path_factory.mktemp("source")
    write_input(folder, range(BATCHES))
    return folder


class Undisturbed(Rows):
    """What each query gives on Spark's RocksDB provider and a local disk, undisturbed: it runs when it is asked for."""

    def __init__(self, folder: Path, source: Path) -> None:
        self._folder, self._source = folder, source

    def __missing__(self, query: str) -> dict[int, list[Any]]:
        return self.setdefault(query, undisturbed(self._folder / query, self._source, [query])[query])


@pytest.fixture(scope="session")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What the queries must give."""
    return Undisturbed(tmp_path_factory.mktemp("expected"), source)


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[S3]:
    """An S3 server with an empty bucket, of the kind that ``--s3`` names."""
    kind: Kind = request.config.getoption("--s3")
    (tmp_path / "server").mkdir()
    with s3(tmp_path / "server", kind) as running:
        yield running
