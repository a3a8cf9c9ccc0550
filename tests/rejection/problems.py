"""Random problems for the tests of the solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from exml_sim import kernels
from exml_sim._internal.arrays import FloatArray
from exml_sim.losses import surrogate_loss


@dataclass(frozen=True)
class Case:
    """Arguments of a solve."""

    gram: FloatArray
    y: FloatArray
    theta: float
    weights: FloatArray

    def risk(self, h: FloatArray, g: FloatArray) -> float:
        """Weighted sum of the surrogate losses, by the public loss."""
        return float(self.weights @ surrogate_loss(h, g, self.y, self.theta))


@st.composite
def cases(draw: st.DrawFn, max_rows: int = 60) -> Case:
    """Problems of every awkward kind: duplicates, zero weights, one class, rank one, linear kernel."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, max_rows))
    kind = draw(st.sampled_from(["gaussian", "narrow", "linear", "rank one", "duplicates", "zero row"]))
    X = rng.normal(size=(m, draw(st.integers(1, 4))))
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, m // 3), size=m)]
    if kind == "rank one":
        X = X[:, :1]
    if kind == "zero row":
        X[0] = 0.0
    gram = {
        "gaussian": lambda: kernels.gaussian(X, gamma=2.0),
        "narrow": lambda: kernels.gaussian(X, gamma=0.05),
        "duplicates": lambda: kernels.gaussian(X, gamma=2.0),
    }.get(kind, lambda: kernels.linear(X))()
    y = rng.choice([-1.0, 1.0], size=m)
    if draw(st.booleans()) and draw(st.booleans()):
        y = np.full(m, y[0])
    weights = draw(st.sampled_from(["ones", "counts", "uneven"]))
    p = {
        "ones": lambda: np.ones(m),
        "counts": lambda: rng.multinomial(2 * m, np.full(m, 1 / m)).astype(float),
        "uneven": lambda: 10.0 ** rng.uniform(-2, 2, size=m),
    }[weights]()
    if not np.any(p > 0):
        p[0] = 1.0
    return Case(gram, y, draw(st.floats(0.01, 0.49)), p)


def penalties() -> st.SearchStrategy[tuple[float, float]]:
    """Pairs (C_h, C_g) from 1e-3 to 1e3."""
    result = st.floats(-3.0, 3.0).map(lambda e: 10.0**e)
    return st.tuples(result, result)


def radii() -> st.SearchStrategy[float]:
    """Ball radii from deep inside the affine regime to balls that hardly bind."""
    return st.floats(-1.5, 2.0).map(lambda e: 10.0**e)


def table(m: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of d columns with two classes that bend around each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    score = np.sin(2.0 * X[:, 0]) + X[:, -1] * X[:, d // 2] + 0.5 * rng.normal(size=m)
    return X, np.where(score > 0, 1.0, -1.0)
