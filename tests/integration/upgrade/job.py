"""A stateful job for either Spark: ``job.py FOLDER TEXT...`` adds a file for each text and prints what state says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

import keygroups

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


class Seen(StatefulProcessor):
    """Keeps of each word how often it came, and where, in a list and in a map."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self.count = handle.getValueState("count", "n long")
        self.texts = handle.getListState("texts", "text string")
        self.lengths = handle.getMapState("lengths", "length long", "n long")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803 - Spark's name
    ) -> Iterator[Row]:
        """Add what came."""
        texts = sorted(row.text for row in rows)
        before = self.count.get()
        count = (before[0] if before else 0) + len(texts)
        self.count.update((count,))
        self.texts.appendList([(text,) for text in texts])
        for text in texts:
            known = self.lengths.getValue((len(text),))
            self.lengths.updateValue((len(text),), ((known[0] if known else 0) + 1,))
        lengths = ",".join(f"{length}:{n}" for (length,), (n,) in sorted(self.lengths.iterator()))
        yield Row(word=key[0], seen=f"{count} {'|'.join(t for (t,) in self.texts.get())} {lengths}")

    def close(self) -> None:
        """Nothing to close."""


def main(folder: Path, texts: list[str]) -> None:
    """Run both queries from their checkpoints over one more file for each text; one JSON object at the end."""
    builder = SparkSession.Builder().master("local[2]").config("spark.sql.shuffle.partitions", 2)
    builder = builder.config("spark.ui.enabled", False).config("spark.driver.memory", "1g").config(FORMAT, "2")
    spark = keygroups.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    source = folder / "input"
    source.mkdir(parents=True, exist_ok=True)
    for text in texts:
        (source / f"{len(list(source.iterdir()))}.txt").write_text(text, encoding="ascii")
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(source))
    words = lines.select(F.explode(F.split("value", " ")).alias("word"), F.col("value").alias("text"))
    found = {
        "spark": spark.version,
        "distinct": _run(folder, "distinct", words.dropDuplicates(["word"]).groupBy().count(), "complete"),
        "counts": _run(folder, "counts", words.groupBy("word").count(), "complete"),
        "seen": _run(
            folder, "seen", words.groupBy("word").transformWithState(Seen(), OUTPUT, "update", "none"), "update"
        ),
    }
    print(msgspec.json.encode(found).decode())
    spark.stop()


OUTPUT = "word string, seen string"


def _run(folder: Path, name: str, frame: DataFrame, mode: str) -> list[list[Any]]:
    """The last row of each key that a query has shown in this run."""
    shown: dict[Any, list[Any]] = {}

    def keep(batch: DataFrame, _: int) -> None:
        shown.update({row[0] if len(row) > 1 else "": list(row) for row in batch.collect()})

    writer = frame.writeStream.outputMode(mode).foreachBatch(keep)
    query = writer.option("checkpointLocation", str(folder / name)).trigger(availableNow=True).start()
    query.awaitTermination()
    return sorted(shown.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
