"""Column families, against Spark's RocksDB provider: the same random calls give the same answers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.store.driver import PREFIX
from keygroups.configure import PROVIDER
from support.everyday import first_every_day
from support.spark import session_with
from support.state_files import manifest_of

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FAMILIES = ("values", "lists", "maps", "longs", "floats", "stamps", "times")
LISTS = ("lists", "stamps")
ORDERED = ("longs", "floats", "times")
STEPS, CALLS = 12, 60
RANGES = 20
SMALL_BLOCKS = {PREFIX + "blockBytes": "4096", PREFIX + "compactionFanout": "2"}
LONG = 2000
"""Letters of a value: the 40 rows of a scan prefix have 40 KB, ten blocks."""


class Both:
    """A driver on our provider and one on RocksDB."""

    def __init__(self, spark: SparkSession, folder: Path, conf: dict[str, str] | None = None) -> None:
        self.drivers = [family_driver(spark, folder / name[-20:], name, conf) for name in (PROVIDER, ROCKSDB)]

    def do(self, name: str, *arguments: object) -> None:
        """Make a call on both."""
        for driver in self.drivers:
            getattr(driver, name)(*arguments)

    def same(self, name: str, *arguments: object) -> None:
        """Make a call on both; the answers are equal."""
        ours, theirs = (_plain(getattr(driver, name)(*arguments)) for driver in self.drivers)
        assert ours == theirs, (name, arguments)

    def same_set(self, name: str, *arguments: object) -> None:
        """Make a call on both; the answers are equal but for their order."""
        ours, theirs = (sorted(getattr(driver, name)(*arguments)) for driver in self.drivers)
        assert ours == theirs, (name, arguments)


def family_driver(
    spark: SparkSession, folder: Path, provider: str = PROVIDER, conf: dict[str, str] | None = None
) -> JavaObject:
    """A driver of column families, on a checkpoint."""
    make = attrgetter("keygroups.tests.FamilyDriver")(cast(Any, spark)._jvm)
    session = session_with(spark, conf) if conf else spark
    return make(cast(Any, session)._jsparkSession, provider, str(folder))


def _plain(answer: object) -> object:
    return answer if isinstance(answer, str | int | None) else list(cast("Iterable[object]", answer))


@pytest.mark.parametrize("seed", first_every_day(*range(1, 9)))
def test_families_answer_as_rocksdb_does(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Writes, removals, appends, all scans; commits, aborts, restarts, a family that goes and comes back."""
    _run(Both(spark, tmp_path), Random(seed), CALLS)


@pytest.mark.parametrize("seed", first_every_day(*range(1, 9)))
def test_locators_that_span_blocks_answer_as_rocksdb_does(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """The rows of a scan prefix, and numbers that begin with the same bytes, fill several blocks of a segment."""
    both = Both(spark, tmp_path, SMALL_BLOCKS)
    _run(both, Random(seed), CALLS, letters=LONG)
    segments = [path for path in tmp_path.rglob("s*.arrows") if _spans_blocks(path)]
    assert segments


def _spans_blocks(path: Path) -> bool:
    """Whether a locator of a segment continues in the next block."""
    blocks = [block for _, _, blocks in manifest_of(path)["parts"] for block in blocks]
    return any(left[4] == right[3] for left, right in pairwise(blocks))


def _run(both: Both, random: Random, calls: int, letters: int = 9) -> None:
    version = 0
    for step in range(STEPS):
        both.do("open", version)
        for _ in range(calls):
            both.do(*random_write(random, letters))
        if step == STEPS // 2:
            both.same("drop", "maps")
        else:
            _compare(both, random)
        version += _finish(both, random)
    both.do("open", version)
    _compare(both, random)
    both.do("abort")
    both.do("close")


def _finish(both: Both, random: Random) -> int:
    """Commit or abort; how many versions came of it."""
    if random.random() < 0.2:
        both.do("abort")
        return 0
    both.same("commit")
    both.same("numKeys")
    both.do("maintain")
    if random.random() < 0.3:
        both.do("restart")
    return 1


def random_write(random: Random, letters: int = 9) -> tuple[Any, ...]:
    """A method of the drivers that writes, and its arguments; values have at most so many letters."""
    family = random.choice(FAMILIES)
    key = (family, random.choice("abc"), random.randint(-20, 20))
    value = "v" * random.randint(0, letters) + str(random.randint(0, 9))
    kind = random.random()
    if kind < 0.25:
        return ("remove", *key)
    if family in LISTS and kind < 0.7:
        return ("append", *key, value)
    if family in LISTS and kind < 0.85:
        return ("putList", *key, f"{value},{value}x")
    return ("put", *key, value)


def _compare(both: Both, random: Random) -> None:
    bounds = sorted(n + 1 if n % 5 == 0 else n for n in random.sample(range(-20, 20), 2))
    for family in FAMILIES:
        both.same_set("scan", family)
    for family in ORDERED:
        both.same("scan", family)
        both.same("range", family, "", *bounds)
    for family in LISTS:
        both.same_set("scanLists", family)
    for text in "abcd":
        both.same("prefix", "maps", text)
        both.same("prefixLists", "stamps", text)
        both.same("rangeLists", "stamps", text, *bounds)
        for number in range(-20, 21):
            both.same("list", "lists", text, number)
            both.same("get", "values", text, number)


def test_ranges_of_few_far_apart_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Bounds below, between and above rows, of all magnitudes and both signs; again after a restart."""
    random, both = Random(11), Both(spark, tmp_path)
    for version in range(RANGES):
        both.do("open", version)
        for family in ORDERED:
            for row in both.drivers[0].scan(family):
                text, number, _ = row.split(" ")
                both.do("remove", family, text, _whole(family, number))
            for _ in range(random.randint(1, 4)):
                both.do("put", family, random.choice("ab"), _far(random), "value")
        both.same("commit")
        if version % 8 == 7:
            both.do("restart")
        both.do("open", version + 1)
        for family in ORDERED:
            both.same("scan", family)
            for _ in range(20):
                both.same("range", family, "", *sorted((_far(random), _far(random))))
        both.do("abort")
    both.do("close")


def _far(random: Random) -> int:
    """A number of any magnitude, not a multiple of 5: those are null among the floats."""
    number = random.choice((-1, 1)) * random.getrandbits(random.randint(1, 52))
    return number + 1 if number % 5 == 0 else number


def _whole(family: str, number: str) -> int:
    return int(float(number) * 2) if family == "floats" else int(number)


def test_a_range_of_timestamps_is_for_one_key(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that end with a timestamp are in order below their key only: bounds of two keys are refused."""
    both = Both(spark, tmp_path)
    ours = both.drivers[0]
    both.do("open", 0)
    for text in "ab":
        both.do("put", "stamps", text, 1, "value")
    both.same("rangeLists", "stamps", "a", 0, 2)
    with pytest.raises(
        (Py4JJavaError, PySparkException), match="expected two bounds that differ in the timestamp only"
    ):
        ours.rangeOfTwo("stamps", "a", 0, "b", 2)
    both.do("abort")
    both.do("close")
