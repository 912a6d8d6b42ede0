"""The columns of a key: those of the DataFrame, or computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from keygroups.errors import SettingError


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
        SettingError: An expression has the name of another column.
    """
    selected = frame.select(*given)
    own, columns, computed = set(_ids(frame)), [], []
    for one, name, number in zip(given, selected.columns, _ids(selected), strict=True):
        column = (sql.col(one) if isinstance(one, str) else one).alias(name)
        columns.append(column)
        if number in own:
            continue
        if name in frame.columns:
            raise SettingError(
                "a computed key has the name of a column",
                expected="a name that the DataFrame does not have",
                found=name,
                fix="give it another one with .alias(...)",
            )
        computed.append(column)
    return KeyColumns(columns, computed)


def quoted(name: str) -> str:
    """Give a column's name as Spark's parser wants it."""
    return "`" + name.replace("`", "``") + "`"


def _ids(frame: DataFrame) -> list[int]:
    output = frame._jdf.queryExecution().analyzed().output()
    return [output.apply(i).exprId().id() for i in range(output.size())]
