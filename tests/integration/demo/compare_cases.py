"""Prints how `compare` judges each case, as JSON by name. Its process is its own, so its session is no other test's."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from keygroups.demo.check import compare
from keygroups.demo.session import start

Rows = list[tuple[str | None, float | None]]

RIGHT: Rows = [("AA", 1.5), ("AA", 1.5), ("UA", None), (None, 2.0)]
CASES: dict[str, Rows] = {
    "same, other order": [(None, 2.0), ("AA", 1.5), ("UA", None), ("AA", 1.5)],
    "value": [("AA", 1.5), ("AA", 1.5), ("UA", None), (None, 2.000001)],
    "null for a value": [("AA", 1.5), ("AA", None), ("UA", None), (None, 2.0)],
    "missing": [("AA", 1.5), ("UA", None), (None, 2.0)],
    "twice": [*RIGHT, ("UA", None)],
    "empty": [],
}


def judge(spark: SparkSession, name: str) -> dict[str, object]:
    columns = "carrier string, delay double"
    found = compare(spark.createDataFrame(RIGHT, columns), spark.createDataFrame(CASES[name], columns))
    return {"ok": found.ok, **asdict(found)}


def judge_columns(spark: SparkSession) -> str:
    try:
        compare(spark.createDataFrame(RIGHT, "carrier string, delay double"), spark.range(1).toDF("carrier"))
    except ValueError as error:
        return str(error)
    return "no error"


if __name__ == "__main__":
    session = start("hdfs", Path(sys.argv[1]), cores=1, partitions=1)
    print(json.dumps({name: judge(session, name) for name in CASES} | {"columns": judge_columns(session)}))
    session.stop()
