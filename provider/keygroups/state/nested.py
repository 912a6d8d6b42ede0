"""Values of lists, maps and structs, one at a time, each part by the rule of its own type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from pyspark.sql import types as spark

from keygroups.state.misfit import MisfitError, missing, shown
from keygroups.state.scalars import Take, Wrong

Taker: TypeAlias = Callable[[spark.DataType], Take]


def sequence(kind: spark.ArrayType, wrong: Wrong, taker: Taker) -> Take:
    """Return what takes lists."""
    element = _part(kind.elementType, taker, nullable=kind.containsNull)

    def take(value: Any) -> list[Any]:
        if isinstance(value, np.ndarray):
            value = list(value) if value.dtype.kind in "mM" else value.tolist()  # of times it would give numbers
        if not isinstance(value, list | tuple):
            raise wrong(value)
        taken: list[Any] = []
        try:
            taken.extend(map(element, value))
        except MisfitError as error:
            raise error.at(f"[{len(taken)}]") from None
        return taken

    return take


def mapping(kind: spark.MapType, wrong: Wrong, taker: Taker) -> Take:
    """Return what takes dicts."""
    name = _part(kind.keyType, taker, nullable=False)
    item = _part(kind.valueType, taker, nullable=kind.valueContainsNull)

    def take(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise wrong(value)
        taken: dict[Any, Any] = {}
        for key, one in value.items():
            try:
                taken[name(key)] = item(one)
            except MisfitError as error:
                raise error.at(f"[{shown(key)[:40]}]") from None
        return taken

    return take


def struct(kind: spark.StructType, wrong: Wrong, taker: Taker) -> Take:
    """Return what takes rows."""
    make, names, parts = spark.Row(*kind.names), kind.names, parts_of(kind.names)
    fields = [_part(field.dataType, taker, nullable=field.nullable) for field in kind.fields]

    def take(value: Any) -> spark.Row:
        given = parts(value)
        if given is None:
            raise wrong(value)
        taken: list[Any] = []
        try:
            taken.extend(field(part) for field, part in zip(fields, given, strict=True))
        except MisfitError as error:
            raise error.at(f".{names[len(taken)]}") from None
        return make(*taken)

    return take


def parts_of(names: list[str]) -> Callable[[Any], Any]:
    """Return what gives a value for each field of a struct; None of what is no such struct.

    A ``Row``, a named tuple or a dict is taken by its names, and what it leaves out is None; a tuple or a list without
    names by its places.
    """
    width, known = len(names), frozenset(names)
    same: Any = names  # the rows of one input have one list of names

    def parts(value: Any) -> Any:
        nonlocal same
        if type(value) is tuple or type(value) is list:
            return value if len(value) == width else None
        if isinstance(value, Mapping):
            return [value.get(name) for name in names] if value.keys() <= known else None
        if not isinstance(value, list | tuple):
            return None
        own = getattr(value, "__fields__", None) or getattr(value, "_fields", names)
        if len(own) != len(value):
            return None
        if own is same or list(own) == names:
            same = own
            return value
        return parts(dict(zip(own, value, strict=True)))

    return parts


def _part(kind: spark.DataType, taker: Taker, *, nullable: bool) -> Take:
    """What takes a field, an element or an entry, which may be None if the type says so."""
    take = taker(kind)

    def part(value: Any) -> Any:
        if value is not None:
            return take(value)
        if nullable:
            return None
        raise missing(kind)

    return part
