"""Any Python object as the value of a state, where a user asks for it."""

from __future__ import annotations

from typing import Any, Final

from pyspark.serializers import CPickleSerializer
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

_SERIALIZER: Final[Any] = CPickleSerializer()


class PickleType(BinaryType):
    """Type of values that are pickled; Spark sees binary.

    Nobody but Python can read them, no check finds that a class has changed, and reading them runs code: use it only
    where no type of Spark will do, and only on checkpoints that you trust.
    """

    @classmethod
    def typeName(cls) -> str:  # noqa: N802 - PySpark's name
        """Give the type that Spark sees."""
        return BinaryType.typeName()


def pickle(value: Any) -> bytes:
    """Give an object as bytes.

    Raises:
        TypeError: It cannot be pickled.
    """
    try:
        pickled: bytes = _SERIALIZER.dumps(value)
    except Exception as error:
        raise TypeError(f"{type(value).__name__} cannot be pickled: {error}") from error
    return pickled


def unpickle(data: Any) -> Any:
    """Give the object."""
    return _SERIALIZER.loads(bytes(data))


def has_pickles(kind: DataType) -> bool:
    """Tell whether a type is that of pickled values, or has one in it."""
    match kind:
        case StructType():
            return any(has_pickles(field.dataType) for field in kind.fields)
        case ArrayType():
            return has_pickles(kind.elementType)
        case MapType():
            return has_pickles(kind.keyType) or has_pickles(kind.valueType)
    return isinstance(kind, PickleType)
