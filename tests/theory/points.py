"""Random instances for property tests: always feasible, from easy to extreme."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import strategies as st
from mpmath import mpf

from theory import formulas

# Rows per arm, K, gap, theta, kappa_lambda; all above the launch budget of the lemmas.
TABLE = [
    (300, 8, 0.2, 0.1, 0.5),
    (2000, 8, 0.3, 0.2, 0.5),
    (4000, 16, 0.5, 0.4, 1.0),
    (10000, 2, 0.5, 0.1, 2.0),
    (50000, 64, 0.5, 0.1, 5.0),
    (232200, 5, 0.05, 0.3, 0.3),
    (60000, 9, 0.25, 0.25, 0.9),
    (10**12, 3, 0.01, 0.05, 0.9),
]


def range_of_loss(theta: float, r: float) -> mpf:
    """M, from the corners of the ball where Eq. 2 is largest and smallest."""
    theta, r = mpf(theta), mpf(r)
    top = max(1 + r, theta + theta * r / (1 - 2 * theta))
    bottom = 1 - r if r <= 1 - 2 * theta else max(theta * (3 - 2 * theta - r), mpf(0))
    return top - bottom


@dataclass(frozen=True)
class BoundProblem:
    """Parameters of a bound; ``gap`` never exceeds its ceiling."""

    n: int
    K: int
    gap: float
    theta: float
    r: float

    @property
    def budget(self) -> int:
        return self.n * self.K

    @property
    def rest(self) -> tuple[int, float, float, float]:
        return (self.K, self.gap, self.theta, self.r)


@st.composite
def points(draw: st.DrawFn, *, launched: bool = True, smallest_r: float = 0.01) -> BoundProblem:
    """A feasible instance; n, r and the gap on logarithmic scales.

    With ``launched`` the rows exceed the launch budget of Lemma 1 by a factor up to 1000; without it
    they may be anything from 1 to 10^7.
    """
    theta = draw(st.floats(0.005, 0.495))
    r = 10 ** draw(st.floats(math.log10(smallest_r), 1.2))
    ceiling = float(formulas.gap_ceiling(theta, r))
    gap = ceiling * 10 ** draw(st.floats(-2.5, 0.0))
    K = draw(st.integers(2, 64))
    if launched:
        launch_rows = 16 * (float(formulas.rademacher_constant(theta)) * r / gap) ** 2
        return BoundProblem(int(launch_rows * 10 ** draw(st.floats(0, 3))) + 1, K, gap, theta, r)
    return BoundProblem(int(10 ** draw(st.floats(0, 7))), K, gap, theta, r)
