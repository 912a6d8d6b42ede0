"""What is stored, for the assertions of a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keygroups.functions import TimeDomain
from keygroups.keyed.tables import Entry
from keygroups.partition.keys import Key
from keygroups.partition.lists import FileLists
from keygroups.partition.maps import FileMaps
from keygroups.partition.tables import TIMER_FAMILIES, FileTables, KeptTable
from keygroups.partition.timers import FileTimers
from keygroups.state.errors import StateError
from keygroups.state.ttl import StateTtlConfig


def state_of(tables: FileTables, name: str, key: Key, now: int) -> Any:
    """Return what a key has in a state, but for what has expired."""
    kept = _kept(tables, name)
    table, ttl = kept.table, None if kept.descriptor is None else kept.descriptor.ttl
    if isinstance(table, FileMaps):
        return {entry_key: entry[0] for entry_key, entry in table.items(key) if _lives(entry, ttl, now)}
    if isinstance(table, FileLists):
        return [entry[0] for entry in table.read(key) if _lives(entry, ttl, now)]
    assert not isinstance(table, FileTimers), name
    entry = table.read(key)
    return entry[0] if entry is not None and _lives(entry, ttl, now) else None


def number_of_keys(tables: FileTables, name: str, keys: Iterable[Key]) -> int:
    """Return how many of these keys have something in a state."""
    table = _kept(tables, name).table
    assert not isinstance(table, FileTimers), name
    if isinstance(table, FileMaps):
        return sum(not table.is_empty(key) for key in keys)
    return sum(bool(table.read(key)) for key in keys)


def number_of_timers(tables: FileTables, domain: TimeDomain) -> int:
    """Return how many timers of a clock are set."""
    if not isinstance(domain, TimeDomain):
        raise StateError("there is no such clock", expected=" or ".join(map(str, TimeDomain)), found=repr(domain))
    tables.spill()
    (kept,) = (kept for kept in tables.kept if kept.family.name == TIMER_FAMILIES[domain])
    return sum(len(rows) for _, rows in kept.table.sealed.newest())


def _kept(tables: FileTables, name: str) -> KeptTable:
    states = {kept.family.name: kept for kept in tables.kept if kept.descriptor is not None}
    if name not in states:
        raise StateError("the function has no such state", expected=", ".join(states) or "no state", found=repr(name))
    return states[name]


def _lives(entry: Entry, ttl: StateTtlConfig | None, now: int) -> bool:
    return ttl is None or not ttl.has_expired(entry[1], now)
