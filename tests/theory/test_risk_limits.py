"""Limits of the risk from counts: exact enumeration of all outcomes, the worst adaptive sequence, planted errors."""

from __future__ import annotations

import math
from functools import cache, partial

import pytest

from theory.risk_limits import _upper_mean, limit_mean_risk, limit_risk
from theory.verdicts import clopper_pearson

DELTA = 0.05
RISKS = [(0.5, 0.05), (0.9, 0.3), (0.3, 0.0), (1.0, 0.2), (0.6, 0.6), (0.05, 0.01), (0.0, 0.0)]


def miss_probability(limit, accept: float, wrong: float, rows: int, theta: float) -> float:
    """P[risk > limit] over the trinomial distribution of (rejected, right, wrong) rows."""
    risk, total = theta * (1 - accept) + wrong, 0.0
    for errors in range(rows + 1):
        for right in range(rows - errors + 1):
            if risk <= limit(right + errors, errors, rows, theta, DELTA) + 1e-12:
                continue
            ways = math.comb(rows, errors) * math.comb(rows - errors, right)
            total += ways * wrong**errors * (accept - wrong) ** right * (1 - accept) ** (rows - errors - right)
    return total


@pytest.mark.parametrize("limit", [limit_risk, limit_mean_risk])
@pytest.mark.parametrize("theta", [0.1, 0.3, 0.45])
def test_the_risk_is_above_its_limit_with_probability_delta_at_most(limit, theta: float) -> None:
    limit = cache(limit)
    for rows in (1, 7, 16):
        for accept, wrong in RISKS:
            assert miss_probability(limit, accept, wrong, rows, theta) <= DELTA


def test_a_limit_of_one_count_alone_is_caught() -> None:
    """Planted errors: the observed share of wrong rows, or of accepted rows, in place of its limit."""

    def observed_errors(accepted, wrong, rows, theta, delta):
        return theta * (1 - clopper_pearson(accepted, rows, delta / 2)[0]) + wrong / rows

    def observed_accepted(accepted, wrong, rows, theta, delta):
        return theta * (1 - accepted / rows) + clopper_pearson(wrong, rows, delta / 2)[1]

    assert miss_probability(observed_errors, 0.9, 0.3, 30, 0.1) > DELTA
    assert (
        miss_probability(observed_accepted, 0.3, 0.0, 30, 0.45)
        <= DELTA
        < miss_probability(
            lambda *given: observed_accepted(*given) - clopper_pearson(0, 30, DELTA / 2)[1], 0.3, 0.0, 30, 0.45
        )
    )


def test_choosing_among_models_needs_the_union() -> None:
    """Many independent models of one risk: the one with the lowest limit is chosen. Planted error: models=1."""
    models, theta, rows = 40, 0.1, 30

    def some_miss(counted: int) -> float:
        limit = lambda a, w, n, t, d: limit_risk(a, w, n, t, d, counted)  # noqa: E731
        return 1 - (1 - miss_probability(limit, 0.9, 0.3, rows, theta)) ** models

    assert some_miss(models) <= DELTA
    assert some_miss(1) > 2 * DELTA


def worst_sequence(upper, rows: int, choices: tuple[int, ...], unit: int) -> float:
    """Largest P[mean conditional probability > upper(count)] over all adaptive sequences, by dynamic programming.

    Probabilities are whole multiples of 1 / unit, so that sums are exact.
    """
    limits = [upper(count) for count in range(rows + 1)]

    @cache
    def value(row: int, count: int, total: int) -> float:
        if row == rows:
            return float(total > limits[count] * unit * rows * (1 + 1e-12))
        return max(
            share / unit * value(row + 1, count + 1, total + share)
            + (1 - share / unit) * value(row + 1, count, total + share)
            for share in choices
        )

    return value(0, 0, 0)


@pytest.mark.parametrize(("rows", "choices"), [(12, (0, 1, 4, 7, 10)), (24, (0, 1, 2, 5)), (24, (0, 3, 9))])
def test_no_adaptive_sequence_beats_the_limit(rows: int, choices: tuple[int, ...]) -> None:
    for level in (0.1, 0.01):
        limits = partial(_upper_mean, rows=rows, level=level)
        assert worst_sequence(limits, rows, choices, 10) <= level


def test_limits_for_a_fixed_model_fail_for_a_sequence() -> None:
    """Planted error: Clopper and Pearson's limit, which an adaptive sequence exceeds too often."""
    fixed = worst_sequence(lambda count: clopper_pearson(count, 24, 0.1)[1], 24, (0, 1, 2, 5, 10), 10)
    assert fixed > 0.1


def test_limits_fall_below_the_cost_of_rejecting_everything() -> None:
    assert limit_risk(300, 0, 600, 0.1, DELTA, 8) < 0.07
    assert limit_mean_risk(300, 0, 600, 0.1, DELTA, 2) < 0.08
    assert limit_risk(0, 0, 600, 0.1, DELTA) > 0.1


def test_limits_rise_with_errors_models_and_confidence() -> None:
    for limit in (limit_risk, limit_mean_risk):
        base = limit(150, 6, 300, 0.1, DELTA)
        assert limit(150, 7, 300, 0.1, DELTA) > base
        assert limit(149, 6, 300, 0.1, DELTA) > base
        assert limit(150, 6, 300, 0.1, DELTA, 2) > base
        assert limit(150, 6, 300, 0.1, DELTA / 2) > base


@pytest.mark.parametrize("given", [(5, 6, 10, 0.1, 0.05), (11, 0, 10, 0.1, 0.05), (0, 0, 0, 0.1, 0.05)])
def test_impossible_counts_are_refused(given) -> None:
    with pytest.raises(ValueError, match="0 <= wrong <= accepted <= rows"):
        limit_risk(*given)


@pytest.mark.parametrize(("theta", "delta"), [(0.5, 0.05), (0.0, 0.05), (0.1, 0.0), (0.1, 1.0)])
def test_levels_outside_of_their_ranges_are_refused(theta: float, delta: float) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        limit_mean_risk(1, 0, 2, theta, delta)
