"""Types from DDL; `integration/rows` compares them with what Spark's own parser reads."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from pyspark.sql import types as spark_types

from keygroups.state.errors import StateError
from keygroups.state.types import parse_type
from support.typed_rows import TYPES


@given(TYPES)
def test_each_type_comes_back(kind: spark_types.DataType) -> None:
    assert parse_type(kind.simpleString()) == kind
    assert parse_type(kind) is kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bigin",
        "array<int",
        "map<int>",
        "a int b",
        "decimal(x)",
        "decimal(1, 2, 3)",
        "char",
        "varchar()",
        "interval day to year",
        "a int,",
        "array<struct<0: int>>",
    ],
)
def test_a_wrong_text_is_shown_with_the_place(text: str) -> None:
    with pytest.raises(StateError, match=r"is no type .expected Spark DDL, .*found "):
        parse_type(text)


@pytest.mark.parametrize("given_type", [None, int, 5])
def test_a_type_is_needed(given_type: object) -> None:
    """Rows D1, D4."""
    with pytest.raises(StateError, match="a type is missing"):
        parse_type(cast(Any, given_type))
