"""Keys of a harness's rows, as a partition stores them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from zlib import crc32

from pyspark.errors import PySparkException
from pyspark.sql import Row
from pyspark.sql import types as spark

from keygroups.errors import SettingError
from keygroups.java_hash import java_hash
from keygroups.key_groups import compute_key_group_for_key_hash
from keygroups.keyed.forms import frozen, key_form
from keygroups.partition.keys import hashed_locator
from keygroups.rows.encode import row_encoder
from keygroups.state.errors import StateError

KEY: Final = "key"
"""The column of a key that a callable gave."""
NO_SCHEMA: Final = spark.StructType([spark.StructField(KEY, spark.StringType())])
"""Stands for the schema of keys until the first row tells it."""


def key_of(key: str | Sequence[str] | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what gives the key of a row: a value for one column, a row for several."""
    if callable(key):
        return key
    if isinstance(key, str):
        return lambda row: row[key]
    make = Row(*key)
    return lambda row: make(*(row[name] for name in key))


def schema_of(key: Any, name: str) -> spark.StructType:
    """Return the schema of keys like this one.

    Args:
        key: A value, or a tuple for several columns.
        name: Of the column, where there is one.

    Raises:
        StateError: Spark has no type for the key.
    """
    names = getattr(key, "__fields__", None) or [f"_{i + 1}" for i in range(len(key))] if _is_row(key) else [name]
    try:
        kinds = [spark._infer_type(part) for part in _parts(key)]
    except PySparkException as error:
        raise StateError("the key has no type of Spark", expected="a value of one type", found=repr(key)) from error
    fields = [
        spark.StructField(column, spark.StringType() if isinstance(kind, spark.NullType) else kind)
        for column, kind in zip(names, kinds, strict=True)
    ]
    return spark.StructType(fields)


def key_group(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key, by Flink's formula."""
    return compute_key_group_for_key_hash(_hash(frozen(key)), max_parallelism)


class KeyRows:
    """Makes stored keys.

    Args:
        schema: Of the keys.
        max_parallelism: Number of key groups.
    """

    def __init__(self, schema: spark.StructType, max_parallelism: int) -> None:
        """See the class."""
        self._forms = [key_form(field.dataType, f"the key {field.name!r}") for field in schema.fields]
        self._encode, self._max_parallelism = row_encoder(schema), max_parallelism

    def stored(self, key: Any) -> tuple[bytes, int]:
        """Return the UnsafeRow of a key, and its locator.

        Raises:
            StateError: The key has not the type of the first one.
        """
        given = _parts(key)
        if len(given) != len(self._forms):
            raise StateError("the key has other columns than the first one", expected=len(self._forms), found=repr(key))
        parts = [None if part is None else form(part) for form, part in zip(self._forms, given, strict=True)]
        (data,) = self._encode([tuple(parts)])
        return data, hashed_locator(key_group(key, self._max_parallelism), data)


def _parts(key: Any) -> tuple[Any, ...]:
    return tuple(key) if _is_row(key) else (key,)


def _is_row(key: Any) -> bool:
    return isinstance(key, tuple)


def _hash(key: Any) -> int:
    """Java's hash code, and for a type that has none here a number that is the same in each process."""
    try:
        return java_hash(key)
    except SettingError:
        return crc32(repr(key).encode())
