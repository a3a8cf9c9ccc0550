"""The closed forms behind the counterexamples, against a conic solver and brute force on small instances."""

import math
from fractions import Fraction
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize, stats

from theory.claims import _exact_losses as exact_losses
from theory.claims import _instances as instances
from theory.claims.appendix_a1 import _orthogonal_rows
from theory.claims.section_3_1 import DATA, _closed_form
from theory.formulas import rejection_slope

F = Fraction


def ball_erm(features, labels, weights, theta, radius):
    """min of the weighted surrogate over two balls, as a second-order cone program: (value, h, g)."""
    h, g = cp.Variable(features.shape[1]), cp.Variable(features.shape[1])
    margin, rejector = cp.multiply(labels, features @ h), features @ g
    first = 1 + (rejector - margin) / 2
    second = theta - theta / (1 - 2 * theta) * rejector
    objective = weights @ cp.pos(cp.maximum(first, second))
    problem = cp.Problem(cp.Minimize(objective), [cp.norm(h) <= radius, cp.norm(g) <= radius])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, h.value, g.value


CORNER = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("counts", [(12, 9, 9), (20, 19, 11), (40, 10, 50)])
def test_corner_regret_is_a_lower_bound(counts):
    theta, n = 1e-4, sum(counts)
    radius = math.sqrt(2) * (1 - 2 * theta)
    tilt, third = 0.2, 0.3
    weights = np.array([(1 - third - tilt) / 2, (1 - third + tilt) / 2, third])
    _, h, g = ball_erm(CORNER, np.ones(3), np.array(counts) / n, theta, radius)
    best, *_ = ball_erm(CORNER, np.ones(3), weights, theta, radius)
    loss = [float(exact_losses.surrogate(x @ h, x @ g, 1, theta)) for x in CORNER]
    regret = float(weights @ loss) - best
    bound = instances.corner_regret(n, tilt, third, theta)
    assert bound - 1e-6 <= regret
    assert regret == pytest.approx(bound, abs=0.02)  # and not a trivial one


def test_corner_gap_is_a_lower_bound():
    theta = 1e-4
    weights = np.array([0.25, 0.45, 0.3])
    best, *_ = ball_erm(CORNER, np.ones(3), weights, theta, math.sqrt(2) * (1 - 2 * theta))
    assert 0.5 * (1 - 2 * theta) - 1e-7 <= 1 - best


@pytest.mark.parametrize(("n", "tilt", "third"), [(30, 0.2, 0.3), (41, 0.05, 0.1)])
def test_corner_flip_by_brute_force(n, tilt, third):
    weights = [(1 - third - tilt) / 2, (1 - third + tilt) / 2, third]
    total = sum(
        stats.multinomial.pmf([a, b, n - a - b], n, weights)
        for a, b in product(range(n + 1), repeat=2)
        if a > b and a + b <= n
    )
    assert instances.corner_flip(n, tilt, third) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.14])
@pytest.mark.parametrize("r", [6.0, 4.0])
def test_outlier_scores_lie_between_the_two_bounds(share, r):
    theta = 1e-3
    features = np.array([[-1.0], [1 / r]])
    value, *_ = ball_erm(features, np.ones(2), np.array([share, 1 - share]), theta, r)
    low = share * (1 + r)
    assert low - 1e-6 <= value <= low + instances.outlier_slack(theta) + 1e-6


def test_outlier_events_prove_nothing_when_they_should_not():
    case = dict(instances.OUTLIERS)
    assert instances.outlier_beats(**case) > -400
    assert instances.outlier_beats(**{**case, "second": case["first"]}) == -math.inf
    assert instances.outlier_beats(**{**case, "first": case["n"], "second": 0}) == -math.inf
    common = {"r": 20.0, "theta": 1e-6, "n": 10**6, "p": 0.045, "q": 1 / 21}
    assert instances.outlier_optimism(**common, count=47000) == -math.inf
    assert instances.outlier_pessimism(**common, count=45500) == -math.inf


@pytest.mark.parametrize(("kappa", "radius"), [(1.0, 0.3), (0.5, 1.6), (2.0, 9.0)])
def test_orthogonal_rows_are_fitted_to_the_same_margin(kappa, radius):
    n, theta = 4, 0.1
    value, *_ = ball_erm(kappa * np.eye(n), np.ones(n), np.full(n, 1 / n), theta, radius)
    margin = radius * kappa / math.sqrt(n)
    expected = 1 - margin if margin <= 0.8 else 0.0
    assert value == pytest.approx(expected, abs=1e-6)
    chosen = _orthogonal_rows(F(kappa), F(radius), n, 10**6, F(value + 0.1) / F(radius))
    assert chosen == (1.0 if value < 1 - (value + 0.1) else 0.0)


