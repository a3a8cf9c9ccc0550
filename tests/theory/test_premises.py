"""Premises that a theorem cannot do without: each dropped one has a counterexample or a named place."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from theory import formulas
from theory._bound import BoundArguments
from theory._tails import Tails, _least_entropy, tails_on

THEOREMS = " ".join((Path(__file__).parents[2] / "docs" / "theorems.md").read_text(encoding="utf-8").split())


def without_replacement(n: int, m: int, ceiling: float) -> Tails:
    """The tails of a loss in [0, 1] whose mean is at most ``ceiling``, n of m rows."""
    options = {"kernel": "any", "optimism": "dual", "mean_kappa_lambda": None, "pairing": "same"}
    point = BoundArguments(theta=0.1, r=np.asarray(0.5), population=np.asarray(m), **options)
    tails = tails_on(point, np.asarray(n))
    # The loss with theta = 0.1, r = 1/2 has range 1.
    assert float(tails.spread) == pytest.approx(1.0)
    return replace(tails, fall=np.asarray(ceiling))


def hypergeometric_tail(n: int, m: int, ones: int, least: int) -> float:
    ways = sum(math.comb(ones, k) * math.comb(m - ones, n - k) for k in range(least, min(n, ones) + 1))
    return ways / math.comb(m, n)


def test_the_entropy_form_gains_nothing_without_replacement() -> None:
    """Theorems 3 and 5: the best arm's tail holds for every population of zeros and ones up to 12 rows.

    kl(p + e || p) as a function of p is not symmetric about (1 - e) / 2: at m = 4, n = 1 and a single
    one, e = 3/4, its value there exceeds that at p = 1/4.
    """
    for m in range(2, 13):
        for n in range(1, m):
            for ones in range(1, m):
                tails = without_replacement(n, m, ones / m)
                for least in range(n * ones // m + 1, min(n, ones) + 1):
                    shift = np.asarray(least / n - ones / m)
                    bound = float(tails.log_best_high(shift, np.asarray(0.0)))
                    assert math.log(hypergeometric_tail(n, m, ones, least)) <= bound + 1e-9


def test_an_entropy_form_with_the_gain_would_be_false() -> None:
    """m = 10 with nine ones, n = 9: the mean is 1 with probability 1/10, not below exp(-8)."""
    n, m, ones = 9, 10, 9
    tails = without_replacement(n, m, ones / m)
    gain = float(tails.stiffness) / n
    assert gain > 8
    entropy = math.log(1 / 0.9)
    assert math.exp(-n * gain * entropy) < hypergeometric_tail(n, m, ones, 9) == pytest.approx(0.1)
    assert float(tails.log_best_high(np.asarray(0.1), np.asarray(0.0))) >= math.log(0.1)
    assert r"$\nu$ and the exponents of Theorem 2 multiplied by" in THEOREMS
    assert r"$n$ and not $nw$ in front of $\text{kl}$" in THEOREMS


def test_the_entropy_form_is_the_smallest_entropy_and_applies_to_every_split() -> None:
    """Against a fine grid of p, and 1 - max gap - inf l <= M (1 - e) / 2 for every split up to twice the gap."""
    for epsilon in (1e-3, 0.1, 0.4, 0.75, 0.97):
        for ceiling in np.linspace(0.01, 1, 40) * (1 - epsilon):
            grid = np.linspace(ceiling / 500, ceiling, 500)[:-1]
            q = grid + epsilon
            entropies = q * np.log(q / grid) + (1 - q) * np.log((1 - q) / (1 - grid))
            value = float(_least_entropy(np.asarray(epsilon), np.asarray(ceiling)))
            assert value <= np.min(entropies) * (1 + 1e-9)
            assert (value > 0) == (ceiling <= (1 - epsilon) / 2)
    theta, r, share = np.meshgrid(np.linspace(0.01, 0.49, 25), np.geomspace(0.01, 30, 40), np.linspace(0.01, 1, 20))
    fall, spread = np.asarray(formulas.gap_ceiling(theta, r)), np.asarray(formulas.loss_range(theta, r))
    gap = share * fall
    assert np.all((fall - gap) / spread <= (1 - 2 * gap / spread) / 2 + 1e-12)
