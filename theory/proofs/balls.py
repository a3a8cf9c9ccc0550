"""Ball arithmetic as a backend: every number is an interval that holds the true value, rounding included.

`Balls` evaluates a formula on Arb balls. `Jet` carries the partial derivatives along, so that the branch and bound of
`theory.proofs.boxes` can use mean values and monotonicity.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

__all__ = ["Balls", "Jet", "Jets", "ball", "digits", "interval"]


@contextmanager
def digits(bits: int) -> Iterator[None]:
    """Work with this many bits inside."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Any) -> Any:
    """The number as a ball: integers, fractions and floats are taken exactly (up to the ball's own rounding)."""
    if isinstance(value, arb):
        return value
    if isinstance(value, bool | int):
        return arb(int(value))
    if isinstance(value, fmpq):
        return arb(value)
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def interval(low: Any, high: Any) -> Any:
    """The smallest ball that holds both ends."""
    return ball(low).union(ball(high))


def _root(x: Any) -> Any:
    """The root, where it is defined for every number of the ball."""
    return x.nonnegative_part().sqrt() if x >= 0 else arb("nan")


class Balls:
    """The backend that computes with Arb balls."""

    def q(self, num: int, den: int = 1) -> Any:
        """num / den."""
        return arb(fmpq(num, den))

    def sqrt(self, x: Any) -> Any:
        """Square root; not a number if the ball holds negative ones."""
        return x.sqrt() if isinstance(x, Jet) else _root(ball(x))

    def log(self, x: Any) -> Any:
        """Natural logarithm."""
        return x.log() if isinstance(x, Jet) else ball(x).log()

    def exp(self, x: Any) -> Any:
        """Exponential."""
        return x.exp() if isinstance(x, Jet) else ball(x).exp()

    def max(self, *values: Any) -> Any:
        """The largest."""
        largest = values[0]
        for value in values[1:]:
            jet = largest if isinstance(largest, Jet) else value
            largest = (
                jet.larger(value if jet is largest else largest)
                if isinstance(jet, Jet)
                else ball(largest).max(ball(value))
            )
        return largest

    def min(self, *values: Any) -> Any:
        """The smallest."""
        return -self.max(*(-value for value in values))


class Jets(Balls):
    """The backend whose constants are jets too, so that no operation forgets that a number is undefined."""

    def __init__(self, width: int) -> None:
        self._flat = tuple(arb(0) for _ in range(width))

    def lift(self, value: Any) -> Jet:
        """The number as a jet."""
        return value if isinstance(value, Jet) else Jet(ball(value), self._flat)

    def q(self, num: int, den: int = 1) -> Jet:
        """num / den."""
        return self.lift(super().q(num, den))

    def sqrt(self, x: Any) -> Jet:
        """Square root."""
        return self.lift(x).sqrt()

    def log(self, x: Any) -> Jet:
        """Natural logarithm."""
        return self.lift(x).log()

    def exp(self, x: Any) -> Jet:
        """Exponential."""
        return self.lift(x).exp()


class Jet:
    """A value and its partial derivatives, all of them balls."""

    __slots__ = ("slopes", "value")

    def __init__(self, value: Any, slopes: tuple[Any, ...]) -> None:
        self.value, self.slopes = value, slopes

    def _other(self, value: Any) -> Jet:
        return value if isinstance(value, Jet) else Jet(ball(value), tuple(arb(0) for _ in self.slopes))

    def _chain(self, value: Any, slope: Any) -> Jet:
        return Jet(value, tuple(slope * one for one in self.slopes))

    def __add__(self, value: Any) -> Jet:
        other = self._other(value)
        return Jet(self.value + other.value, tuple(a + b for a, b in zip(self.slopes, other.slopes, strict=True)))

    def __mul__(self, value: Any) -> Jet:
        other = self._other(value)
        slopes = (a * other.value + self.value * b for a, b in zip(self.slopes, other.slopes, strict=True))
        return Jet(self.value * other.value, tuple(slopes))

    def __truediv__(self, value: Any) -> Jet:
        other = self._other(value)
        inverse = 1 / other.value
        return self * other._chain(inverse, -inverse * inverse)

    def __neg__(self) -> Jet:
        return self._chain(-self.value, arb(-1))

    def __sub__(self, value: Any) -> Jet:
        return self + (-self._other(value))

    def __rsub__(self, value: Any) -> Jet:
        return self._other(value) - self

    def __rtruediv__(self, value: Any) -> Jet:
        return self._other(value) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Jet:
        if exponent == 0:
            return self * 0 + 1  # not 1: what is not a number stays so
        return self._chain(self.value**exponent, exponent * self.value ** (exponent - 1))

    def sqrt(self) -> Jet:
        """Square root; not a number if the ball holds negative ones, and at zero the slope has no bound."""
        root = _root(self.value)
        return self._chain(root, 1 / (2 * root))

    def log(self) -> Jet:
        """Natural logarithm."""
        return self._chain(self.value.log(), 1 / self.value)

    def exp(self) -> Jet:
        """Exponential."""
        value = self.value.exp()
        return self._chain(value, value)

    def larger(self, value: Any) -> Jet:
        """The larger of two; where it is not clear which, the slopes are those of both."""
        other = self._other(value)
        if self.value >= other.value:
            return self
        if other.value >= self.value:
            return other
        slopes = tuple(a.union(b) for a, b in zip(self.slopes, other.slopes, strict=True))
        return Jet(self.value.max(other.value), slopes)