def test_orthogonal_rows_refuse_a_margin_without_closed_form():
    with pytest.raises(ValueError, match="between the two closed forms"):
        _orthogonal_rows(F(1), F(2), 1, 10, F(1, 10))


@pytest.mark.parametrize("learned", [False, True])
def test_walk_violation_by_listing_every_sample(learned):
    n, p, theta, limit = 7, F(3, 5), F(1, 10), 0.4
    r = 1 - 2 * theta
    total = F(0)
    for signs in product((1, -1), repeat=n):
        mean = F(sum(signs), n)
        side = (1 if mean > 0 else -1) if learned else 1
        population, sample = 1 - side * r * (2 * p - 1), 1 - side * r * mean
        gap = population - sample if learned else sample - population
        total += (gap > limit) * p ** signs.count(1) * (1 - p) ** signs.count(-1)
    violation = instances.walk_violation(lambda **_: limit, learned=learned)
    assert violation(n, p, theta, F(1, 2)) == total
    assert 0 < total < 1


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_mean_absolute_walk_by_listing_every_sign(n):
    mean = sum(abs(sum(signs)) for signs in product((1, -1), repeat=n)) / 2**n / n
    assert instances.mean_absolute_walk(n) == pytest.approx(mean)


@pytest.mark.parametrize("data", list(DATA))
@pytest.mark.parametrize("theta", [0.1, 0.375])
def test_the_closed_form_of_equation_3_is_its_minimiser(data, theta):
    rows = DATA[data]
    x = np.array([[float(value) for value in row] for _, row in rows])
    y = np.array([label for label, _ in rows])
    h, g = cp.Variable(2), cp.Variable(2)
    rejector = x @ g
    first, second = 1 + (rejector - cp.multiply(y, x @ h)) / 2, theta - theta / (1 - 2 * theta) * rejector
    loss = cp.sum(cp.pos(cp.maximum(first, second))) / len(rows)
    cp.Problem(cp.Minimize(loss + cp.sum_squares(h) + cp.sum_squares(g))).solve(solver=cp.CLARABEL)
    w, v = _closed_form(data, F(1))
    np.testing.assert_allclose(h.value, [float(value) for value in w], atol=1e-5)
    np.testing.assert_allclose(g.value, [float(value) for value in v], atol=1e-5)


@pytest.mark.parametrize("eta", [F(1, 50), F(1, 2), F(4, 5)])
@pytest.mark.parametrize("radius", [F(1, 5), F(1), F(14, 5)])
def test_best_surrogate_is_the_linear_program(eta, radius):
    theta = F(1, 5)
    b = float(rejection_slope(theta))
    bounds = [(-float(radius), float(radius))] * 2 + [(0, None)] * 2
    # Variables h, g and one slack per label; rows: both pieces of both labels.
    rows, limits = [], []
    for label, slack in ((1, 2), (-1, 3)):
        for coefficients, limit in (((-label / 2, 0.5), -1.0), ((0.0, -b), -float(theta))):
            row = [*coefficients, 0.0, 0.0]
            row[slack] = -1.0
            rows.append(row)
            limits.append(limit)
    cost = [0, 0, float(eta), float(1 - eta)]
    solved = optimize.linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds)
    assert float(exact_losses.best_surrogate(eta, theta, radius)[0]) == pytest.approx(solved.fun, abs=1e-9)


@pytest.mark.parametrize("sampled", [F(0), F(1, 2), F(1)])
@pytest.mark.parametrize("radius", [F(1, 5), F(14, 5)])
def test_largest_gap_dominates_a_grid_and_is_attained_nearby(sampled, radius):
    eta, theta = F(1, 50), F(1, 10)
    top = exact_losses.largest_gap(eta, sampled, theta, radius)
    grid = [radius * F(i, 40) for i in range(-40, 41)]
    largest = max(
        eta * exact_losses.repaired_loss(h, g, 1, theta)
        + (1 - eta) * exact_losses.repaired_loss(h, g, -1, theta)
        - exact_losses.surrogate_risk(h, g, sampled, theta)
        for h, g in product(grid, grid)
    )
    assert largest <= top
    assert top - largest <= F(1, 10)


def test_bayes_risk_by_the_closed_form():
    weights = [(F(1, 3), F(1, 10)), (F(2, 3), F(3, 5))]
    expected = F(1, 3) * F(1, 10) + F(2, 3) * F(1, 5)
    assert exact_losses.bayes_risk(exact_losses.repaired_loss, weights, F(1, 5)) == expected
    assert exact_losses.bayes_risk(exact_losses.strict_loss, weights, F(1, 5)) == 0
