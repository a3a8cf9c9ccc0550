"""Slack anatomy: the factors multiply to bound / truth, and each is what its name says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests.theory.affine_world import World, compositions, exact_uniform, loses, multinomial
from tests.theory.points import BoundProblem, points
from theory import constants, paper

UNIFORM = [
    "constant 4",
    "2/9 in place of 2/M^2",
    "Rademacher term for the best arm",
    "Rademacher constant c in place of c*",
    "symmetrisation in place of duality",
    "smallest gap for every arm",
    "floors",
]


@given(
    points(),
    st.floats(-40, 0),
    st.sampled_from(["uniform", "median"]),
    st.sampled_from(["fresh", "accumulated"]),
)
def test_factors_multiply_to_the_total(p: BoundProblem, log_truth: float, strategy: str, rows: str) -> None:
    K = min(p.K, 12)
    budget = p.n * K * (1 if strategy == "uniform" else 2 * (K - 1).bit_length()) + 1
    anatomy = theory.decompose_slack(
        budget, K, p.gap, p.theta, p.r, float(np.exp(log_truth)), strategy=strategy, rows=rows
    )
    bound = paper.delta_fail_uniform if strategy == "uniform" else paper.delta_fail_median
    assert anatomy.log_bound == bound(budget, K, p.gap, p.theta, p.r, log=True)
    assert anatomy.total == pytest.approx(anatomy.log_bound - log_truth, rel=1e-12, abs=1e-9)
    scale = max(abs(anatomy.log_bound), 1.0)
    assert sum(factor.log for factor in anatomy.factors) == pytest.approx(anatomy.total, abs=1e-9 * scale)


@given(points())
def test_ingredients_that_can_only_lose(p: BoundProblem) -> None:
    anatomy = theory.decompose_slack(p.budget + p.K - 1, p.K, p.gap, p.theta, p.r, 0.5)
    logs = {factor.name: factor.log for factor in anatomy.factors}
    assert list(logs) == [*UNIFORM, "tail inequality and union bound"]
    assert logs["constant 4"] == pytest.approx(np.log(4))
    for name in UNIFORM[2:]:
        assert logs[name] >= -1e-9 * max(1.0, abs(anatomy.log_bound))
    spread = constants.loss_range(p.theta, p.r)
    if abs(spread - 3) > 1e-6:
        assert (logs["2/9 in place of 2/M^2"] > 0) == (spread < 3)


def test_an_exact_instance_down_to_the_union_bound() -> None:
    """A world with four arms whose truth and pairwise probabilities are enumerated."""
    features = np.array([[[1.0], [1.0], [0.2]], [[0.5], [-0.4], [0.3]], [[0.1], [0.6], [-1.0]], [[-0.2], [0.3], [0.1]]])
    world = World(np.array([0.5, 0.4, 0.1]), np.array([1, 1, 1]), features, 0.1, 0.8).sorted()
    n, gaps = 120, world.gaps()
    counts = compositions(n, 3)
    mass, scores = multinomial(counts, world.probabilities), world.scores(counts / n)
    truth = exact_uniform(world, n)
    rivals = sum(mass[loses(scores, np.array([i]))].sum() for i in range(1, 4))
    anatomy = theory.decompose_slack(4 * n + 3, 4, None, 0.1, 0.8, truth, gaps=gaps, expected_rivals=rivals)
    logs = {factor.name: factor.log for factor in anatomy.factors}
    assert list(logs) == [*UNIFORM, "tail inequality", "union bound"]
    assert logs["union bound"] == pytest.approx(np.log(rivals / truth))
    assert 0 <= logs["union bound"] < np.log(3)
    assert logs["tail inequality"] > 0
    assert logs["smallest gap for every arm"] > 0
    assert logs["floors"] > 0
    assert np.prod([factor.value for factor in anatomy.factors]) == pytest.approx(
        paper.delta_fail_uniform(4 * n + 3, 4, gaps.min(), 0.1, 0.8) / truth
    )


def test_median_elimination_has_its_own_factors() -> None:
    anatomy = theory.decompose_slack(
        24 * 4000, 8, None, 0.1, 0.5, 1e-9, strategy="median", gaps=[0.2, 0.2, 0.3, 0.3, 0.4, 0.4, 0.5],
        expected_rivals=[1e-9, 1e-12, 0.0],
    )  # fmt: skip
    logs = {factor.name: factor.log for factor in anatomy.factors}
    assert list(logs) == [
        "log2 K in place of whole rounds",
        "geometric series",
        "Markov at half the arms",
        "accumulated rows",
        *UNIFORM,
        "tail inequality",
        "Markov and union over rounds",
    ]
    # K is a power of two: both first rounds agree, and the series over 2^(t-1) n_1 beats that over t n_1.
    assert logs["log2 K in place of whole rounds"] == pytest.approx(0, abs=1e-12)
    assert logs["geometric series"] > 0
    assert logs["Markov and union over rounds"] == pytest.approx(np.log(1e-9 / 4 + 1e-12 / 2) - np.log(1e-9))
    fresh = theory.decompose_slack(24 * 4000, 8, 0.2, 0.1, 0.5, 1e-9, strategy="median", rows="fresh")
    assert {factor.name: factor.log for factor in fresh.factors}["accumulated rows"] == 0


def test_five_arms_pay_for_the_printed_logarithm() -> None:
    anatomy = theory.decompose_slack(10**5, 5, 0.2, 0.1, 0.5, 1e-9, strategy="median")
    assert anatomy.factors[0].name == "log2 K in place of whole rounds"
    assert anatomy.factors[0].log < 0
    # Between the two launch budgets the series with whole rounds has no sum: the step is left out.
    n_1 = int(16 * (1.125 * 0.5 / 0.2) ** 2) + 1
    budget = int(np.ceil(n_1 * 5 * np.log2(5)))
    below = theory.decompose_slack(budget, 5, 0.2, 0.1, 0.5, 1e-9, strategy="median")
    assert below.factors[0].name == "geometric series"
    assert sum(factor.log for factor in below.factors) == pytest.approx(below.total)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"truth": 0.0}, "truth must be a probability"),
        ({"truth": 1.5}, "truth must be a probability"),
        ({"gap": None}, "either gap"),
        ({"gap": None, "gaps": [0.2, 0.0, 0.2]}, "gaps must hold K - 1 = 3 positive numbers"),
        ({"strategy": "luck"}, "strategy must be"),
        ({"strategy": "median", "rows": "old"}, "rows must be"),
        ({"expected_rivals": [0.1, 0.2]}, "expected_rivals must hold 1 numbers"),
        ({"B": 8}, "identification condition"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    point: dict[str, object] = {
        "B": 10**5,
        "K": 4,
        "gap": 0.2,
        "theta": 0.1,
        "kappa_lambda": 0.5,
        "truth": 0.01,
    }
    with pytest.raises(ValueError, match=message):
        theory.decompose_slack(**{**point, **arguments})  # type: ignore[arg-type]


def test_huge_factors_become_infinite_not_an_error() -> None:
    assert theory.Factor("tail", 1e4).value == np.inf
