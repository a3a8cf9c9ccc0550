"""The windows of a pool's bound, chosen side by side, against one offer after the other in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import inf, isinf, sqrt

import numpy as np
import pytest

from theory.population import _affine as affine
from theory.population._affine import FormMoments, choose_windows, form_moments

ROWS = 8


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer cuts and fewer values of t: plain loops over all of them take long."""
    monkeypatch.setattr(affine, "_CUTS", np.array([-2.0, -0.6, 0.6, 2.0]))
    monkeypatch.setattr(affine, "_STEPS", 5)


def random_moments(rng: np.random.Generator, nodes: int) -> FormMoments:
    """The moments of forms M of random rivals, and of A and B of a best arm that is better than they are."""
    p = rng.dirichlet(np.ones(ROWS))
    forms = []
    for size in (*[0.25] * nodes, 1.0, 1.0):
        X = rng.normal(size=(ROWS, 3)) * size + rng.uniform(0.3, 0.8)
        forms.append(X @ X.T / 3.0)
    return form_moments(forms, p)


def offers(ts: np.ndarray, weights: np.ndarray, low: float, high: float) -> Iterator[list[float]]:
    """The forms of Theorem 11 for one window, t by t, one multiple of one condition at a time."""
    for t, mix in zip(ts, weights, strict=True):
        k = t / (1.0 + t)
        on_a = -k * (1.0 if isinf(high) else 1.0 + 2.0 / (low + high))
        on_b = -k * (1.0 + 2.0 * low if isinf(high) else 1.0 + 2.0 * low * high / (low + high))
        yield [*mix, on_a, on_b]
        for times in affine._MULTIPLES:
            if low > 0.0:
                yield [*mix, on_a + times, on_b - times * low**2]
            if not isinf(high):
                yield [*mix, on_a - times, on_b + times * high**2]


def chance(form: list[float], moments: FormMoments, n: int, order: int) -> float:
    """The normal approximation for one form, sums written out."""
    h, d, z1, z2 = moments
    size = range(len(form))
    mean = sum(form[i] * ((1.0 - 1.0 / n) * h[i] + d[i] / n) for i in size)
    if mean >= 0.0:
        return 1.0
    linear = sqrt(max(4.0 / n * sum(form[i] * z1[i, j] * form[j] for i in size for j in size), 0.0))
    rest = sqrt(max(2.0 / n**2 * sum(form[i] * z2[i, j] * form[j] for i in size for j in size), 1e-300))
    total = 0.0
    for node, weight in zip(affine._NODES, affine._WEIGHTS, strict=True):
        z = min(max(-(mean + linear * node) / rest, 0.0), 1e30)
        total += weight / (1.0 + z**2 + (max(z**2 - 1.0, 0.0) ** 2 / 3.0 if order == 4 else 0.0))
    return float(total / sum(affine._WEIGHTS))


def disagreement(seed: int) -> float:
    """The largest difference between the two ways: of the sum over the windows, and of a window's own estimate."""
    rng = np.random.default_rng(seed)
    nodes = [0.3] if seed % 3 == 0 else [0.2, 0.5, 0.9]
    moments, n, order, top = (
        random_moments(rng, len(nodes)),
        int(rng.integers(20, 300)),
        (2, 4)[seed % 2],
        (1.0, inf)[seed % 2],
    )
    chosen = choose_windows(moments, nodes, n, top, order)
    assert [entry.low for entry in chosen] == [0.0, *(entry.high for entry in chosen[:-1])]
    assert chosen[-1].high == top
    cuts = [float(cut) for cut in affine._cuts(moments, n, top)]
    ts, weights = affine._between(nodes)

    @cache
    def least(low: float, high: float) -> float:
        return min(chance(form, moments, n, order) for form in offers(ts, weights, low, high))

    @cache
    def rest(first: int) -> float:
        """The smallest sum of the windows from a cut on."""
        if first == len(cuts) - 1:
            return 0.0
        return min(least(cuts[first], cuts[then]) + rest(then) for then in range(first + 1, len(cuts)))

    worst = abs(sum(entry.estimate for entry in chosen) - rest(0))
    for entry in chosen:
        own = chance([*entry.on_forms, entry.on_a, entry.on_b], moments, n, order)
        worst = max(worst, abs(entry.estimate - own), abs(entry.estimate - least(entry.low, entry.high)))
    return worst


def test_side_by_side_is_one_by_one() -> None:
    for seed in range(6):
        assert disagreement(seed) < 1e-10, seed


def test_the_random_pools_are_no_trivial_ones() -> None:
    """More than one window, and probabilities that are neither 0 nor 1."""
    values = [
        choose_windows(random_moments(np.random.default_rng(s), 3), [0.2, 0.5, 0.9], 100, 1.0, 4) for s in range(6)
    ]
    assert max(len(entry) for entry in values) > 1
    assert any(1e-6 < window.estimate < 0.5 for entry in values for window in entry)


@pytest.mark.parametrize("wrong", ["every other is left out", "lower ends are mixed up", "the linear part is lost"])
def test_an_error_in_what_is_offered_is_found(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    offered, tail = affine._offers, affine.approximate_tail
    if wrong == "every other is left out":
        monkeypatch.setattr(affine, "_offers", lambda *given: offered(*given)[:, ::2])
    elif wrong == "lower ends are mixed up":
        monkeypatch.setattr(affine, "_offers", lambda ts, weights, low, high: offered(ts, weights, low[::-1], high))
    else:
        monkeypatch.setattr(
            affine,
            "approximate_tail",
            lambda forms, moments, n, order: tail(forms, (*moments[:2], 0 * moments[2], moments[3]), n, order),
        )
    assert max(disagreement(seed) for seed in range(6)) > 1e-8
