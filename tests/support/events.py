"""Random events: every key type Spark groups by, values that are easy to get wrong, late rows and empty batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import TypeAlias

import pyarrow as pa

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
BATCH_TIME = timedelta(minutes=1)
LATE_BY = timedelta(minutes=10)

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("v", pa.int32()),
        ("k", pa.int64()),
        ("name", pa.string()),
        ("ratio", pa.float64()),
        ("price", pa.decimal128(20, 3)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("flag", pa.bool_()),
        ("point", pa.struct([("x", pa.int32()), ("label", pa.string())])),
        ("tags", pa.list_(pa.int32())),
    ]
)
"""`id` is unique and not null, `ts` the event time, `v` a small number; the others are keys and may be null."""

Event: TypeAlias = dict[str, object]


@dataclass(frozen=True)
class Shape:
    """How much is drawn.

    Attributes:
        batches: Micro-batches of one stream.
        rows: Most rows of one batch.
        keys: Distinct values of `k`, and of the random part of the other keys.
        late: Share of the rows that come 10 minutes too late.
        empty: Share of the batches without rows.
        padding: Characters added to each `name`, for keys that fill write buffers.
    """

    batches: int = 7
    rows: int = 40
    keys: int = 12
    late: float = 0.1
    empty: float = 0.2
    padding: int = 0


def random_batches(rng: Random, shape: Shape) -> list[list[Event]]:
    """Returns `shape.batches` lists of events; each batch is a minute later than the one before."""
    return [_batch(rng, shape, number) for number in range(shape.batches)]


def _batch(rng: Random, shape: Shape, number: int) -> list[Event]:
    if 0 < number < shape.batches - 1 and rng.random() < shape.empty:
        return []
    return [_event(rng, shape, number, number * 1_000_000 + row) for row in range(rng.randint(1, shape.rows))]


def _event(rng: Random, shape: Shape, batch: int, identity: int) -> Event:
    jitter = timedelta(seconds=rng.randint(-30, 30), microseconds=rng.randint(0, 999_999))
    delay = LATE_BY if rng.random() < shape.late else timedelta()
    keys = {name: draw(rng, rng.randrange(shape.keys)) for name, draw in _KEYS.items()}
    if shape.padding and keys["name"] is not None:
        keys["name"] = f"{keys['name']}{'.' * shape.padding}{rng.randrange(shape.keys)}"
    return {"id": identity, "ts": START + batch * BATCH_TIME + jitter - delay, "v": rng.randint(-9, 99), **keys}


def _any_of(*special: object, often: float = 0.5) -> Callable[[Random, object], object]:
    """Draws one of the special values with probability `often`, else the value that is passed in."""
    return lambda rng, value: rng.choice(special) if rng.random() < often else value


def _key(special: list[object], usual: Callable[[int], object]) -> Callable[[Random, int], object]:
    pick = _any_of(*special)
    return lambda rng, number: pick(rng, usual(number))


_KEYS: dict[str, Callable[[Random, int], object]] = {
    "k": _key([None, -1, 2**63 - 1, -(2**63)], lambda n: n),
    "name": _key([None, "", "a", "Ä", "鍵の組", "\u0000", "x" * 300], lambda n: f"key-{n}"),
    "ratio": _key([None, math.nan, -0.0, 0.0, math.inf, -math.inf], lambda n: n / 3),
    "price": _key([None, Decimal("0.000"), Decimal("-0.001"), Decimal(10**16)], lambda n: Decimal(n) / 8),
    "day": _key([None, date(1969, 12, 31), date(9999, 12, 31)], lambda n: date(2024, 1, 1 + n % 28)),
    "at": _key([None, datetime(1969, 12, 31, 23, 59, 59, 999_999, timezone.utc)], lambda n: START + timedelta(hours=n)),
    "flag": _key([None], lambda n: n % 2 == 0),
    "point": _key([None, {"x": None, "label": None}, {"x": 0, "label": ""}], lambda n: {"x": n, "label": f"p{n}"}),
    "tags": _key([None, [], [None], [0, None, 0]], lambda n: list(range(n % 4))),
}

KEY_TYPES = tuple(_KEYS)
"""Names of the key columns, one of each type."""
