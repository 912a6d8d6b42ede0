"""From raw figures to tables: medians, ratios and whether a target is met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import Any, Final

import numpy as np

from lines import Line, Table, Target
from operators import TITLES

OPERATOR_WARM: Final = 2
"""Batches of an operator's query that do not count."""

Record = dict[str, Any]
"""One job as it ran: ``part``, ``provider``, sizes, and its ``figures``."""
Value = Callable[[list[Record]], float]


def _line(records: Iterable[Record], label: str, value: Value, target: Target | None = None) -> Line:
    """Apply ``value`` to the records of each provider."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["provider"], []).append(record)
    return Line(label, {provider: value(group) for provider, group in groups.items()}, target)


def _pooled(records: list[Record], figure: str, skip: int = 0) -> list[float]:
    return [x for record in records for x in record["figures"][figure][skip:]]


def _of(records: list[Record], *parts: str) -> list[Record]:
    return [record for record in records if record["part"] in parts]


def _cases(records: list[Record]) -> Iterator[tuple[str, list[Record]]]:
    for keys, longs in sorted({(r["keys"], r["value_longs"]) for r in records}):
        case = [r for r in records if (r["keys"], r["value_longs"]) == (keys, longs)]
        yield f"{keys:,} keys of 16 bytes, values of {8 + 8 * longs} bytes", case


def _per_row(step: str, size: str) -> Value:
    """Microseconds a row: the median over rounds, by the number of keys or of rows put."""
    return lambda group: median(_pooled(group, step)) / group[0][size] / 1e3


def _spi(records: list[Record]) -> Iterator[Table]:
    get, put, commit = _per_row("get", "keys"), _per_row("put", "rows"), _per_row("commit", "rows")
    for title, case in _cases(_of(records, "rows")):
        lines = [
            _line(case, "get, us/row", get, Target(0.3)),
            _line(case, "put, us/row", put, Target(0.4)),
            _line(case, "commit, us/row put", commit),
            _line(case, "get + put + commit, us/row", lambda g: get(g) + put(g) + commit(g), Target(1.0)),
            _line(case, "iterate, us/row", _per_row("iterate", "keys")),
            _line(case, "getStore, ms", lambda g: median(_pooled(g, "begin")) / 1e6),
            _line(case, "load: put, us/row", lambda g: g[0]["figures"]["load"] / g[0]["keys"] / 1e3),
            _line(case, "load: commit, us/row", lambda g: g[0]["figures"]["load_commit"] / g[0]["keys"] / 1e3),
        ]
        updates = f"{case[0]['rows']:,}"
        yield Table(f"Per row at the SPI: {title}", lines, f"Random order; each version updates {updates} keys.")


def _percentile(step: str, percent: float) -> Value:
    return lambda group: float(np.percentile(_pooled(group, step), percent)) / 1e6


def _commit(records: list[Record]) -> Iterator[Table]:
    found = _of(records, "commits")
    if found:
        lines = [
            _line(found, "commit p50, ms", _percentile("commit", 50)),
            _line(found, "commit p99, ms", _percentile("commit", 99), Target(times={"rocksdb": 1.0, "hdfs": 1.0})),
            _line(found, "whole batch p50, ms", _percentile("batch", 50)),
            _line(found, "whole batch p99, ms", _percentile("batch", 99)),
        ]
        title = f"Commit latency: {found[0]['rows']:,} rows a batch, {found[0]['keys']:,} keys"
        yield Table(title, lines, "Maintenance runs beside the batches, every tenth. Whole batch: getStore to commit.")


def _recovery(records: list[Record]) -> Iterator[Table]:
    found = _of(records, "recover_settled", "recover_plain", "recover_cold")
    if found:
        target = Target(times={"rocksdb": 0.2, "hdfs": 0.2})
        lines = [
            _line(_with(found, "settled"), "after maintenance, s", _seconds("settled"), target),
            _line(_with(found, "plain"), "before any maintenance, s", _seconds("plain"), target),
            _line(_with(found, "cold"), "after maintenance, new JVM and server, s", _seconds("cold")),
            _line(_of(records, "prepare"), "checkpoint, MB", lambda g: g[0]["figures"]["bytes"]["settled"] / 1e6),
        ]
        note = "New provider object to first row read, no local files. The first two: warm JVM, our server running."
        yield Table(f"Cold recovery: {found[0]['keys']:,} keys of 16 bytes, values of 16 bytes", lines, note)


def _with(records: list[Record], figure: str) -> list[Record]:
    return [record for record in records if figure in record["figures"]]


def _seconds(figure: str) -> Value:
    return lambda group: median(record["figures"][figure] for record in group) / 1e9


def _grown(figure: str, size: Callable[[Record], float]) -> Value:
    def value(group: list[Record]) -> float:
        before, after = group[0]["figures"][figure]
        return float((after - before) / size(group[0]))

    return value


def _memory(records: list[Record]) -> Iterator[Table]:
    for title, case in _cases(_of(records, "memory")):
        limit = 2.0 if case[0]["value_longs"] == 1 else 1.3
        resident = _grown("resident", lambda r: r["figures"]["rows"])
        lines = [
            _line(case, "resident, per byte of UnsafeRows", resident, Target(limit)),
            _line(case, "resident, bytes/row", _grown("resident", lambda r: r["keys"])),
            _line(case, "of it in the server, bytes/row", _grown("server", lambda r: r["keys"])),
            _line(case, "JVM heap, bytes/row", _grown("heap", lambda r: r["keys"]), Target(1.0)),
        ]
        note = "Growth over an empty store after a collection: JVM and server, mapped pages counted once."
        yield Table(f"Memory: {title}", lines, note)


def _query(records: list[Record], skip: int) -> Iterator[Table]:
    found = _of(records, "query")
    if found:
        target = Target(times={"rocksdb": 0.4, "hdfs": 0.8})
        lines = [
            _line(found, "batch, s", lambda g: median(_pooled(g, "batch", skip)) / 1e3, target),
            _line(found, "slowest batch, s", lambda g: max(_pooled(g, "batch", skip)) / 1e3),
            _line(found, "state commit, s a partition", lambda g: median(_pooled(g, "commit", skip)) / 2e3),
            _line(found, "JVM and server, peak resident, MB", lambda g: max(r["figures"]["peak"] for r in g) / 1e6),
            _line(found, "checkpoint after the run, MB", lambda g: g[0]["figures"]["state_bytes"] / 1e6),
            _line(found, "checkpoint, MB a batch", lambda g: g[0]["figures"]["state_bytes"] / g[0]["rounds"] / 1e6),
        ]
        floor = _pooled(_of(records, "floor"), "batch", skip)
        note = "Update mode, noop sink, maintenance every 10 s. The same aggregation without state, as a batch job: "
        note += f"{median(floor) / 1e3:.3g} s a batch." if floor else "not measured."
        rows = f"{found[0]['rows']:,}"
        yield Table(
            f"End to end: aggregation, {found[0]['keys']:,} keys, {rows} rows a batch, 2 partitions", lines, note
        )


def _operators(records: list[Record]) -> Iterator[Table]:
    lines = []
    for part, title in TITLES.items():
        if found := _of(records, part):
            label = f"{title} ({found[0]['keys']:,} keys)"
            target = Target(times={"rocksdb": 1.0})
            lines.append(_line(found, label, lambda g: median(_pooled(g, "batch", OPERATOR_WARM)) / 1e3, target))
    if lines:
        yield Table(
            "Operators end to end: a batch with one row a key, 2 partitions", lines, "The last three in Python."
        )


def _s3(records: list[Record]) -> Iterator[Table]:
    found = _of(records, "s3")
    if found:
        partitions = 2

        def each(figure: str) -> Value:
            return lambda g: median(_pooled(g, figure, OPERATOR_WARM)) / partitions

        lines = [
            _line(found, "requests for state, a partition", each("requests"), Target(3.0)),
            _line(found, "of them PUT, a partition", each("puts"), Target(1.0)),
            _line(found, "batch, s", lambda g: median(_pooled(g, "batch", OPERATOR_WARM)) / 1e3),
        ]
        note = "Aggregation, 2 partitions, S3A against moto's server with 20 ms a request."
        yield Table(f"Checkpoint on S3, a batch: {found[0]['keys']:,} keys", lines, note)


def build(records: list[Record], warm_batches: int) -> list[Table]:
    """Make the tables of all the parts that ran.

    Args:
        records: The jobs that succeeded.
        warm_batches: Batches of the streaming query that do not count.
    """
    makers: Final = (_operators, _s3, _spi, _commit, _recovery, _memory)
    return [*_query(records, warm_batches), *(table for maker in makers for table in maker(records))]
