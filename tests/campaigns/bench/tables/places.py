"""Where a checkpoint lies: recovery, restarts, and requests to S3."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Final

from campaigns.bench.lines import Table, Target
from campaigns.bench.plan import Sizes
from campaigns.bench.tables.values import BOTH, Record, Value, each, line, once, records_of, times

_REMOTE_SECONDS: Final = 2.0


def recovery(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    if found := records_of(records, "recover"):
        target, keys = times(0.2, *BOTH), f"{found[0]['keys']:,} keys in a running executor"
        settled, plain = once("settled", 1e9), once("plain", 1e9)
        lines = [
            line(found, "after maintenance, s", settled, target, f"recovery of {keys}: just after a snapshot"),
            line(found, "before any maintenance, s", plain, target, f"recovery of {keys}: no snapshot yet"),
            line(records_of(records, "prepare"), "checkpoint, MB", lambda r: r["figures"]["bytes"]["settled"] / 1e6),
        ]
        note = "New provider object to first row read. No local files; warm JVM and page cache, store process running."
        yield Table(f"Recovery in a running executor: {found[0]['keys']:,} keys", lines, note)


def remote(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    found = records_of(records, "first_batch")
    lines = []
    for keys in sorted({record["keys"] for record in found}):
        case = [record for record in found if record["keys"] == keys]
        limit = _REMOTE_SECONDS if keys == found[0]["keys"] else 2 * _REMOTE_SECONDS
        headline = f"first batch of {found[0]['rows']:,} rows from {keys:,} keys on S3"
        lines.append(
            line(case, f"{keys:,} keys, s", lambda r: sum(r["figures"].values()) / 1e9, Target(limit), headline)
        )
        lines.append(line(case, f"{keys:,} keys: of it commit, s", once("commit", 1e9)))
    if lines:
        note = "New provider object to the end of the commit; no local files, a warm JVM, store process running. "
        note += "moto's server with 20 ms a request; the peers write with Spark's abortable file manager."
        yield Table("Recovery from S3 in a running executor: a first batch", lines, note)


def restart(records: list[Record], _sizes: Sizes) -> Iterator[Table]:
    titles = {"local": "local disk", "hdfs": "HDFS", "s3": "S3"}
    found = records_of(records, "restart")
    lines = []
    for variant, title in titles.items():
        if of_place := records_of(found, "restart", variant=variant):
            headline = f"restart with {of_place[0]['keys']:,} keys on {title}: to the end of the first batch"
            query, process = once("query", 1e3), once("process", 1e3)
            lines.append(line(of_place, f"{title}: from the query's start, s", query, headline=headline))
            lines.append(line(of_place, f"{title}: from the process's start, s", process))
    if lines:
        dropped = ", ".join(sorted({r["page_cache"] for r in found}))
        note = "A new JVM, and for us a new store process; aggregation, 2 partitions. "
        note += f"Dropped from the page cache before each start: {dropped}."
        title = f"Restart: {found[0]['keys']:,} keys, to the end of a first batch of {found[0]['rows']:,} rows"
        yield Table(title, lines, note)


def s3(records: list[Record], sizes: Sizes) -> Iterator[Table]:
    """A table for each file manager: it writes Spark's own files too, so all providers are compared with the same."""
    note = "Aggregation, 2 partitions, a batch every 2 s, maintenance with every other batch. S3A against "
    note += "moto's server with 20 ms a request; a bulk delete is one request."

    def a_partition(figure: str) -> Value:
        return lambda r: fmean(r["figures"][figure][sizes.s3_warm_batches :]) / 2

    for variant in ("default", "abortable"):
        if found := records_of(records, "s3", variant=variant):
            title = f"Spark's {variant} file manager"
            requests, batch = f"requests to S3 for state per partition and batch: {title}", f"batch on S3: {title}"
            requests, batch = (requests, batch) if variant == "default" else ("", "")
            lines = [
                line(found, "requests for state a partition, count", a_partition("requests"), Target(3.0), requests),
                line(found, "of them PUT, count", a_partition("puts")),
                line(found, "of them DELETE or bulk delete, count", a_partition("deletes")),
                line(found, "batch, s", each("batch", 1e3, sizes.s3_warm_batches), headline=batch),
            ]
            yield Table(f"Checkpoint on S3, {title}, a batch: {found[0]['keys']:,} keys", lines, note)
