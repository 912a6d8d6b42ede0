"""From raw figures to tables: a value of each job, its spread over the repetitions, and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import fmean, median
from typing import Any, Final

import numpy as np

from lines import Line, Spread, Table, Target
from operators import TITLES
from plan import Sizes
from providers import OURS

Record = dict[str, Any]
"""One job as it ran: ``group``, ``part``, ``provider``, sizes, and its ``figures``."""
Value = Callable[[Record], float]
_BOTH: Final = ("rocksdb", "hdfs")
_REMOTE_SECONDS: Final = 2.0


def _line(records: Iterable[Record], name: str, value: Value, target: Target | None = None, headline: str = "") -> Line:
    """Apply ``value`` to each record; ``name`` is the label and, after the last comma, the unit."""
    groups: dict[str, list[float]] = {}
    for record in records:
        groups.setdefault(record["provider"], []).append(value(record))
    label, unit = name.rsplit(", ", 1)
    return Line(label, unit, {name: Spread.of(values) for name, values in groups.items()}, target, headline)


def _times(limit: float, *families: str) -> Target:
    return Target(times=dict.fromkeys(families, limit))


def _of(records: list[Record], *parts: str, group: str = "", variant: str = "") -> list[Record]:
    wanted = {name: value for name, value in (("group", group), ("variant", variant)) if value}
    return [r for r in records if r["part"] in parts and all(r[name] == value for name, value in wanted.items())]


def _cases(records: list[Record]) -> Iterator[tuple[str, list[Record]]]:
    for keys, longs in sorted({(r["keys"], r["value_longs"]) for r in records}):
        case = [r for r in records if (r["keys"], r["value_longs"]) == (keys, longs)]
        yield f"{keys:,} keys of 16 bytes, values of {8 + 8 * longs} bytes", case


def _each(figure: str, scale: float = 1.0, skip: int = 0) -> Value:
    """The median over rounds or batches."""
    return lambda record: median(record["figures"][figure][skip:]) / scale


def _once(figure: str, scale: float) -> Value:
    return lambda record: record["figures"][figure] / scale


def _above(value: Value, empty: list[Record]) -> Value:
    """What a record has above the same query on a provider that keeps nothing."""
    floor = median(map(value, empty))
    return lambda record: value(record) - floor


def _per_row(step: str, size: str) -> Value:
    """Microseconds a row: the median over rounds, by the number of keys read or of rows put."""
    return lambda record: median(record["figures"][step]) / (record[size] or record["keys"]) / 1e3


def _spi(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    get, put, commit = _per_row("get", "gets"), _per_row("put", "rows"), _per_row("commit", "rows")

    def whole(record: Record) -> float:
        return get(record) + put(record) + commit(record)

    for title, case in _cases(_of(records, "rows")):
        keys, value = f"{case[0]['keys']:,} keys", f"values of {8 + 8 * case[0]['value_longs']} bytes"
        rows, single = f"{case[0]['rows']:,} rows", case[0]["value_longs"] == 1 and not case[0]["gets"]
        lines = [
            _line(case, "get, us/row", get, Target(0.3), f"get, {keys}" if single else ""),
            _line(case, "put, us/row", put, Target(0.4), f"put, {keys}" if single else ""),
            _line(case, "commit, us/row put", commit, None, f"commit of {rows}, a row" if single else ""),
            _line(case, "get + put + commit, us/row", whole, Target(1.0), f"get + put + commit, {keys}, {value}"),
            _line(case, "iterate, us/row", _per_row("iterate", "keys")),
            _line(case, "getStore, ms", _each("begin", 1e6)),
            _line(case, "load: put, us/row", lambda r: r["figures"]["load"] / r["keys"] / 1e3),
            _line(case, "load: commit, us/row", lambda r: r["figures"]["load_commit"] / r["keys"] / 1e3),
        ]
        yield Table(f"A row at the SPI: {title}", lines, f"{rows} are put a round.")


def _percentile(step: str, percent: int) -> Value:
    return lambda record: float(np.percentile(record["figures"][step], percent)) / 1e6


def _commit(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "commits", group="commit"):
        rows = f"commit of {found[0]['rows']:,} rows"
        lines = [
            _line(found, "commit p50, ms", _percentile("commit", 50), headline=f"{rows}: p50"),
            _line(found, "commit p99, ms", _percentile("commit", 99), _times(1.0, *_BOTH), f"{rows}: p99"),
            _line(found, "whole batch p50, ms", _percentile("batch", 50)),
            _line(found, "whole batch p99, ms", _percentile("batch", 99)),
        ]
        title = f"Commit latency: {found[0]['rows']:,} rows a batch, {found[0]['keys']:,} keys"
        yield Table(title, lines, "Maintenance runs beside the batches, every tenth. Whole batch: getStore to commit.")


def _between(name: str, above: list[float], below: list[float], limit: float) -> Line:
    """How many times one figure of ours is another, run by run."""
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    return Line(name, "times", {OURS: Spread.of(ratios)}, Target(limit), name)


def _grown(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "commits", group="grown"):
        lines = []
        for keys in sorted({record["keys"] for record in found}):
            case, rows = (
                [r for r in found if r["keys"] == keys],
                f"commit of {found[0]['rows']:,} rows into {keys:,} keys",
            )
            lines += [
                _line(case, f"{keys:,} keys: commit p50, ms", _percentile("commit", 50), headline=f"{rows}: p50"),
                _line(case, f"{keys:,} keys: commit p99, ms", _percentile("commit", 99)),
                _line(case, f"{keys:,} keys: whole batch p50, ms", _percentile("batch", 50)),
            ]
        least, most = (f([r["keys"] for r in found]) for f in (min, max))
        p50 = _percentile("commit", 50)
        large, small = ([p50(r) for r in found if r["keys"] == keys] for keys in (most, least))
        lines.append(_between(f"commit p50, {most:,} keys by {least:,} keys", large, small, 1.5))
        if case := _of(records, "merging"):
            p99, merging, keys = _percentile("commit", 99), _percentile("merging", 99), f"{case[0]['keys']:,} keys"
            lines += [
                _line(case, f"{keys}, nothing merged: commit p99, ms", p99),
                _line(case, f"{keys}, all of the state merged beside: commit p99, ms", merging),
                _between(f"commit p99 by that without a merge, {keys}", [*map(merging, case)], [*map(p99, case)], 2.0),
            ]
        title = f"Commit latency as the state grows: {found[0]['rows']:,} rows a batch"
        yield Table(title, lines, "Maintenance runs beside the batches, every tenth. Keygroups alone.")


def _recovery(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "recover"):
        target, keys = _times(0.2, *_BOTH), f"{found[0]['keys']:,} keys in a running executor"
        settled, plain = _once("settled", 1e9), _once("plain", 1e9)
        lines = [
            _line(found, "after maintenance, s", settled, target, f"recovery of {keys}: just after a snapshot"),
            _line(found, "before any maintenance, s", plain, target, f"recovery of {keys}: no snapshot yet"),
            _line(_of(records, "prepare"), "checkpoint, MB", lambda r: r["figures"]["bytes"]["settled"] / 1e6),
        ]
        note = "New provider object to first row read. No local files; warm JVM and page cache, store process running."
        yield Table(f"Recovery in a running executor: {found[0]['keys']:,} keys", lines, note)


def _remote(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    found = _of(records, "first_batch")
    lines = []
    for keys in sorted({record["keys"] for record in found}):
        case = [record for record in found if record["keys"] == keys]
        limit = _REMOTE_SECONDS if keys == found[0]["keys"] else 2 * _REMOTE_SECONDS
        headline = f"first batch of {found[0]['rows']:,} rows from {keys:,} keys on S3"
        lines.append(
            _line(case, f"{keys:,} keys, s", lambda r: sum(r["figures"].values()) / 1e9, Target(limit), headline)
        )
        lines.append(_line(case, f"{keys:,} keys: of it commit, s", _once("commit", 1e9)))
    if lines:
        note = "New provider object to the end of the commit; no local files, a warm JVM, store process running. "
        note += "moto's server with 20 ms a request; the peers write with Spark's abortable file manager."
        yield Table("Recovery from S3 in a running executor: a first batch", lines, note)


def _restart(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    titles = {"local": "local disk", "hdfs": "HDFS", "s3": "S3"}
    found = _of(records, "restart")
    lines = []
    for variant, title in titles.items():
        if of_place := _of(found, "restart", variant=variant):
            headline = f"restart with {of_place[0]['keys']:,} keys on {title}: to the end of the first batch"
            query, process = _once("query", 1e3), _once("process", 1e3)
            lines.append(_line(of_place, f"{title}: from the query's start, s", query, headline=headline))
            lines.append(_line(of_place, f"{title}: from the process's start, s", process))
    if lines:
        dropped = ", ".join(sorted({r["page_cache"] for r in found}))
        note = "A new JVM, and for us a new store process; aggregation, 2 partitions. "
        note += f"Dropped from the page cache before each start: {dropped}."
        title = f"Restart: {found[0]['keys']:,} keys, to the end of a first batch of {found[0]['rows']:,} rows"
        yield Table(title, lines, note)


def _memory(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    def grown(figure: str, size: Callable[[Record], float]) -> Value:
        return lambda r: (r["figures"][figure][1] - r["figures"][figure][0]) / size(r)

    for title, case in _cases(_of(records, "memory")):
        limit = 2.0 if case[0]["value_longs"] == 1 else 1.3
        bytes_of_rows = grown("resident", lambda r: r["figures"]["rows"])
        headline = f"memory of {title}: JVM and store process, a byte of keys and values"
        lines = [
            _line(case, "resident, per byte of UnsafeRows, bytes", bytes_of_rows, Target(limit), headline),
            _line(case, "resident, bytes/row", grown("resident", lambda r: r["keys"])),
            _line(case, "of it in the store process, bytes/row", grown("server", lambda r: r["keys"])),
            _line(case, "JVM heap, bytes/row", grown("heap", lambda r: r["keys"]), Target(1.0)),
        ]
        note = "Growth over an empty store after a collection: JVM and store process, mapped pages counted once. "
        note += "RocksDB with Spark's block cache of 8 MB."
        yield Table(f"Memory: {title}", lines, note)


def _query(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "query", group="e2e"):
        skip = sizes.query_warm_batches
        what = f"aggregation, {found[0]['keys']:,} keys, {found[0]['rows']:,} rows a batch, 2 partitions"
        bytes_a_batch = _once("state_bytes", 1e6 * found[0]["rounds"])
        lines = [
            _line(found, "batch, s", _each("batch", 1e3, skip), Target(times={"rocksdb": 0.33, "hdfs": 0.54}), what),
            _line(found, "slowest batch, s", lambda r: max(r["figures"]["batch"][skip:]) / 1e3),
            _line(found, "state commit a partition, s", _each("commit", 2e3, skip)),
            _line(found, "JVM and store process, peak resident, MB", _once("peak", 1e6)),
            _line(found, "checkpoint after the run, MB", _once("state_bytes", 1e6)),
            _line(
                found,
                "checkpoint a batch, MB",
                bytes_a_batch,
                _times(1.0, *_BOTH),
                "checkpoint of a batch of the first row",
            ),
        ]
        batch, empty = _each("batch", 1e3, skip), _of(records, "query_empty", group="e2e")
        note = "Update mode, noop sink, maintenance every 10 s. On a provider that keeps nothing: "
        note += f"{median(map(batch, empty)):.3g} s a batch." if empty else "not measured."
        if empty:
            lines.insert(1, _line(found, "above a provider that keeps nothing, s", _above(batch, empty)))
        yield Table(f"End to end: {what}", lines, note)


def _dedupe(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "dedupe"):
        what = f"deduplication, {found[0]['rows']:,} new keys a batch, 2 partitions"
        batch = _each("batch", 1e3, sizes.query_warm_batches)
        bytes_a_batch = _once("state_bytes", 1e6 * found[0]["rounds"])
        lines = [
            _line(found, "batch, s", batch, headline=what),
            _line(
                found, "checkpoint a batch, MB", bytes_a_batch, _times(1.0, *_BOTH), f"checkpoint of a batch: {what}"
            ),
        ]
        note = "Append mode, noop sink; ids of 16 random hexadecimal digits."
        yield Table(f"End to end: {what}", lines, note)


def _partitions(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "query", group="partitions"):
        what = f"{found[0]['keys']:,} keys, {found[0]['rows']:,} rows a batch, {sizes.spread_partitions} partitions"
        batch = _each("batch", 1e3, sizes.spread_warm_batches)
        lines = [
            _line(found, "batch, s", batch, _times(0.35, *_BOTH), f"aggregation, {what}"),
            _line(found, "slowest batch, s", lambda r: max(r["figures"]["batch"][sizes.spread_warm_batches :]) / 1e3),
            _line(found, "JVM and store process, peak resident, MB", _once("peak", 1e6)),
        ]
        empty = _of(records, "query_empty", group="partitions")
        note = f"Like the one before; tasks run two at a time, and {sizes.spread_warm_batches} batches warm up. "
        note += "On a provider that keeps nothing: "
        note += f"{median(map(batch, empty)):.3g} s a batch." if empty else "not measured."
        yield Table(f"End to end: aggregation, {what}", lines, note)


def _stores(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := _of(records, "stores"):
        what = f"{sizes.stores:,} stores in one executor"
        lines = [
            _line(found, "batch after the first, s", _each("batch", 1e3, 1), headline=f"aggregation, {what}"),
            _line(found, "JVM and store process, peak resident, MB", _once("peak", 1e6)),
            _line(found, "memory mappings, count", _once("mappings", 1)),
            _line(found, "open files, count", _once("files", 1)),
            _line(found, "threads, count", _once("threads", 1)),
        ]
        note = f"Aggregation, {found[0]['keys']:,} keys, {found[0]['rows']:,} rows a batch; a task for each store, "
        note += "two at a time. Peaks of JVM and store process together."
        yield Table(f"End to end: {what}", lines, note)


def _operators(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    lines = []
    for part, title in TITLES.items():
        if found := _of(records, part, group="operators"):
            what = f"{title}, {found[0]['keys']:,} keys"
            batch = _each("batch", 1e3, sizes.operator_warm_batches)
            lines.append(_line(found, f"{what}, s", batch, _times(1.0, "rocksdb"), what))
    if lines:
        yield Table("Operators end to end: a batch, 2 partitions", lines, "A batch has one row a key and input.")


def _s3(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    """Ours is compared as it is set up by default; with the abortable file manager it has a line of its own."""
    ours = [record for record in _of(records, "s3") if record["provider"] == OURS]
    note = "Aggregation, 2 partitions, a batch every 2 s, maintenance with every other batch. S3A against "
    note += "moto's server with 20 ms a request; a bulk delete is one request."

    def each(figure: str) -> Value:
        return lambda r: fmean(r["figures"][figure][sizes.s3_warm_batches :]) / 2

    for variant in ("default", "abortable"):
        peers = [record for record in _of(records, "s3", variant=variant) if record["provider"] != OURS]
        if found := [*peers, *_of(ours, "s3", variant="default")]:
            title = f"Spark's providers with the {variant} file manager"
            headline = f"requests to S3 for state, a partition and batch: {title}"
            lines = [
                _line(found, "requests for state a partition, count", each("requests"), Target(3.0), headline),
                _line(found, "of them PUT, count", each("puts")),
                _line(found, "of them DELETE or bulk delete, count", each("deletes")),
                _line(found, "batch, s", _each("batch", 1e3, sizes.s3_warm_batches)),
            ]
            set_for_ours = _of(ours, "s3", variant="abortable") if variant == "abortable" else []
            if set_for_ours:
                lines.append(
                    _line(set_for_ours, "requests where Keygroups is told to use it too, count", each("requests"))
                )
            yield Table(f"Checkpoint on S3, {title}, a batch: {found[0]['keys']:,} keys", lines, note)


def _larger(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    def slowest(record: Record) -> float:
        return float(max(record["figures"]["fill"][1:] + record["figures"]["update"])) / 1e3

    for group, variant in dict.fromkeys((record["group"], record["variant"]) for record in _of(records, "larger")):
        found = _of(records, "larger", group=group, variant=variant)
        first = found[0]
        limits = ", ".join(sorted({f"{r['limited']}, read-ahead {r['read_ahead_kb']:,} KB" for r in found}))
        fill = f"a batch of {first['keys'] // first['gets']:,} new keys"
        update = f"a batch of {first['rows']:,} random keys"
        what = f"{first['keys']:,} keys of 1 KB in {first['limit'] / 2**30:g} GB, read-ahead {variant}"
        fills, updates, empty = _each("fill", 1e3, 1), _each("update", 1e3), _of(records, "larger_empty")
        lines = [
            _line(found, f"{fill}, s", fills, _times(0.5, "rocksdb"), f"{what}: {fill}"),
            _line(found, f"{update}, s", updates, _times(0.5, "rocksdb"), f"{what}: {update}"),
            _line(found, "slowest batch after the first, s", slowest),
            _line(found, "JVM and store process without pages of files, peak, MB", _once("peak", 1e6)),
        ]
        note = f"All processes of the query together: {limits}. JVM heap 1 GB; RocksDB bounded to 300 MB. "
        note += "Aggregation, update mode, 2 partitions."
        if empty:
            above = "above a provider that keeps nothing, s"
            lines.insert(1, _line(found, f"{fill}, {above}", _above(fills, empty)))
            lines.insert(3, _line(found, f"{update}, {above}", _above(updates, empty)))
            note += f" On a provider that keeps nothing: {median(map(fills, empty)):.3g} s a batch of new keys, "
            note += f"{median(map(updates, empty)):.3g} s of random ones."
        yield Table(f"Larger than memory: {what}", lines, note)


_MAKERS: Final = (
    _query,
    _dedupe,
    _partitions,
    _stores,
    _spi,
    _commit,
    _grown,
    _operators,
    _restart,
    _recovery,
    _remote,
    _memory,
    _s3,
    _larger,
)


def build(records: list[Record], sizes: Sizes) -> list[Table]:
    """Make the tables of all the parts that ran."""
    return [table for maker in _MAKERS for table in maker(records, sizes)]
