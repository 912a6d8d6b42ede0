"""Names of side outputs."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import DataType

from keygroups.state.errors import StateError
from keygroups.state.other_names import also_named
from keygroups.state.types import parse_type


@also_named(type_info="type")
@dataclass(frozen=True, init=False)
class OutputTag:
    """A side output, to which a function writes with ``yield tag, row``.

    Args:
        tag_id: Its name.
        type: Type of its rows: Spark DDL or a ``DataType``.

    Raises:
        StateError: The name is empty, or the type is missing or wrong.
    """

    tag_id: str
    type: DataType

    def __init__(self, tag_id: str, type: str | DataType) -> None:  # noqa: A002 - PyFlink has type_info here
        """Check both."""
        if not tag_id or tag_id.__class__ is not str:
            raise StateError("a side output has no name", expected="a text that is not empty", found=repr(tag_id))
        object.__setattr__(self, "tag_id", tag_id)
        object.__setattr__(self, "type", parse_type(type))
