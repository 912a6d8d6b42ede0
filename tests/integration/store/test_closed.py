"""What Spark keeps to its own provider: refused with Spark's own words, and what it leaves behind can be mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner
from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException, PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from keygroups.configure import PROVIDER, PROVIDER_CLASS
from keygroups.tools.main import main
from support.spark import PROVIDERS, session_with


def count(session: SparkSession, folder: Path, text: str) -> None:
    """Count one more file of words."""
    source, checkpoint = folder / "input", folder / "checkpoint"
    source.mkdir(exist_ok=True)
    (source / f"{len(list(source.iterdir()))}.txt").write_text(text)
    words = session.readStream.text(str(source)).groupBy("value").count()
    writer = words.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(60)


def counts(session: SparkSession, folder: Path) -> dict[str, int]:
    rows = session.read.format("statestore").load(str(folder / "checkpoint")).collect()
    return {row.key[0]: row.value[0] for row in rows}


def test_an_unfinished_repartitioning_is_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    session = session_with(spark, {PROVIDER_CLASS: PROVIDER})
    checkpoint = tmp_path / "checkpoint"
    count(session, tmp_path, "a")
    with pytest.raises((Py4JJavaError, PySparkException), match="UNSUPPORTED_PROVIDER"):
        cast(Any, session)._jsparkSession.streamingCheckpointManager().repartition(str(checkpoint), 4, True)
    with pytest.raises(StreamingQueryException, match="STREAMING_UNFINISHED_REPARTITION_DETECTED"):
        count(session, tmp_path, "a")
    seen = CliRunner().invoke(main, ["mend", str(checkpoint)])
    assert "a repartitioning from 2 to 4 state partitions" in seen.output
    assert (checkpoint / "offsets" / "1").exists()
    done = CliRunner().invoke(main, ["mend", str(checkpoint), "--apply"])
    assert done.exit_code == 0, done.output
    count(session, tmp_path, "b")
    assert counts(session, tmp_path) == {"a": 2, "b": 1}
    assert "nothing to repair" in CliRunner().invoke(main, ["mend", str(checkpoint)]).output


def test_only_our_checkpoints_are_mended(tmp_path: Path) -> None:
    for batch, partitions in enumerate(["2", "4"]):
        (tmp_path / "offsets").mkdir(exist_ok=True)
        conf = {PROVIDER_CLASS: PROVIDERS["rocksdb"], "spark.sql.shuffle.partitions": partitions}
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{json.dumps({'conf': conf})}\n{{}}")
    done = CliRunner().invoke(main, ["mend", str(tmp_path), "--apply"])
    assert done.exit_code == 1
    assert "another state store provider owns" in done.output
    assert (tmp_path / "offsets" / "1").exists()
    assert (
        "the folder is not the checkpoint of a query"
        in CliRunner().invoke(main, ["mend", str(tmp_path / "offsets")]).output
    )


def test_real_time_mode_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    session = session_with(spark, {PROVIDER_CLASS: PROVIDER})
    counted = session.readStream.format("rate").load().groupBy("value").count()
    writer = counted.writeStream.outputMode("update").format("console").option("checkpointLocation", str(tmp_path))
    with pytest.raises(IllegalArgumentException, match=r"providerClass must be .*RocksDBStateStoreProvider"):
        cast(Any, writer).trigger(realTime="5 seconds").start()


def test_new_joins_get_the_state_format_that_other_providers_may_have(spark: SparkSession, tmp_path: Path) -> None:
    key = "spark.sql.streaming.join.stateFormatVersion"
    session = session_with(spark, {PROVIDER_CLASS: PROVIDER, key: "4"})
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "0.txt").write_text("a")
    left, right = (session.readStream.text(str(tmp_path / "input")) for _ in range(2))
    checkpoint = str(tmp_path / "checkpoint")
    writer = left.join(right, "value").writeStream.format("noop").option("checkpointLocation", checkpoint)
    assert writer.trigger(availableNow=True).start().awaitTermination(60)
    pinned = json.loads((tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[1])["conf"]
    assert pinned[key] == "2"


class Count(StatefulProcessor):
    """Counts rows."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        before = self.count.get()
        count = (before[0] if before else 0) + sum(1 for _ in rows)
        self.count.update((count,))
        yield Row(value=key[0], n=count)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("provider", ["hdfs", "keygroups"])
def test_transform_with_state_is_opened_for_our_provider_alone(
    spark: SparkSession, tmp_path: Path, provider: str
) -> None:
    session = session_with(spark, {PROVIDER_CLASS: PROVIDERS[provider]})
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "0.txt").write_text("a\nb\na")
    counted = session.readStream.text(str(tmp_path / "input")).groupBy("value")
    seen: dict[str, int] = {}

    def collect(batch: DataFrame, _: int) -> None:
        seen.update({row.value: row.n for row in batch.collect()})

    writer = counted.transformWithState(Count(), "value string, n long", "update", "none").writeStream
    writer = (
        writer.outputMode("update").foreachBatch(collect).option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    query = writer.trigger(availableNow=True).start()
    if provider == "keygroups":
        assert query.awaitTermination(60)
        assert seen == {"a": 2, "b": 1}
    else:
        with pytest.raises(StreamingQueryException, match="STORE_BACKEND_NOT_SUPPORTED_FOR_TWS"):
            query.awaitTermination(60)


def test_a_batch_runs_transform_with_state_too(spark: SparkSession) -> None:
    session = session_with(spark, {PROVIDER_CLASS: PROVIDER})
    words = session.createDataFrame([("a",), ("b",), ("a",)], "value string").groupBy("value")
    rows = words.transformWithState(Count(), "value string, n long", "update", "none").collect()
    assert {row.value: row.n for row in rows} == {"a": 2, "b": 1}
