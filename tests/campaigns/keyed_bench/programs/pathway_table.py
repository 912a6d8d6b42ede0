"""A count per key in Pathway, whose engine counts in Rust: ``python pathway_table.py JOB RESULT``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pathway as pw


class Rows(pw.Schema):
    """The input."""

    key: int
    amount: int


def seconds(folder: str) -> float:
    """How long a run over the files of a folder takes."""
    pw.internals.parse_graph.G.clear()
    rows = pw.io.csv.read(folder, schema=Rows, mode="static")
    counts = rows.groupby(pw.this.key).reduce(pw.this.key, n=pw.reducers.count())
    pw.io.null.write(counts)
    start = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return time.perf_counter() - start


def main() -> None:
    """Take the difference of a run and one of three times the rows."""
    job = json.loads(sys.argv[1])
    folders = [Path(job["folder"], f"input-{times}") for times in (1, 3)]
    for folder, times in zip(folders, (1, 3), strict=True):
        folder.mkdir(parents=True)
        for part in range(times):
            with (folder / f"{part}.csv").open("w", encoding="utf-8") as file:
                file.write("key,amount\n")
                start = part * job["rows"]
                file.writelines(f"{i * 7919 % job['keys']},1\n" for i in range(start, start + job["rows"]))
    seconds(str(folders[0]))
    short, long = (seconds(str(folder)) for folder in folders)
    result = {"rates": [2 * job["rows"] / (long - short)], "seconds": [short, long]}
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
