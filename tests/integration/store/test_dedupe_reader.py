"""State readers on deduplication: its stored values are a placeholder column that some readers do not declare."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from integration.store.driver import Driver
from support.spark import PROVIDERS, session_with

PROVIDER_CLASS = "spark.sql.streaming.stateStore.providerClass"


@pytest.mark.parametrize("provider", ["rocksdb", "keygroups"])
def test_the_placeholder_value_is_read_as_declared(spark: SparkSession, tmp_path: Path, provider: str) -> None:
    """As one null column, as from Spark's RocksDB provider."""
    session = session_with(spark, {PROVIDER_CLASS: PROVIDERS[provider]})
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "0.txt").write_text("a\nb\na\nc")
    words = session.readStream.text(str(tmp_path / "input")).dropDuplicates()
    checkpoint = str(tmp_path / "checkpoint")
    writer = words.writeStream.outputMode("append").format("noop").option("checkpointLocation", checkpoint)
    assert writer.trigger(availableNow=True).start().awaitTermination(60)
    rows = session.read.format("statestore").load(checkpoint).collect()
    assert {row.key[0]: row.value[0] for row in rows} == {"a": None, "b": None, "c": None}


def test_a_reader_that_declares_no_value_column_reads_keys(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark 4.2 does to find the partition of each key; any other form of the values stays refused."""
    jvm = cast(Any, spark)._jvm
    session = session_with(spark, {})._jsparkSession
    placeholder = jvm.keygroups.tests.PlaceholderDriver(session, PROVIDERS["keygroups"], str(tmp_path / "placeholder"))
    placeholder.write()
    assert sorted(placeholder.keysWithoutValues()) == ["a 0", "b 0"]
    written = Driver(spark, tmp_path / "texts")
    written.open(0, "")
    written.put("a", 1, "value")
    written.commit()
    written.close()
    texts = jvm.keygroups.tests.PlaceholderDriver(session, PROVIDERS["keygroups"], str(tmp_path / "texts"))
    with pytest.raises(Exception, match="of another form than the query"):
        texts.keysWithoutValues()
