"""Time to live by configuration: rows go by the age of their last write, as the time of the batch says."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from integration.store.driver import PREFIX, Driver
from keygroups.configure import PROVIDER, PROVIDER_CLASS
from support.everyday import first_every_day
from support.spark import session_with

TTL = 100
SKIP_NULLS = "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled"
CONF = {PREFIX + "ttl": f"{TTL}s", PREFIX + "compactionFanout": "2", PREFIX + "overlayBytes": "65536"}


def at(checkpoint: Path, batch: int, seconds: float) -> None:
    """Write the time of a batch to the offset log, as Spark does before it runs."""
    (checkpoint / "offsets").mkdir(exist_ok=True)
    log = json.dumps(
        {"batchWatermarkMs": 0, "batchTimestampMs": round(1000 * seconds), "conf": {}}, separators=(",", ":")
    )
    (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{log}\n{{}}")


def test_a_row_goes_when_its_last_write_is_old(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path, CONF)
    for batch, (seconds, keys) in enumerate([(1000, (1, 2)), (1050, (2,))]):
        at(tmp_path, batch, seconds)
        driver.open(batch, "")
        for key in keys:
            driver.put("text", key, f"of {batch}")
        driver.commit()
    at(tmp_path, 2, 1000 + TTL)
    driver.open(2, "")
    assert driver.get("text", 1) is None
    assert not driver.exists("text", 1)
    assert driver.rows() == {("text", 2): "of 1"}
    assert driver.commit() == 3
    assert driver.numKeys() == 1
    assert driver.metric("keyGroupsExpiredRows") == 1
    at(tmp_path, 3, 1000 + TTL - 1)  # whatever a later batch's clock says, what was removed stays so
    driver.open(3, "")
    assert driver.rows() == {("text", 2): "of 1"}
    driver.abort()
    driver.close()


@pytest.mark.parametrize("seed", first_every_day(1, 2, 3))
def test_any_writes_against_a_dictionary(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Puts and removals over many batches, compactions and restarts: what is seen is what is young enough."""
    random, driver = Random(seed), Driver(spark, tmp_path, CONF)
    rows: dict[tuple[str, int], tuple[str, int]] = {}
    now = 5000
    for batch in range(25):
        now += random.randint(0, 40)
        at(tmp_path, batch, now)
        driver.open(batch, "")
        rows = {key: (value, time) for key, (value, time) in rows.items() if time > now - TTL}
        assert driver.rows() == {key: value for key, (value, _) in rows.items()}
        for _ in range(random.randint(0, 60)):
            key = ("text", random.randint(0, 80))
            if random.random() < 0.2:
                driver.remove(*key)
                rows.pop(key, None)
            else:
                rows[key] = (f"v{random.randint(0, 9999)}" * random.choice([1, 1, 1, 40]), now)
                driver.put(*key, rows[key][0])
        assert all(driver.get("text", n) == rows.get(("text", n), (None,))[0] for n in range(81))
        assert driver.rows() == {key: value for key, (value, _) in rows.items()}
        driver.commit()
        assert driver.numKeys() == len(rows)
        driver.maintain()
        if random.random() < 0.2:
            driver.close()
            driver = Driver(spark, tmp_path, CONF)
    driver.close()


def test_values_put_after_expired_ones_stand_alone(spark: SparkSession, tmp_path: Path) -> None:
    """A list that has expired begins anew, also once compaction has joined what lies in files."""
    session = session_with(spark, CONF)
    make = cast(Any, spark)._jvm.keygroups.tests.FamilyDriver
    driver = make(session._jsparkSession, PROVIDER, str(tmp_path))
    for batch, (seconds, value) in enumerate([(1000, "old"), (1050, "older"), (1200, "new"), (1210, "newer")]):
        at(tmp_path, batch, seconds)
        driver.open(batch)
        driver.append("lists", "text", 1, value)
        driver.commit()
        driver.maintain()
    at(tmp_path, 4, 1220)
    driver.open(4)
    assert list(driver.list("lists", "text", 1)) == ["new", "newer"]
    assert driver.numKeys() == 1
    driver.abort()
    driver.close()


def test_a_list_lives_as_long_as_its_newest_value(spark: SparkSession, tmp_path: Path) -> None:
    """Whether compaction has joined its values or not."""
    session = session_with(spark, CONF)
    make = cast(Any, spark)._jvm.keygroups.tests.FamilyDriver
    driver = make(session._jsparkSession, PROVIDER, str(tmp_path))
    for batch, (seconds, value) in enumerate([(1000, "a"), (1050, "b")]):
        at(tmp_path, batch, seconds)
        driver.open(batch)
        driver.append("lists", "text", 1, value)
        driver.commit()
    at(tmp_path, 2, 1120)
    found = []
    for _ in range(2):
        driver.open(2)
        found.append(list(driver.list("lists", "text", 1)))
        driver.abort()
        driver.maintain()
    assert found == [["a", "b"]] * 2
    driver.close()


