"""A small stateful query for an installed wheel: ``count.py FOLDER`` counts words, with a restart in the middle."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import keygroups

ROUNDS = (["a b a", "c"], ["a d", "b b b"])


def main(folder: Path) -> None:
    """Count the words of two rounds of files and print the counts as JSON, as the last line."""
    builder = SparkSession.Builder().master("local[2]").config("spark.sql.shuffle.partitions", 2)
    builder = builder.config("spark.ui.enabled", False).config("spark.driver.memory", "1g")
    spark = keygroups.configure(builder, overlayBytes="1m").getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    for number, lines in enumerate(ROUNDS):
        add_files(folder / "input", number, lines)
        run(spark, folder)
    counts = {row["word"]: row["count"] for row in spark.table("counts").collect()}
    print(msgspec.json.encode(counts).decode())
    spark.stop()


def add_files(folder: Path, number: int, lines: list[str]) -> None:
    """Write one file per line."""
    folder.mkdir(exist_ok=True)
    for index, line in enumerate(lines):
        (folder / f"{number}-{index}.txt").write_text(line + "\n", encoding="ascii")


def run(spark: SparkSession, folder: Path) -> None:
    """Run the query from its checkpoint, one file a batch, until the files are used up."""
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "input"))
    counts = lines.select(F.explode(F.split("value", " ")).alias("word")).groupBy("word").count()
    writer = counts.writeStream.outputMode("complete").format("memory").queryName("counts")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
