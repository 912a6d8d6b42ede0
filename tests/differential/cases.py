"""All cases of the differential suite."""

from dataclasses import replace

from differential import aggregation, chains, dedupe, groups, joins, sessions, transforms
from support.case import Case

_MODULES = (aggregation, dedupe, groups, sessions, joins, chains, transforms)

EVERYDAY: list[Case] = [case for module in _MODULES for case in module.CASES]
"""Every operator, each of its modes and formats at least once."""

ALL: list[Case] = EVERYDAY + [case for module in _MODULES for case in module.MORE_CASES]
"""Every combination."""


def longer(case: Case) -> Case:
    """Returns the case with twice as many batches, each of up to three times as many rows, and all it can compare."""
    shape = replace(case.shape, batches=2 * case.shape.batches, rows=min(3 * case.shape.rows, 4000))
    return replace(case, shape=shape, history=True)
