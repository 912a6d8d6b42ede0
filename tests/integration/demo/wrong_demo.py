"""The command of the demo with one query, whose stream loses the flights of one carrier in one hour."""

from __future__ import annotations

import sys
from dataclasses import replace

from pyspark.sql import DataFrame

from keygroups.demo import cli
from keygroups.demo.queries import QUERIES, delays


def lossy(flights: DataFrame, weather: DataFrame) -> DataFrame:
    lost = "carrier = 'HA' AND scheduled < '2013-01-02'"
    return delays(flights.where(f"NOT ({lost})") if flights.isStreaming else flights, weather)


if __name__ == "__main__":
    vars(cli)["QUERIES"] = (replace(QUERIES[0], build=lossy),)
    cli.main(sys.argv[1:])
