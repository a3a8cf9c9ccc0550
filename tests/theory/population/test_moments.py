"""Moments against enumeration, counts of multigraphs against sequences of pairs, distributions against fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import comb

import numpy as np
import pytest

from tests.theory.population.small_pools import samples
from theory.population import _moments as moments
from theory.population._moments import (
    GRAPHS,
    VERTICES,
    ConditionalMoments,
    conditional_moments,
    falling,
    projection,
    sum_distributions,
)


def case(seed: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(m, m))
    p = rng.dirichlet(np.full(m, 0.8)) * 0.9 + 0.1 / m
    return S + S.T + 3.0 * np.diag(rng.normal(size=m)) - 1.0, p / p.sum()


def enumerated(S: np.ndarray, p: np.ndarray, n: int, conditional: ConditionalMoments) -> float:
    """Largest difference between the moments and those of all samples, in units of the moments' size.

    No mass is cut off in these small cases, so the first value belongs to the sum 0.
    """
    counts, chance = samples(p, n)
    g = projection(S, p, n)
    # The lattice again, from its definition: the levels are the nearest steps between the ends.
    width = (g.max() - g.min()) / 6
    L = counts @ np.rint((g - g.min()) / width)
    Z = np.einsum("sx,xy,sy->s", counts, S, counts) / n**2
    worst = 0.0
    for i, value in enumerate(conditional.value):
        at = np.abs(L - round(float((value - conditional.value[0]) * n / width))) < 0.5
        U = (Z[at] - value) / conditional.unit
        exact = np.array([np.sum(chance[at] * U**r) for r in range(1, len(conditional.moments) + 1)])
        size = np.array([np.sum(chance[at] * np.abs(U) ** r) for r in range(1, len(conditional.moments) + 1)])
        worst = max(worst, float(np.max(np.abs(exact - conditional.moments[:, i]) / (1.0 + size))))
        worst = max(worst, abs(float(chance[at].sum()) - float(conditional.mass[i])))
    return worst


@pytest.mark.parametrize(("m", "n"), [(3, 2), (4, 3), (3, 5), (4, 6), (3, 9)])
@pytest.mark.parametrize("order", [2, 4])
def test_moments_equal_those_of_all_samples(m: int, n: int, order: int) -> None:
    for seed in range(4):
        S, p = case(seed, m)
        assert enumerated(S, p, n, conditional_moments(S, p, n, order=order, levels=6)) < 1e-12


@pytest.mark.parametrize("graph", [("double",), ("edge", "edge"), ("triangle",), ("square",), ("paw",), ("fork",)])
def test_a_wrong_count_of_a_graph_is_caught(graph: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    order = next(order for order, graphs in GRAPHS.items() if graph in graphs)
    wrong = {**GRAPHS, order: {**GRAPHS[order], graph: GRAPHS[order][graph] * 2}}
    monkeypatch.setattr(moments, "graph_sums", partial(moments.graph_sums, graphs=wrong))
    S, p = case(1, 4)
    assert enumerated(S, p, 6, conditional_moments(S, p, 6, order=4, levels=6)) > 1e-6


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_counts_add_up_to_all_sequences(order: int) -> None:
    for n in range(2, 12):
        total = sum(count * falling(n, sum(VERTICES[name] for name in names)) for names, count in GRAPHS[order].items())
        assert total == (n * (n - 1)) ** order


def test_the_distribution_of_a_sum_is_exact_far_into_its_tails() -> None:
    step = np.array([0.75, 0.25])
    for n in (1, 7, 60, 401, 900):
        total = sum_distributions(step, n, max(n - 3, 0))[n]
        for i in range(0, total.mass.size, max(1, total.mass.size // 40)):
            k = total.first + i
            exact = float(Fraction(comb(n, k)) * Fraction(1, 4) ** k * Fraction(3, 4) ** (n - k))
            assert abs(total.mass[i] - exact) <= total.error * exact + total.missing
        assert abs(1.0 - total.mass.sum()) <= total.error + total.missing
        assert total.missing < 1e-26


def test_the_cut_of_a_distribution_is_counted() -> None:
    total = sum_distributions(np.array([0.5, 0.5]), 1000, 992)[1000]
    outside = sum(Fraction(comb(1000, k), 2**1000) for k in range(total.first))
    assert 0 < float(outside) <= total.missing


@pytest.mark.parametrize(("m", "n"), [(4, 6), (5, 4)])
def test_rounding_errors_are_covered(m: int, n: int) -> None:
    for seed in range(6):
        S, p = case(seed, m)
        conditional = conditional_moments(S, p, n, order=4, levels=5)
        exact = fraction_moments(S, p, n, conditional)
        assert np.all(np.abs(conditional.moments - exact) <= conditional.errors + 1e-300)
        assert np.all(conditional.errors <= 1e-6 * (1.0 + np.abs(exact)))


def fraction_moments(S: np.ndarray, p: np.ndarray, n: int, conditional: ConditionalMoments) -> np.ndarray:
    """The same moments in fractions; U is Z - l with the floating point S and l taken as exact numbers."""
    m = len(p)
    exact_S = [[Fraction(float(S[i, j])) for j in range(m)] for i in range(m)]
    exact_p = [Fraction(float(q)) for q in p]
    counts, _ = samples(p, n)
    g = projection(S, p, n)
    width = (g.max() - g.min()) / 5
    k = np.rint((g - g.min()) / width).astype(int)
    out = [[Fraction(0)] * len(conditional.value) for _ in conditional.moments]
    for row in counts.tolist():
        ways = Fraction(1)
        left = n
        for q, c in zip(exact_p, row, strict=True):
            ways *= comb(left, c) * q**c
            left -= c
        Z = sum(row[i] * row[j] * exact_S[i][j] for i in range(m) for j in range(m)) / n**2
        at = int(np.dot(row, k))
        U = (Z - Fraction(float(conditional.value[at]))) / Fraction(conditional.unit)
        for r in range(len(out)):
            out[r][at] += ways * U ** (r + 1)
    return np.array([[float(value) for value in line] for line in out])
