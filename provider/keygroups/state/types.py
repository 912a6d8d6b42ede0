"""Types of state, from Spark's DDL: ``"bigint"``, ``"array<string>"``, ``"user string, n bigint"``.

A descriptor is made in the Python worker, where there is no JVM whose parser could be asked.
Source: ``singleDataType`` and ``singleTableSchema`` of Spark's ``SqlBaseParser.g4``; ``DataType.fromDDL`` of PySpark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pyspark.sql import types as spark

from keygroups.state.errors import StateError

_SIMPLE: Final[dict[str, Callable[[], spark.DataType]]] = {
    "boolean": spark.BooleanType,
    "tinyint": spark.ByteType,
    "byte": spark.ByteType,
    "smallint": spark.ShortType,
    "short": spark.ShortType,
    "int": spark.IntegerType,
    "integer": spark.IntegerType,
    "bigint": spark.LongType,
    "long": spark.LongType,
    "float": spark.FloatType,
    "real": spark.FloatType,
    "double": spark.DoubleType,
    "date": spark.DateType,
    "timestamp": spark.TimestampType,
    "timestamp_ltz": spark.TimestampType,
    "timestamp_ntz": spark.TimestampNTZType,
    "string": spark.StringType,
    "binary": spark.BinaryType,
    "void": spark.NullType,
}
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|\w+|[<>(),:])")
_YEAR_MONTH: Final = {"year": 0, "month": 1}
_DAY_TIME: Final = {"day": 0, "hour": 1, "minute": 2, "second": 3}


def parse_type(given: str | spark.DataType) -> spark.DataType:
    """Give a type.

    Args:
        given: A ``DataType``, or DDL: one type, or columns with their types, which make a struct.

    Raises:
        StateError: It is neither, or the DDL is wrong; the message has the place.
    """
    if isinstance(given, spark.DataType):
        return given
    if not isinstance(given, str):
        raise StateError(
            "a type is missing", expected="Spark DDL or a DataType", found=repr(given), fix='write it as "bigint"'
        )
    try:
        return _Parser(given).columns()
    except StateError:
        return _Parser(given).only_type()


def nullable(kind: spark.DataType) -> spark.DataType:
    """Give a type in which each part may be None."""
    match kind:
        case spark.StructType():
            fields = [spark.StructField(f.name, nullable(f.dataType), metadata=f.metadata) for f in kind.fields]
            return spark.StructType(fields)
        case spark.ArrayType():
            return spark.ArrayType(nullable(kind.elementType))
        case spark.MapType():
            return spark.MapType(nullable(kind.keyType), nullable(kind.valueType))
    return kind


def part_without_equality(kind: spark.DataType) -> spark.DataType | None:
    """Give the first part of a type whose equal values may have different bytes, or None.

    Keys are found by their bytes: those of a map are in the order of its entries, and texts that a collation takes for
    equal are written differently.
    """
    match kind:
        case spark.StructType():
            return next(filter(None, (part_without_equality(field.dataType) for field in kind.fields)), None)
        case spark.ArrayType():
            return part_without_equality(kind.elementType)
        case spark.StringType():
            return None if kind.isUTF8BinaryCollation() else kind
    return kind if isinstance(kind, spark.MapType) else None


class _Parser:
    """One pass over the words of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found:
                raise self._wrong(text[at:].strip()[:10])
            self._words.append(found[1])
            at = found.end()
        self._next = 0

    def columns(self) -> spark.StructType:
        fields = self._fields()
        self._end()
        return spark.StructType(fields)

    def only_type(self) -> spark.DataType:
        found = self._type()
        self._end()
        return found

    def _type(self) -> spark.DataType:
        word = self._word().lower()
        if word in _SIMPLE:
            return _SIMPLE[word]()
        composite: dict[str, Callable[[], spark.DataType]] = {
            **dict.fromkeys(("decimal", "dec", "numeric"), self._decimal),
            **dict.fromkeys(("char", "character"), lambda: spark.CharType(self._length())),
            "varchar": lambda: spark.VarcharType(self._length()),
            "array": self._array,
            "map": self._map,
            "struct": self._struct,
            "interval": self._interval,
        }
        if word not in composite:
            raise self._wrong(word)
        return composite[word]()

    def _array(self) -> spark.ArrayType:
        self._expect("<")
        element = self._type()
        self._expect(">")
        return spark.ArrayType(element)

    def _map(self) -> spark.MapType:
        self._expect("<")
        key = self._type()
        self._expect(",")
        value = self._type()
        self._expect(">")
        return spark.MapType(key, value)

    def _decimal(self) -> spark.DecimalType:
        if not self._skip("("):
            return spark.DecimalType()
        precision, scale = self._number(), 0
        if self._skip(","):
            scale = self._number()
        self._expect(")")
        return spark.DecimalType(precision, scale)

    def _length(self) -> int:
        self._expect("(")
        length = self._number()
        self._expect(")")
        return length

    def _struct(self) -> spark.StructType:
        self._expect("<")
        fields = [] if self._peek() == ">" else self._fields()
        self._expect(">")
        return spark.StructType(fields)

    def _fields(self) -> list[spark.StructField]:
        found = [self._field()]
        while self._skip(","):
            found.append(self._field())
        return found

    def _field(self) -> spark.StructField:
        name = self._word()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        elif not re.fullmatch(r"\w+", name) or name.isdecimal():
            raise self._wrong(name)
        self._skip(":")
        kind = self._type()
        nullable = not (self._skip("not") and self._expect("null"))
        comment = self._word()[1:-1].replace("''", "'") if self._skip("comment") else None
        return spark.StructField(name, kind, nullable, {"comment": comment} if comment else None)

    def _interval(self) -> spark.DataType:
        first = self._word().lower()
        last = self._word().lower() if self._skip("to") else first
        for units, kind in ((_YEAR_MONTH, spark.YearMonthIntervalType), (_DAY_TIME, spark.DayTimeIntervalType)):
            if first in units and last in units:
                return kind(units[first], units[last])
        raise self._wrong(f"interval {first} to {last}")

    def _number(self) -> int:
        word = self._word()
        if not word.isdecimal():
            raise self._wrong(word)
        return int(word)

    def _peek(self) -> str:
        return self._words[self._next].lower() if self._next < len(self._words) else ""

    def _word(self) -> str:
        if self._next == len(self._words):
            raise self._wrong("the end")
        self._next += 1
        return self._words[self._next - 1]

    def _skip(self, word: str) -> bool:
        same = self._peek() == word
        self._next += same
        return same

    def _expect(self, word: str) -> bool:
        if not self._skip(word):
            raise self._wrong(self._peek() or "the end")
        return True

    def _end(self) -> None:
        if self._next < len(self._words):
            raise self._wrong(self._peek())

    def _wrong(self, found: str) -> StateError:
        return StateError(
            f"{self._text!r} is no type", expected="Spark DDL, such as 'bigint' or 'user string, n bigint'", found=found
        )
