"""What a store costs: rows at Spark's interface, commits, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from campaigns.bench.lines import Table, Target
from campaigns.bench.plan import Sizes
from campaigns.bench.tables.values import (
    BOTH,
    Record,
    Value,
    between,
    cases,
    each,
    line,
    per_row,
    percentile,
    records_of,
    times,
)

_BESIDE_A_MERGE: Final = "commit p99 during a merge of all rows compared with none"


def spi(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    get, put, commit = per_row("get", "gets"), per_row("put", "rows"), per_row("commit", "rows")

    def whole(record: Record) -> float:
        return get(record) + put(record) + commit(record)

    for title, case in cases(records_of(records, "rows")):
        keys, value = f"{case[0]['keys']:,} keys", f"values of {8 + 8 * case[0]['value_longs']} bytes"
        rows, single = f"{case[0]['rows']:,} rows", case[0]["value_longs"] == 1 and not case[0]["gets"]
        commit_name = f"commit of {rows}, per row" if single else ""
        lines = [
            line(case, "get, us/row", get, Target(0.3)),
            line(case, "put, us/row", put, Target(0.4)),
            line(case, "commit, us/row put", commit, None, commit_name),
            line(case, "get + put + commit, us/row", whole, Target(1.0), f"get + put + commit, {keys}, {value}"),
            line(case, "iterate, us/row", per_row("iterate", "keys")),
            line(case, "getStore, ms", each("begin", 1e6)),
            line(case, "load: put, us/row", lambda r: r["figures"]["load"] / r["keys"] / 1e3),
            line(case, "load: commit, us/row", lambda r: r["figures"]["load_commit"] / r["keys"] / 1e3),
        ]
        yield Table(f"A row at the SPI: {title}", lines, f"{rows} are put a round.")


def commit(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "commits", group="commit"):
        rows = f"commit of {found[0]['rows']:,} rows"
        lines = [
            line(found, "commit p50, ms", percentile("commit", 50)),
            line(found, "commit p99, ms", percentile("commit", 99), times(1.0, *BOTH), f"{rows}: p99"),
            line(found, "whole batch p50, ms", percentile("batch", 50)),
            line(found, "whole batch p99, ms", percentile("batch", 99)),
        ]
        title = f"Commit latency: {found[0]['rows']:,} rows a batch, {found[0]['keys']:,} keys"
        yield Table(title, lines, "Maintenance runs beside the batches, every tenth. Whole batch: getStore to commit.")


def grown(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "commits", group="grown"):
        lines = []
        for keys in sorted({record["keys"] for record in found}):
            case = [r for r in found if r["keys"] == keys]
            lines += [
                line(case, f"{keys:,} keys: commit p50, ms", percentile("commit", 50)),
                line(case, f"{keys:,} keys: commit p99, ms", percentile("commit", 99)),
                line(case, f"{keys:,} keys: whole batch p50, ms", percentile("batch", 50)),
            ]
        least, most = (f([r["keys"] for r in found]) for f in (min, max))
        p50 = percentile("commit", 50)
        large, small = ([p50(r) for r in found if r["keys"] == keys] for keys in (most, least))
        lines.append(between(f"commit p50 with {most:,} keys compared with {least:,} keys", large, small, 1.5))
        if case := records_of(records, "merging"):
            p99, merging, keys = percentile("commit", 99), percentile("merging", 99), f"{case[0]['keys']:,} keys"
            lines += [
                line(case, f"{keys}, nothing merged: commit p99, ms", p99),
                line(case, f"{keys}, all of the state merged beside: commit p99, ms", merging),
                between(f"{_BESIDE_A_MERGE}, {keys}", [*map(merging, case)], [*map(p99, case)], 2.0),
            ]
        title = f"Commit latency as the state grows: {found[0]['rows']:,} rows a batch"
        yield Table(title, lines, "Maintenance runs beside the batches, every tenth. Keygroups alone.")


def memory(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    def growth(figure: str, size: Callable[[Record], float]) -> Value:
        return lambda r: (r["figures"][figure][1] - r["figures"][figure][0]) / size(r)

    for title, case in cases(records_of(records, "memory")):
        limit = 2.0 if case[0]["value_longs"] == 1 else 1.3
        bytes_of_rows = growth("resident", lambda r: r["figures"]["rows"])
        headline = f"resident memory per byte of keys and values: {title}"
        lines = [
            line(case, "resident, per byte of UnsafeRows, bytes", bytes_of_rows, Target(limit), headline),
            line(case, "resident, bytes/row", growth("resident", lambda r: r["keys"])),
            line(case, "of it in the store process, bytes/row", growth("server", lambda r: r["keys"])),
            line(case, "JVM heap, bytes/row", growth("heap", lambda r: r["keys"]), Target(1.0)),
        ]
        note = "Growth over an empty store after a collection: JVM and store process, mapped pages counted once. "
        note += "RocksDB with Spark's block cache of 8 MB."
        yield Table(f"Memory: {title}", lines, note)
