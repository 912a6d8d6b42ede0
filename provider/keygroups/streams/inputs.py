"""The columns of a DataFrame as Python can have them: intervals of months are numbers of months there."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from keygroups.errors import SettingError
from keygroups.streams.key_columns import quoted


def readable_schema(schema: spark.StructType) -> spark.StructType:
    """Give the schema that Python sees.

    Raises:
        SettingError: A column has intervals of months inside of other values.
    """
    for field in schema.fields:
        if not _is_months(field) and _has_months(field.dataType):
            raise SettingError(
                f"column {field.name!r} has intervals of months in it, which Python cannot read",
                found=field.dataType.simpleString(),
                fix="leave the column out, or turn the intervals into numbers of months",
            )
    months = spark.IntegerType()
    return spark.StructType(
        [spark.StructField(f.name, months, f.nullable, f.metadata) if _is_months(f) else f for f in schema.fields]
    )


def readable(frame: DataFrame) -> DataFrame:
    """Give a DataFrame with that schema."""
    columns = [_months(field.name) if _is_months(field) else sql.col(quoted(field.name)) for field in frame.schema]
    return frame.select(*columns) if any(map(_is_months, frame.schema)) else frame


def restored(frame: DataFrame, schema: spark.StructType) -> DataFrame:
    """Give a DataFrame in which columns of ``readable`` have the types of a schema again, in its order."""
    if not any(map(_is_months, schema)):
        return frame
    return frame.select(*(_interval(field) if _is_months(field) else sql.col(quoted(field.name)) for field in schema))


def unused(name: str, names: Sequence[str]) -> str:
    """Give a name that no column has, whether or not Spark tells cases apart."""
    taken = {one.lower() for one in names}
    while name.lower() in taken:
        name += "_"
    return name


def _is_months(field: spark.StructField) -> bool:
    return isinstance(field.dataType, spark.YearMonthIntervalType)


def _has_months(kind: spark.DataType) -> bool:
    match kind:
        case spark.StructType():
            return any(_has_months(field.dataType) for field in kind.fields)
        case spark.ArrayType():
            return _has_months(kind.elementType)
        case spark.MapType():
            return _has_months(kind.keyType) or _has_months(kind.valueType)
    return isinstance(kind, spark.YearMonthIntervalType)


def _months(name: str) -> Column:
    column = sql.col(quoted(name)).cast("interval year to month")
    years, months = (sql.extract(sql.lit(unit), column) for unit in ("YEAR", "MONTH"))
    return (years * 12 + months).cast("int").alias(name)


def _interval(field: spark.StructField) -> Column:
    months = sql.make_ym_interval(sql.lit(0), sql.col(quoted(field.name)))
    return months.cast(field.dataType).alias(field.name)
