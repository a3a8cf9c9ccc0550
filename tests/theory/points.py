"""Random instances for property tests: always feasible, from easy to extreme."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from theory import constants


@dataclass(frozen=True)
class Point:
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
def points(draw: st.DrawFn, largest_n: int = 10**7) -> Point:
    """A feasible instance; n, r and the gap on logarithmic scales."""
    theta = draw(st.floats(0.005, 0.495))
    r = 10 ** draw(st.floats(-2, 1.2))
    ceiling = float(constants.gap_ceiling(theta, r))
    gap = ceiling * 10 ** draw(st.floats(-2.5, 0.0))
    n = int(10 ** draw(st.floats(0, 7)))
    return Point(min(n, largest_n), draw(st.integers(2, 64)), gap, theta, r)
