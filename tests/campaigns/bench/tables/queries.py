"""Queries from end to end: a batch, its peak of memory, and its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from campaigns.bench.lines import Table, Target
from campaigns.bench.operators import TITLES
from campaigns.bench.plan import Sizes
from campaigns.bench.tables.values import BOTH, Record, above, each, line, once, records_of, times


def query(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "query", group="e2e"):
        skip = sizes.query_warm_batches
        what = f"aggregation, {found[0]['keys']:,} keys, {found[0]['rows']:,} rows a batch, 2 partitions"
        bytes_a_batch = once("state_bytes", 1e6 * found[0]["rounds"])
        lines = [
            line(found, "batch, s", each("batch", 1e3, skip), Target(times={"rocksdb": 0.33, "hdfs": 0.54}), what),
            line(found, "slowest batch, s", lambda r: max(r["figures"]["batch"][skip:]) / 1e3),
            line(found, "state commit a partition, s", each("commit", 2e3, skip)),
            line(found, "JVM and store process, peak resident, MB", once("peak", 1e6)),
            line(found, "checkpoint after the run, MB", once("state_bytes", 1e6)),
            line(
                found,
                "checkpoint a batch, MB",
                bytes_a_batch,
                times(1.0, *BOTH),
                "checkpoint of a batch of the first row",
            ),
        ]
        batch, empty = each("batch", 1e3, skip), records_of(records, "query_empty", group="e2e")
        note = "Update mode, noop sink, maintenance every 10 s. "
        note += f"Of {found[0]['rounds']} batches, the first {skip} warm up. "
        note += "On a provider that keeps nothing: "
        note += f"{median(map(batch, empty)):.3g} s a batch." if empty else "not measured."
        if empty:
            lines.insert(1, line(found, "above a provider that keeps nothing, s", above(batch, empty)))
        yield Table(f"End to end: {what}", lines, note)


def dedupe(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "dedupe"):
        what = f"deduplication, {found[0]['rows']:,} new keys a batch, 2 partitions"
        batch = each("batch", 1e3, sizes.query_warm_batches)
        bytes_a_batch = once("state_bytes", 1e6 * found[0]["rounds"])
        lines = [
            line(found, "batch, s", batch, headline=what),
            line(found, "checkpoint a batch, MB", bytes_a_batch, times(1.0, *BOTH)),
        ]
        note = (
            f"Append mode, noop sink; {found[0]['rounds']} batches, ids of 16 random hexadecimal digits. Checkpoint: "
        )
        note += "all files at the end, also the peers' snapshots (after 10 versions) and merged files of Keygroups."
        yield Table(f"End to end: {what}", lines, note)


def partitions(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "query", group="partitions"):
        what = f"{found[0]['keys']:,} keys, {found[0]['rows']:,} rows a batch, {sizes.spread_partitions} partitions"
        batch = each("batch", 1e3, sizes.spread_warm_batches)
        lines = [
            line(found, "batch, s", batch, times(0.35, *BOTH), f"aggregation, {what}"),
            line(found, "slowest batch, s", lambda r: max(r["figures"]["batch"][sizes.spread_warm_batches :]) / 1e3),
            line(found, "JVM and store process, peak resident, MB", once("peak", 1e6)),
        ]
        empty = records_of(records, "query_empty", group="partitions")
        note = f"Like the one before; tasks run two at a time, and {sizes.spread_warm_batches} batches warm up. "
        note += "On a provider that keeps nothing: "
        note += f"{median(map(batch, empty)):.3g} s a batch." if empty else "not measured."
        yield Table(f"End to end: aggregation, {what}", lines, note)


def stores(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "stores"):
        what = f"{sizes.stores:,} stores in one executor"
        lines = [
            line(found, "batch after the first, s", each("batch", 1e3, 1), headline=f"aggregation, {what}"),
            line(found, "JVM and store process, peak resident, MB", once("peak", 1e6)),
            line(found, "memory mappings, count", once("mappings", 1)),
            line(found, "open files, count", once("files", 1)),
            line(found, "threads, count", once("threads", 1)),
        ]
        note = f"Aggregation, {found[0]['keys']:,} keys, {found[0]['rows']:,} rows a batch; a task for each store, "
        note += "two at a time. Peaks of JVM and store process together."
        yield Table(f"End to end: {what}", lines, note)


def operators(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    lines = []
    for part, title in TITLES.items():
        if found := records_of(records, part, group="operators"):
            what = f"{title}, {found[0]['keys']:,} keys"
            batch = each("batch", 1e3, sizes.operator_warm_batches)
            lines.append(line(found, f"{what}, s", batch, times(1.0, "rocksdb"), what))
    if lines:
        yield Table("Operators end to end: a batch, 2 partitions", lines, "A batch has one row a key and input.")


def larger(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    def slowest(record: Record) -> float:
        return float(max(record["figures"]["fill"][1:] + record["figures"]["update"])) / 1e3

    for group, variant in dict.fromkeys((r["group"], r["variant"]) for r in records_of(records, "larger")):
        found = records_of(records, "larger", group=group, variant=variant)
        first = found[0]
        limits = ", ".join(sorted({f"{r['limited']}, read-ahead {r['read_ahead_kb']:,} KB" for r in found}))
        fill = f"a batch of {first['keys'] // first['gets']:,} new keys"
        update = f"a batch of {first['rows']:,} random keys"
        what = (
            f"{first['keys']:,} keys of 1 KB in {first['limit'] / 2**30:g} GB (RocksDB: 300 MB), read-ahead {variant}"
        )
        fills, updates = each("fill", 1e3, 1), each("update", 1e3)
        empty = records_of(records, "larger_empty", group=group)
        lines = [
            line(found, f"{fill}, s", fills, times(0.5, "rocksdb"), f"{what}: {fill}"),
            line(found, f"{update}, s", updates, times(0.5, "rocksdb"), f"{what}: {update}"),
            line(found, "slowest batch after the first, s", slowest),
            line(found, "JVM and store process without pages of files, peak, MB", once("peak", 1e6)),
        ]
        note = f"All processes of the query together: {limits}. JVM heap 1 GB; RocksDB bounded to 300 MB. "
        note += "Aggregation, update mode, 2 partitions."
        if empty:
            floor = "above a provider that keeps nothing, s"
            lines.insert(1, line(found, f"{fill}, {floor}", above(fills, empty)))
            lines.insert(3, line(found, f"{update}, {floor}", above(updates, empty)))
            note += f" On a provider that keeps nothing: {median(map(fills, empty)):.3g} s a batch of new keys, "
            note += f"{median(map(updates, empty)):.3g} s of random ones."
        yield Table(f"Larger than memory: {what}", lines, note)


def budget(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    few = records_of(records, "budget", keys=sizes.budget_few_keys)
    found = records_of(records, "budget", keys=sizes.larger_keys)
    if few and found:
        limit = sizes.budget_bytes
        what = f"{sizes.larger_keys:,} keys of 1 KB, a budget of {limit >> 20} MB"
        peak = once("peak", 1)
        state = above(peak, few)
        lines = [
            line(found, "memory of the state, peak, MB", lambda r: state(r) / 1e6),
            line(
                found, "of the budget, times", lambda r: state(r) / limit, Target(1.1), f"memory of the state: {what}"
            ),
            line(found, f"a batch of {found[0]['keys'] // found[0]['gets']:,} new keys, s", each("fill", 1e3, 1)),
            line(found, f"a batch of {found[0]['rows']:,} random keys, s", each("update", 1e3)),
        ]
        note = f"The query of the tables before, in the same {found[0]['limit'] / 2**30:g} GB. Memory of JVM and store "
        note += f"process without pages of files, above that of the same query over {sizes.budget_few_keys:,} keys "
        note += f"({median(map(peak, few)) / 1e6:,.0f} MB). The whole heap is resident in both."
        yield Table(f"Budget of memory: {what}", lines, note)
