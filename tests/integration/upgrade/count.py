"""A count on a given jar: ``count.py JAR FOLDER``; prints what the query says if it fails."""

from __future__ import annotations

import sys

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from keygroups.configure import PROVIDER, PROVIDER_CLASS


def main(jar: str, folder: str) -> None:
    """Start a stateful query."""
    builder = SparkSession.Builder().master("local[1]").config("spark.jars", jar).config(PROVIDER_CLASS, PROVIDER)
    spark = builder.config("spark.ui.enabled", False).config("spark.sql.shuffle.partitions", 1).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    counts = spark.readStream.format("rate").load().groupBy("value").count()
    writer = counts.writeStream.outputMode("update").format("noop").option("checkpointLocation", folder)
    try:
        writer.trigger(availableNow=True).start().awaitTermination(60)
    except StreamingQueryException as error:
        print(str(error).splitlines()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
