"""From raw figures to tables: a value of each job, its spread over the repetitions, and targets."""

from __future__ import annotations

from typing import Final

from campaigns.bench.lines import Table
from campaigns.bench.plan import Sizes
from campaigns.bench.tables.places import recovery, remote, restart, s3
from campaigns.bench.tables.queries import budget, dedupe, larger, operators, partitions, query, stores
from campaigns.bench.tables.rows import commit, grown, memory, spi
from campaigns.bench.tables.values import Record

_MAKERS: Final = (
    query,
    dedupe,
    partitions,
    stores,
    spi,
    commit,
    grown,
    operators,
    restart,
    recovery,
    remote,
    memory,
    s3,
    larger,
    budget,
)


def build(records: list[Record], sizes: Sizes) -> list[Table]:
    """Make the tables of all the parts that ran."""
    return [table for maker in _MAKERS for table in maker(records, sizes)]
