"""The law of a sum of whole numbers over n rows, by convolution of nonnegative numbers: relative errors only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNIT", "SumLaw", "sum_laws"]

Floats = NDArray[np.float64]

#: Unit roundoff of double precision.
UNIT = 2.0**-53
#: Mass that is cut off at each end of a law.
CUT = 1e-30
#: Entries at an end in which the place of the cut is sought first.
_NEAR = 64
#: Up to this many rows a law is built row by row, whose rounding is smallest; up to the second number block by block of
#: so many rows, which is half as exact and takes a tenth of the sums; beyond from two halves.
BLOCK, BLOCKWISE = 24, 400


@dataclass(frozen=True, slots=True)
class SumLaw:
    """P[sum of k = first + i] is mass[i] up to error * mass[i] and what is missing; all else is missing as well.

    Attributes
    ----------
    first
        The sum that belongs to ``mass[0]``.
    mass
        Probabilities.
    missing
        Bound on the whole mass that was cut off, here or from the laws that were added.
    error
        Bound on the relative rounding error of every entry.
    """

    first: int
    mass: Floats
    missing: float
    error: float

    def plus(self, other: SumLaw) -> SumLaw:
        """The law of the sum of two independent sums."""
        short = min(self.mass.size, other.mass.size)
        mass = np.convolve(self.mass, other.mass)
        error = self.error + other.error + (short + 2) * UNIT * 1.01
        law = SumLaw(self.first + other.first, mass, self.missing + other.missing, error)
        return law._cut()

    def _cut(self) -> SumLaw:
        below, above = _light(self.mass), _light(self.mass[::-1])
        if below + above == 0 or below + above >= self.mass.size:
            return self
        kept = self.mass[below : self.mass.size - above]
        return SumLaw(self.first + below, kept, self.missing + 3 * CUT, self.error)

    def on(self, first: int, size: int) -> Floats:
        """The masses of the sums first, ..., first + size - 1."""
        out = np.zeros(size)
        low, high = max(first, self.first), min(first + size, self.first + self.mass.size)
        if low < high:
            out[low - first : high - first] = self.mass[low - self.first : high - self.first]
        return out


def _light(mass: Floats) -> int:
    """How many of the first entries weigh no more than what is cut off, together."""
    # Methods, not functions of numpy: these few lines run hundreds of times per law. A sum has few more entries to cut
    # than what it was made from, so that the first ones mostly tell.
    sums = mass[:_NEAR].cumsum()
    if sums[-1] <= CUT:
        sums = mass.cumsum()
    return int(sums.searchsorted(CUT, side="right"))


def sum_laws(step: Floats, n: int, least: int) -> dict[int, SumLaw]:
    """Laws of the sums over least, ..., n rows, where one row has level k with probability ``step[k]``."""
    # The weights are off by two roundings, their sums over a level by one more.
    one = SumLaw(0, step, 0.0, 4.0 * UNIT)
    law = _power(one, least)
    laws = {least: law}
    for count in range(least + 1, n + 1):
        law = law.plus(one)
        laws[count] = law
    return laws


def _power(one: SumLaw, count: int) -> SumLaw:
    if count > BLOCKWISE:
        half = _power(one, count // 2)
        law = half.plus(half)
        return law.plus(one) if count % 2 else law
    blocks, rest = divmod(count, BLOCK)
    law = _repeated(one, rest)
    block = _repeated(one, BLOCK) if blocks else law
    for _ in range(blocks):
        law = law.plus(block)
    return law


def _repeated(one: SumLaw, count: int) -> SumLaw:
    law = SumLaw(0, np.ones(1), 0.0, 0.0)
    for _ in range(count):
        law = law.plus(one)
    return law
