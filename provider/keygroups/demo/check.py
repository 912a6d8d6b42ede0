"""Compares the answer of a stream with the answer of a batch job, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_EXAMPLES = 3


@dataclass(frozen=True)
class Comparison:
    """How two multisets of rows differ.

    Attributes:
        expected: Rows that should be there.
        found: Rows that are there.
        missing: Expected rows that were not found.
        extra: Found rows that were not expected.
        examples: Some of the rows that differ.
    """

    expected: int
    found: int
    missing: int
    extra: int
    examples: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every expected row was found as often as expected, and no other row."""
        return self.missing == self.extra == 0


def compare(expected: DataFrame, found: DataFrame) -> Comparison:
    """Compare all rows of two tables as multisets: their order does not matter, and null equals null.

    Args:
        expected: The right answer.
        found: The answer to check, with the same columns in any order.

    Returns:
        The comparison.

    Raises:
        ValueError: The columns differ in name or type.
    """
    if sorted(expected.dtypes) != sorted(found.dtypes):
        raise ValueError(f"The columns differ: expected {sorted(expected.dtypes)}, found {sorted(found.dtypes)}.")
    sides = _counted(expected, 1, 0).unionByName(_counted(found, 0, 1))
    rows = sides.groupBy(*expected.columns).agg(F.sum("_expected").alias("e"), F.sum("_found").alias("f"))
    missing, extra = F.greatest(F.col("e") - F.col("f"), F.lit(0)), F.greatest(F.col("f") - F.col("e"), F.lit(0))
    sums = [F.coalesce(F.sum(column), F.lit(0)) for column in (F.col("e"), F.col("f"), missing, extra)]
    n_expected, n_found, n_missing, n_extra = map(int, rows.agg(*sums).collect()[0])
    return Comparison(n_expected, n_found, n_missing, n_extra, _examples(rows) if n_missing or n_extra else ())


def _counted(rows: DataFrame, expected: int, found: int) -> DataFrame:
    return rows.withColumns({"_expected": F.lit(expected), "_found": F.lit(found)})


def _examples(rows: DataFrame) -> tuple[str, ...]:
    different = rows.where(F.col("e") != F.col("f")).take(_EXAMPLES)
    return tuple(_example(row.asDict()) for row in different)


def _example(row: dict[str, object]) -> str:
    expected, found = row.pop("e"), row.pop("f")
    return f"expected {expected} times, found {found} times: " + ", ".join(f"{k}={v}" for k, v in row.items())
