"""All cases of the differential suite."""

from dataclasses import replace
from typing import Final

import pytest

from integration.differential import aggregation, chains, dedupe, groups, joins, sessions, transforms
from support.case import Case

_MODULES = (aggregation, dedupe, groups, sessions, joins, chains, transforms)

EVERYDAY: list[Case] = [case for module in _MODULES for case in module.CASES]
"""Every operator, each of its modes and formats at least once."""

_SELDOM: Final = {
    "total update",
    "grouped update, unloaded after each batch",
    "dedupe watermark",
    "join inner in range",
    "join full in range",
    "dedupe, window",
    "grouped, full write buffers",
    "window update, format 1",
    "dedupe composite",
    "pandas state, no timeout",
    "groups map, format 1",
    "sessions dynamic gap",
    "transform rows",
    "join right in range",
    "join left_semi in range",
    "join full by window",
    "dedupe, limit",
    "window, window",
    "session, window",
    "transform pandas",
}
"""Another case has the same operator every day; these run in make test-all."""

_CORE: Final = {
    "grouped update",
    "window append",
    "dedupe within watermark",
    "sessions append",
    "join inner unbounded",
    "groups append",
    "transform with ttl",
}
"""One case of each operator: they run on the older Spark every day too."""


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] * (case.name in _SELDOM) + [pytest.mark.core] * (case.name in _CORE)


by_name = pytest.mark.parametrize("case", [pytest.param(c, id=c.name, marks=_marks(c)) for c in EVERYDAY])
"""Parametrizes a test by case."""

ALL: list[Case] = EVERYDAY + [case for module in _MODULES for case in module.MORE_CASES]
"""Every combination."""


def longer(case: Case) -> Case:
    """Returns the case with twice as many batches, each of up to three times as many rows, and all it can compare."""
    shape = replace(case.shape, batches=2 * case.shape.batches, rows=min(3 * case.shape.rows, 4000))
    return replace(case, shape=shape, history=True)