def test_a_write_outlives_what_it_replaced(spark: SparkSession, tmp_path: Path) -> None:
    """The removal of expired rows at the end of a batch moves write buffers to disk meanwhile."""
    driver = Driver(spark, tmp_path, CONF)
    at(tmp_path, 0, 1000)
    driver.open(0, "")
    driver.putRange("text", 0, 5000, "old")
    driver.commit()
    at(tmp_path, 1, 1000 + 2 * TTL)
    driver.open(1, "")
    driver.putRange("text", 0, 1500, "new")
    driver.commit()
    assert driver.numKeys() == 1500
    at(tmp_path, 2, 1000 + 2 * TTL)
    driver.open(2, "")
    assert driver.rows() == {("text", n): "new" for n in range(1500)}
    driver.abort()
    driver.close()


def test_a_cleanup_follows_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Few writes look at few rows for expired ones, however many the state has; many at 1 in 64."""
    driver = Driver(spark, tmp_path, CONF | {PREFIX + "overlayBytes": "128m"})
    keys = 1_400_000
    removed = []
    for batch, (seconds, count) in enumerate([(1000, keys), (1000 + 2 * TTL, 10), (1000 + 2 * TTL, 6_000)]):
        at(tmp_path, batch, seconds)
        driver.open(batch, "")
        driver.putRange("text", keys * batch, keys * batch + count, "v")
        driver.commit()
        removed.append(driver.metric("keyGroupsExpiredRows"))
    assert removed[0] == 0
    assert 16_384 <= removed[1] < 17_000
    assert keys // 64 - 1000 < removed[2] < keys // 64 + 1000
    driver.close()


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("ttl", "a week", "ttl is not valid (expected a time such as 7d, 12h, 30m or 45s, found 'a week')"),
        ("ttl", "1w", "ttl is not valid"),
    ],
)
def test_a_wrong_time_is_refused(spark: SparkSession, tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises((Py4JJavaError, PySparkException)) as raised:
        Driver(spark, tmp_path, {PREFIX + name: text})
    assert sentence in str(raised.value)


def test_duplicates_are_forgotten_in_time(spark: SparkSession, tmp_path: Path) -> None:
    """A query without a watermark: a key comes through again once its row has expired."""
    seen = _run_twice(spark, tmp_path, {PREFIX + "ttl": "1s"})
    assert seen == [["a", "b"], ["a"]]


def test_other_operators_keep_their_rows(spark: SparkSession, tmp_path: Path) -> None:
    seen = _run_twice(spark, tmp_path, {PREFIX + "ttl": "1s", PREFIX + "ttlOperators": "stateStoreSave, 7"})
    assert seen == [["a", "b"], []]


@pytest.mark.parametrize("skips", first_every_day(False, True))
def test_joins_need_spark_to_pass_over_expired_rows(spark: SparkSession, tmp_path: Path, skips: bool) -> None:
    """Spark reads each row of a join by its number; to skip those that are gone is a setting of its own."""
    conf = {PROVIDER_CLASS: PROVIDER, PREFIX + "ttl": "10s", SKIP_NULLS: str(skips).lower()}
    session = session_with(spark, conf)
    for side in ("left", "right"):
        (tmp_path / side).mkdir()
    pairs: list[str] = []
    for files in ({"left": "a", "right": "b"}, {"left": "b", "right": "a"}, {"left": "b"}):
        for side, text in files.items():
            (tmp_path / side / f"{time.time_ns()}.txt").write_text(text)
        left, right = (session.readStream.text(str(tmp_path / side)).select("value") for side in ("left", "right"))
        writer = left.join(right, "value").writeStream.foreachBatch(
            lambda frame, _: pairs.extend(row.value for row in frame.collect())
        )
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        if not skips:
            with pytest.raises(StreamingQueryException, match=SKIP_NULLS):
                query.awaitTermination(60)
            return
        assert query.awaitTermination(60)
        _wait_past(tmp_path / "checkpoint" / "offsets", 11.5 if pairs else 0)
    assert sorted(pairs) == ["a", "b"]


def _run_twice(spark: SparkSession, folder: Path, conf: dict[str, str]) -> list[list[str]]:
    session = session_with(spark, {PROVIDER_CLASS: PROVIDER, **conf})
    (folder / "input").mkdir()
    seen: list[list[str]] = []
    for texts in (["a", "b"], ["a"]):
        (folder / "input" / f"{len(seen)}.txt").write_text("\n".join(texts))
        batch: list[str] = []

        def collect(frame: DataFrame, _: int, batch: list[str] = batch) -> None:
            batch.extend(row.value for row in frame.collect())

        words = session.readStream.text(str(folder / "input")).dropDuplicates(["value"])
        writer = words.writeStream.foreachBatch(collect)
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(60)
        seen.append(sorted(batch))
        _wait_past(folder / "checkpoint" / "offsets", 2.5)
    return seen


def _wait_past(offsets: Path, seconds: float) -> None:
    """Until the last batch is that old."""
    last = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
    began = json.loads((offsets / str(last)).read_text().splitlines()[1])["batchTimestampMs"] / 1000
    threading.Event().wait(max(0.0, began + seconds - time.time()))
