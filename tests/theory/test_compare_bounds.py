"""The bound comparison never rises from the correction on, and says why a value is empty."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests.theory.points import BoundProblem, points
from theory import corrected, formulas, paper, tighter


@given(
    points(),
    st.sampled_from(["uniform", "median"]),
    st.sampled_from(["fresh", "accumulated"]),
    st.integers(0, 99),
)
def test_order(p: BoundProblem, strategy: str, rows: str, seed: int) -> None:
    K = min(p.K, 9)
    budget = p.n * K * (1 if strategy == "uniform" else 2 * (K - 1).bit_length())
    gaps = np.random.default_rng(seed).uniform(p.gap, float(formulas.gap_ceiling(p.theta, p.r)), K - 1)
    gaps[-1] = p.gap
    values = theory.compare_bounds(
        budget, K, None, p.theta, p.r, gaps=gaps, strategy=strategy, rows=rows,
        kernel="nonnegative", population=4 * budget,
    )  # fmt: skip
    assert [value.name for value in values] == [
        "paper",
        "corrected",
        "tighter, symmetrised",
        "tighter",
        "tighter, per-arm gaps",
        "tighter, nonnegative kernel",
        "tighter, without replacement",
    ]
    logs = [float(value.log_value) for value in values]
    for higher, lower in itertools.pairwise(logs[1:]):
        assert lower <= higher + 1e-9 * max(1.0, abs(higher))
    covered = formulas.loss_range(p.theta, p.r) <= 3 and (strategy == "uniform" or K in (2, 4, 8))
    if covered:
        assert logs[1] <= logs[0] + 1e-9 * max(1.0, abs(logs[0]))
    assert (values[0].note == "") == covered


def test_bound_values_are_the_bounds_themselves() -> None:
    point = (16000, 8, 0.2, 0.1, 0.5)
    values = theory.compare_bounds(*point)
    assert [value.value for value in values] == [
        paper.delta_fail_uniform(*point),
        corrected.delta_fail_uniform(*point),
        tighter.delta_fail_uniform(*point, optimism="rademacher"),
        tighter.delta_fail_uniform(*point),
    ]
    assert [value.vacuous for value in values] == [True, False, False, False]
    median = theory.compare_bounds(160000, 8, 0.2, 0.1, 0.5, strategy="median", rows="fresh")
    assert median[0].value == paper.delta_fail_median(160000, 8, 0.2, 0.1, 0.5)
    assert median[-1].value == tighter.delta_fail_median(160000, 8, 0.2, 0.1, 0.5, rows="fresh")


def test_empty_bound_values_say_why() -> None:
    values = theory.compare_bounds(400, 8, 0.2, 0.1, 0.5)
    assert np.isnan(values[0].log_value)
    assert values[0].vacuous
    assert "identification condition" in values[0].note
    assert values[-1].note == ""
    far = theory.compare_bounds(10**7, 8, 0.5, 0.1, 5.0)
    assert "does not cover M > 3, and M = 6" in far[0].note
    outside = theory.compare_bounds(10**4, 8, 0.2, 0.7, 0.5)
    assert all("theta < 1/2" in value.note for value in outside)
    infeasible = theory.compare_bounds(10**4, 8, 0.6, 0.1, 0.5)
    assert all("Delta_max" in value.note for value in infeasible)


@pytest.mark.parametrize("strategy", ["uniform", "median"])
@pytest.mark.parametrize("rows", ["fresh", "accumulated"])
@pytest.mark.parametrize("ties", range(7))
def test_tied_arms_are_counted_and_the_bound_values_do_not_rise(strategy: str, rows: str, ties: int) -> None:
    """Without the count, the median's one-gap values lack the factor |S*| and the comparison rises."""
    gaps = [0.0] * ties + [0.2] * (7 - ties)
    values = theory.compare_bounds(15360, 8, None, 0.1, 0.5, gaps=gaps, strategy=strategy, rows=rows)
    logs = [float(value.log_value) for value in values[1:]]
    assert all(lower <= higher + 1e-9 for higher, lower in itertools.pairwise(logs))
    assert ("ties" in values[0].note) == (ties > 0)
    if strategy == "median":
        fixed = {"best_count": 1 + ties, "rows": rows, "log": True}
        assert logs[0] == corrected.delta_fail_median(15360, 8, 0.2, 0.1, 0.5, **fixed)
        assert logs[2] == tighter.delta_fail_median(15360, 8, 0.2, 0.1, 0.5, **fixed)


def test_the_note_names_a_number_of_arms_that_the_proof_does_not_cover() -> None:
    point = (4739293, 9, 0.10222809101766894, 0.3391731136148113, 2.0185077606784065)
    values = theory.compare_bounds(*point, strategy="median", rows="fresh")
    # Here the printed bound is below its correction, and M < 3.
    assert values[0].log_value < values[1].log_value
    assert values[0].note == "the paper's proof does not cover K = 9, which is not a power of two"
    assert theory.compare_bounds(*point)[0].note == ""
    assert "K = 9," in theory.compare_bounds(10**7, [8, 9], 0.2, 0.1, 0.5, strategy="median")[0].note


def test_arrays() -> None:
    values = theory.compare_bounds([400, 16000], 8, 0.2, 0.1, 0.5)
    assert values[0].vacuous.tolist() == [True, True]
    assert values[-1].vacuous.tolist() == [True, False]
    assert np.isnan(values[0].value[0])
