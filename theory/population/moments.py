"""Exact moments of a quadratic statistic given a linear one that lives on a lattice, with bounds on their rounding.

Z = sum_{j,k} S(x_j, x_k) / n^2 over n independent rows. Its projection g(x) = S(x, x)/n + 2(1 - 1/n) (Sp)(x) is rounded
to a lattice, L is the mean of the rounded projection, and U = Z - L keeps the rest, rounding included. E[U^r; L = l]
is then a sum of convolutions, see `theory.population.graphs`; nothing is approximated but by floating point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.population.graphs import Floats, Levels, graph_polynomials, moment_polynomials
from theory.population.law import UNIT, SumLaw, sum_laws

__all__ = ["LEVELS", "Conditional", "conditional_moments", "placed", "projection", "rounding", "with_errors"]

#: Number of steps between the least and the largest value of the projection.
LEVELS = 16
#: Most values of the lattice.
_LARGEST = 1_600_000
#: Rounding error of the fourth moment, in units of the standard deviation, above which it is bounded more finely.
_COARSE = 1e-3


@dataclass(frozen=True, slots=True)
class Conditional:
    """The law of L and the moments of U on {L = l}, for every l of the lattice.

    Attributes
    ----------
    value
        The values l.
    mass
        Upper bounds on P[L = l].
    moments
        E[(U / unit)^r; L = l] for r = 1, ..., order, shape (order, values).
    errors
        Bounds on the rounding errors of the moments, same shape.
    unit
        The standard deviation of U, about.
    slack
        Bound on |Z - L - U|, which is rounding only.
    missing
        Bound on the probability of all other l.
    mass_error
        Bound on the relative excess of the masses, ``2 * missing`` aside.
    """

    value: Floats
    mass: Floats
    moments: Floats
    errors: Floats
    unit: float
    slack: float
    missing: float
    mass_error: float = 0.0


def projection(S: Floats, p: Floats, n: int) -> Floats:
    """g(x) = S(x, x)/n + 2(1 - 1/n) (Sp)(x)."""
    return np.asarray(np.diagonal(S) / n + 2.0 * (1.0 - 1.0 / n) * (S @ p), dtype=np.float64)


def conditional_moments(
    S: Floats, p: Floats, n: int, *, order: int = 2, levels: int = LEVELS, step: float | None = None
) -> Conditional:
    """Moments of the statistic with kernel S over n rows that are drawn independently from p.

    Parameters
    ----------
    S
        Symmetric kernel, shape (m, m).
    p
        Weights of the rows, positive, with sum 1.
    n
        Number of rows, at least 2.
    order
        2 or 4.
    levels
        Number of steps of the lattice, fewer for very many rows.
    step
        Distance of two values of L, instead of a number of steps.
    """
    g = projection(S, p, n)
    low = float(g.min())
    steps = min(levels, _LARGEST // n)
    width = (float(g.max()) - low) / max(steps, 1) if step is None else step * n
    # A projection that is constant up to rounding has one level.
    flat = step is None and (steps == 0 or width <= 1e-12 * max(1e-300, float(np.abs(S).max())))
    width = width if not flat else 1.0
    k = np.zeros(len(g), dtype=np.int64) if flat else np.rint((g - low) / width).astype(np.int64)
    rounded = low + width * k
    mean = float(p @ S @ p) * (1.0 - 1.0 / n) + float(p @ np.diagonal(S)) / n
    centre = float(p @ rounded) - mean
    t = np.diagonal(S) / n - rounded
    G = S / n**2 + (t[:, None] + t[None, :]) / (2.0 * n * (n - 1)) + centre / (n * (n - 1))
    rows = Levels.of(k, p)
    G = G[np.ix_(rows.order, rows.order)]
    scale = max(float(np.abs(S).max()), float(np.abs(rounded).max()), abs(centre))
    spread = 2.0 * n * (n - 1) * float(rows.p @ (G * G) @ rows.p)
    unit = max(float(np.sqrt(spread)), 1e-9 * scale, 1e-300)
    value, mass, moments, errors, missing, excess = _convolved(G / unit, rows, n, order)
    # Each entry of G, and each value of L, comes from fewer than 16 roundings of numbers below 4 * scale.
    slack = 64.0 * UNIT * scale
    return Conditional(low + width * value / n - centre, mass, moments, errors, unit, slack, missing, excess)


def _convolved(G: Floats, rows: Levels, n: int, order: int) -> tuple[Floats, Floats, Floats, Floats, float, float]:
    laws = sum_laws(rows.law(), n, max(n - 2 * order, 0))

    def moments(kernel: Floats) -> Floats:
        return _moments(kernel, rows, n, order, laws)

    missing = max(entry.missing for entry in laws.values())
    relative = rounding(len(G), rows.top, order) + 2.0 * max(entry.error for entry in laws.values())
    mass, found, errors = with_errors(G, moments, laws[n], missing, relative, n, order)
    value = (laws[n].first + np.arange(mass.size)).astype(np.float64)
    return value, mass, found, errors, missing, 4.0 * laws[n].error


def with_errors(
    G: Floats,
    moments: Callable[[Floats], Floats],
    law: SumLaw,
    missing: float,
    relative: float,
    n: int,
    order: int,
) -> tuple[Floats, Floats, Floats]:
    """Masses that are upper bounds, moments of the kernel G on n rows, and bounds on their rounding errors.

    ``moments`` maps a kernel to its moments by sums of products, ``relative`` bounds the rounding of one product.
    """
    mass = law.mass * (1.0 + 2.0 * law.error) + missing
    # All terms in absolute value add up to at most (n(n-1) max|G|)^r P[L = l], because those of every graph do.
    reach = n * (n - 1) * float(np.abs(G).max()) * (1.0 + 1e-12)
    powers = (reach ** np.arange(1, order + 1))[:, None]
    sizes = powers * mass
    if relative * float(powers[-1, 0]) > _COARSE:
        # For many rows that is too coarse, and the terms in absolute value are added up themselves.
        sizes = np.minimum(sizes, moments(np.abs(G)) * (1.0 + 4.0 * relative))
    return mass, moments(G), relative * sizes + missing * powers


def _moments(G: Floats, rows: Levels, n: int, order: int, laws: dict[int, SumLaw]) -> Floats:
    """Sums over graphs of the graph's polynomial times the law of the other rows, shape (order, values)."""
    law = laws[n]
    moments = np.zeros((order, law.mass.size))
    for r, by_size in enumerate(moment_polynomials(graph_polynomials(G, rows, order), n, order)):
        for v, poly in by_size.items():
            moments[r] += placed(laws[n - v], poly, law)
    return moments


def placed(others: SumLaw, poly: Floats, law: SumLaw) -> Floats:
    """The product of a polynomial and the law of the other rows, at the values of the law of all rows."""
    before = others.on(law.first - poly.size + 1, law.mass.size + poly.size - 1)
    return np.convolve(before, poly, mode="valid")


def rounding(m: int, top: int, order: int) -> float:
    """Relative rounding of one coefficient: at most this many operations stand between an entry of G and it."""
    operations = 8 * m + 64 * (top + 1) + 8 * order * top + 200
    return operations * UNIT * 1.01
