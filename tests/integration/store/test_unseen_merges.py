"""A merge whose answer did not reach the JVM, which knows deleted files then: those who link them ask again."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from integration.store.driver import Driver, JavaObject, field, held_merges

KEYS = 1000
"""Four runs of so many are merged."""


def test_a_reload_finds_the_files_that_there_are(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks of key_by link them for their workers."""
    driver = Driver(spark, tmp_path)
    with held_merges(spark):
        for version, keys in enumerate((KEYS + 1, KEYS, KEYS, KEYS)):
            driver.open(version, "")
            driver.putRange("key", 0, keys, f"value {version}")
            assert driver.commit() == version + 1
        merge(field(driver._driver, "provider"))
    driver.open(4, "")
    store = field(driver._driver, "store")
    assert missing_files(store)
    store.reload()
    assert not missing_files(store)
    assert driver.get("key", 5) == "value 3"
    assert driver.get("key", KEYS) == "value 0"
    driver.abort()
    driver.close()


def merge(provider: JavaObject) -> None:
    """Merge in the store's process, beside its JVM, until nothing is due."""
    remote = field(field(provider, "host"), "store").open()
    server, number = field(remote, "server"), remote.number()
    steps = 0
    while (merged := json.loads(server.call("compact", json.dumps({"store": number})))["ok"]) is not None:
        server.call("install", json.dumps({"store": number, "segment": merged["id"]}))
        steps += 1
    assert steps, "no merge was due"


def missing_files(store: JavaObject) -> list[str]:
    """Files of an open store that do not exist."""
    paths = [segment.view().path() for segment in store.session().version().segments()]
    return [path for path in paths if not Path(path).exists()]
