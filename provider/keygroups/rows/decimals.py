"""Decimals as numbers of their last digit, exactly: Python's operations round to the context of the thread."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

_EXACT: Final = Context(prec=80, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999)
"""Twice the 38 digits that Spark has at most."""


def unscaled(value: Decimal, scale: int) -> int:
    """Give the number of units of the last digit, rounded half up as Spark does."""
    return int(value.scaleb(scale, _EXACT).to_integral_value(ROUND_HALF_UP, _EXACT))


def scaled(number: int, scale: int) -> Decimal:
    """Give the decimal of a number of units."""
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


def added(one: Decimal, other: Decimal | int) -> Decimal:
    """Give a sum with all its digits."""
    return _EXACT.add(one, other)


def fitted(value: Decimal, precision: int, scale: int) -> Decimal:
    """Give a value as a column of some precision has it, with all digits of the scale.

    Raises:
        ValueError: It is not finite, or has more digits: it is not rounded.
    """
    if not value.is_finite():
        raise ValueError("it is not finite")
    too_long = value != 0 and value.adjusted() > precision  # 0E+12 is 0
    if too_long or abs(number := unscaled(value, scale)) >= 10**precision:
        raise ValueError(f"it has more than {precision - scale} digits before the point")
    found = scaled(number, scale)
    if found != value:
        raise ValueError(f"it has more than {scale} digits after the point: round it with quantize")
    return found
