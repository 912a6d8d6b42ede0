"""The columns of a key: those of the DataFrame, or computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from keygroups.errors import SettingError
from keygroups.rows.decode import row_decoder
from keygroups.state.types import part_without_equality


@dataclass(frozen=True)
class KeyColumns:
    """What a key is made of.

    Attributes:
        columns: All, each with its name.
        computed: Those that the DataFrame does not have.
    """

    columns: list[Column]
    computed: list[Column]


def key_columns(frame: DataFrame, given: Sequence[str | Column]) -> KeyColumns:
    """Sort out the columns of a key.

    Args:
        frame: The rows.
        given: Names and expressions.

    Raises:
        SettingError: An expression has the name of another column, or a column has a type that no key can have.
    """
    selected = frame.select(*given)
    for field in selected.schema.fields:
        _require_key(field)
    own, columns, computed = set(_ids(frame)), [], []
    for one, name, number in zip(given, selected.columns, _ids(selected), strict=True):
        column = (sql.col(one) if isinstance(one, str) else one).alias(name)
        columns.append(column)
        if number in own:
            continue
        if _form(frame, name) in {_form(frame, one) for one in frame.columns}:
            raise SettingError(
                "a computed key has the name of a column",
                expected="a name that the DataFrame does not have",
                found=name,
                fix="give it another one with .alias(...)",
            )
        computed.append(column)
    return KeyColumns(columns, computed)


def _require_key(field: spark.StructField) -> None:
    unequal = part_without_equality(field.dataType)
    if isinstance(unequal, spark.MapType):
        raise SettingError(
            f"key column {field.name!r} has a map, and equal maps may have their entries in different orders",
            found=field.dataType.simpleString(),
            fix="key by array_sort(map_entries(...)) of the map, or by some of its entries",
        )
    if unequal is not None:
        raise SettingError(
            f"key column {field.name!r} has texts with a collation, by which equal texts may differ in their bytes",
            expected="texts of UTF8_BINARY",
            found=field.dataType.simpleString(),
            fix="key by collate(..., 'UTF8_BINARY'), or by lower(...) of that for keys that ignore case",
        )
    try:
        row_decoder(spark.StructType([field]))
    except SettingError as error:
        raise SettingError(
            f"key column {field.name!r} has a type that no key can have",
            found=field.dataType.simpleString(),
            fix="cast it, such as to a string or a number",
        ) from error


def quoted(name: str) -> str:
    """Give a column's name as Spark's parser wants it."""
    return "`" + name.replace("`", "``") + "`"


def _form(frame: DataFrame, name: str) -> str:
    """A name as Spark compares it."""
    return name if frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true" else name.lower()


def _ids(frame: DataFrame) -> list[int]:
    output = frame._jdf.queryExecution().analyzed().output()
    return [output.apply(i).exprId().id() for i in range(output.size())]
