"""Ball arithmetic: every number is an interval that contains the true value, rounding included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq


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


class Balls:
    """The backend of :mod:`theory.formulas` for balls."""

    def q(self, numerator: int, denominator: int = 1) -> Any:
        """Return a quotient of integers."""
        return arb(fmpq(numerator, denominator))

    def sqrt(self, x: Any) -> Any:
        """Return the square root."""
        return ball(x).sqrt()

    def log(self, x: Any) -> Any:
        """Return the natural logarithm."""
        return ball(x).log()

    def exp(self, x: Any) -> Any:
        """Return the exponential."""
        return ball(x).exp()

    def lgamma(self, x: Any) -> Any:
        """Return the logarithm of the gamma function."""
        return ball(x).lgamma()

    def max(self, first: Any, *others: Any) -> Any:
        """Return the largest value."""
        largest = ball(first)
        for value in others:
            largest = largest.max(ball(value))
        return largest

    def min(self, *values: Any) -> Any:
        """Return the smallest value."""
        return -self.max(*(-ball(value) for value in values))


BALLS = Balls()


def enclose(formula: Callable[..., Any], *numbers: Any) -> Any:
    """Evaluate a formula of :mod:`theory.formulas` on balls around the numbers."""
    return formula(*map(ball, numbers), xp=BALLS)
