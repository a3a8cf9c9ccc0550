"""Ball arithmetic: every number is an interval that contains the true value, rounding included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

__all__ = ["ball", "digits"]


@contextmanager
def digits(bits: int) -> Iterator[None]:
    """Compute with this many bits inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Any) -> Any:
    """Return the number as a ball; integers, fractions and floats are taken exactly, up to the ball's own rounding."""
    if isinstance(value, arb):
        return value
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))
