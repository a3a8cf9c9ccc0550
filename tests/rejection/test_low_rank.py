"""The low-rank path: the factor, the solver on it, and bounds for the full kernel against the exact path."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from exml_sim import kernels
from exml_sim.rejection import (
    EXACT_ROWS,
    ConvergenceWarning,
    LowRankFactor,
    RejectionClassifier,
    Solution,
    factorise,
    solve,
    solve_low_rank,
)
from exml_sim.rejection._large import Setting, lower_bound

from .problems import table


def full_kernel(factor: LowRankFactor) -> np.ndarray:
    if factor.kernel == "linear":
        return kernels.linear(factor.points)
    return kernels.gaussian(factor.points, gamma=factor.gamma)


def encloses(low: Solution, exact: Solution) -> bool:
    """Whether the bounds of the low-rank path enclose the optimum, which the exact path knows to within its gap."""
    return low.lower_bound <= exact.objective and exact.lower_bound <= low.objective


class TestFactor:
    @pytest.mark.parametrize(("kernel", "d"), [("gaussian", 3), ("gaussian", 10), ("linear", 4), ("linear", 40)])
    def test_is_part_of_the_kernel_matrix(self, kernel: str, d: int) -> None:
        X, _ = table(200, d)
        factor = factorise(X, kernel=kernel, rank=30)
        K = full_kernel(factor)
        rest = K - factor.values @ factor.values.T
        assert np.linalg.eigvalsh(rest)[0] >= -1e-12 * np.trace(K)
        np.testing.assert_allclose(np.diag(rest), factor.rest, atol=1e-12 * np.max(np.diag(K)))
        assert factor.left_out == pytest.approx(np.trace(rest) / np.trace(K), abs=1e-12)
        np.testing.assert_allclose(factor.triangle @ factor.triangle.T, factor.cross(factor.landmarks), atol=1e-12 * d)

    def test_ends_where_nothing_is_left(self) -> None:
        X, _ = table(300, 3)
        assert factorise(X, kernel="linear", rank=50).rank == 3
        doubled = np.repeat(X[:20], 10, axis=0)
        factor = factorise(doubled, gamma=1.0, rank=60)
        assert factor.rank == 20
        assert factor.left_out <= 1e-12

    def test_constant_columns_and_zero_rows(self) -> None:
        X, _ = table(100, 2)
        padded = np.column_stack([X, np.full(100, 1e6)])
        near = factorise(padded, gamma=2.0, rank=100)
        np.testing.assert_allclose(near.values @ near.values.T, kernels.gaussian(X, gamma=2.0), atol=1e-6)
        nothing = factorise(np.zeros((5, 2)), kernel="linear", rank=3)
        solution = solve_low_rank(nothing, [1, -1, 1, 1, -1], 0.2, penalty=(1.0, 1.0))
        exact = solve(np.zeros((5, 5)), [1, -1, 1, 1, -1], 0.2, penalty=(1.0, 1.0))
        assert solution.objective == pytest.approx(exact.objective)

    def test_the_same_rows_give_the_same_factor(self) -> None:
        X, _ = table(150, 4)
        first, second = factorise(X, rank=20), factorise(X, rank=20)
        np.testing.assert_array_equal(first.values, second.values)
        assert not np.array_equal(first.landmarks, factorise(X, rank=20, seed=1).landmarks)

    def test_rows_taken_out_keep_the_landmarks(self) -> None:
        X, _ = table(120, 3)
        factor = factorise(X, rank=15)
        rows = np.arange(0, 120, 7)
        part = factor.take(rows)
        assert len(part) == len(rows)
        np.testing.assert_array_equal(part.values, factor.values[rows])
        np.testing.assert_array_equal(part.landmarks, factor.landmarks)

    def test_a_bandwidth_below_rounding_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the distance of a row to itself is not 0, a tiny bandwidth leaves nothing of the kernel."""
        monkeypatch.setattr("exml_sim.rejection._factor.gaussian_cross", lambda X, Z, *rest: np.zeros((len(X), len(Z))))
        with pytest.raises(ValueError, match="gamma 1e-59 is below the rounding of squared distances"):
            factorise([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]], gamma=1e-59, rank=2)

    def test_a_quotient_beyond_all_floats_is_a_kernel_value_of_0(self) -> None:
        assert kernels.gaussian([[0.0], [1e9]], gamma=1e-300)[0, 1] == 0.0


CASES = [  # rows, columns, kernel, rank, theta, C_h, C_g
    (300, 2, "gaussian", 40, 0.3, 1.0, 1.0),
    (300, 2, "gaussian", 5, 0.45, 0.1, 0.5),
    (300, 8, "gaussian", 60, 0.2, 1.0, 1.0),
    (300, 8, "gaussian", 300, 0.2, 0.01, 0.1),
    (300, 3, "linear", 20, 0.4, 1.0, 0.1),
    (300, 60, "linear", 25, 0.3, 10.0, 1.0),
    (900, 4, "gaussian", 150, 0.3, 1.0, 1.0),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("certificate", ["streamed", "trace"])
def test_bounds_enclose_the_full_optimum(case: tuple, certificate: str) -> None:
    m, d, kernel, rank, theta, c_h, c_g = case
    X, y = table(m, d, seed=m + d)
    factor = factorise(X, kernel=kernel, rank=rank)
    low = solve_low_rank(factor, y, theta, penalty=(c_h, c_g), certificate=certificate, slack=0)
    quick = solve_low_rank(factor, y, theta, penalty=(c_h, c_g), certificate=certificate)
    exact = solve(full_kernel(factor), y, theta, penalty=(c_h, c_g))
    assert encloses(quick, exact)
    assert quick.gap <= 1.2 * low.gap + 1e-8 * low.objective
    assert quick.iterations <= low.iterations
    assert encloses(low, exact)
    assert (low.method, low.rank, exact.rank) == ("low-rank", factor.rank, None)
    assert 0.0 <= low.gap - low.rank_gap <= 1e-8 * max(1.0, low.objective)
    # The model at the rows is the function of the published coefficients.
    np.testing.assert_allclose(low.h, factor.cross(X) @ low.u, atol=1e-9 * (1 + np.abs(low.h).max()))
    np.testing.assert_allclose(low.g, factor.cross(X) @ low.w, atol=1e-9 * (1 + np.abs(low.g).max()))


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(2, 60),
    st.integers(1, 5),
    st.sampled_from(["gaussian", "linear"]),
    st.floats(0.02, 0.48),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.sampled_from(["streamed", "trace"]),
)
def test_bounds_enclose_random_problems(
    seed: int, m: int, d: int, kernel: str, theta: float, log_h: float, log_g: float, certificate: str
) -> None:
    """Duplicates, weights of 0 and uneven ones, any rank, against the exact path."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))[rng.integers(0, m, size=m)]
    y = rng.choice([-1.0, 1.0], size=m)
    weights = rng.choice([0.0, 1.0, 3.0, 0.01], size=m)
    weights[0] = 1.0
    penalty = (10.0**log_h, 10.0**log_g)
    factor = factorise(X, kernel=kernel, gamma=2.0, rank=int(rng.integers(1, m + 1)))
    low = solve_low_rank(factor, y, theta, weights=weights, penalty=penalty, certificate=certificate)
    exact = solve(full_kernel(factor), y, theta, weights=weights, penalty=penalty)
    slack = 1e-13 * m * (1.0 + exact.objective)  # two Gram matrices that differ in their last bits
    assert low.lower_bound <= exact.objective + slack
    assert exact.lower_bound <= low.objective + slack
    assert np.all((low.alpha >= 0) & (low.beta >= 0) & (low.alpha + low.beta <= weights * (1 + 1e-12)))


def exact_dual(X: np.ndarray, y: np.ndarray, theta: float, c: tuple[float, float], s: Solution, gamma: float) -> Any:
    """The full problem's dual at the published point, kernel and all in 50 digits."""
    with mpmath.workdps(50):
        t, b = mpmath.mpf(theta), 1 / (1 - 2 * mpmath.mpf(theta))
        alpha, beta = [mpmath.mpf(float(v)) for v in s.alpha], [mpmath.mpf(float(v)) for v in s.beta]
        points = [[mpmath.mpf(float(v)) for v in row] for row in X]
        pulls = [
            [int(yi) * ai for yi, ai in zip(y, alpha, strict=True)],
            [t * b * bi - ai / 2 for ai, bi in zip(alpha, beta, strict=True)],
        ]
        forms = [mpmath.mpf(0), mpmath.mpf(0)]
        for i, x in enumerate(points):
            for j, z in enumerate(points):
                k = mpmath.exp(-sum((p - q) ** 2 for p, q in zip(x, z, strict=True)) / mpmath.mpf(gamma))
                for f in range(2):
                    forms[f] += pulls[f][i] * pulls[f][j] * k
        return sum(alpha) + t * sum(beta) - forms[0] / (16 * mpmath.mpf(c[0])) - forms[1] / (4 * mpmath.mpf(c[1]))


@pytest.mark.parametrize("certificate", ["streamed", "trace"])
@pytest.mark.parametrize(("shift", "theta", "rank"), [(0.0, 0.3, 4), (1000.0, 0.49, 10), (3.0, 0.05, 25)])
def test_the_lower_bound_is_true_in_fifty_digits(certificate: str, shift: float, theta: float, rank: int) -> None:
    X, y = table(25, 2, seed=3)
    X = X + shift
    low = solve_low_rank(factorise(X, gamma=1.5, rank=rank), y, theta, penalty=(0.5, 0.25), certificate=certificate)
    dual = exact_dual(X, y, theta, (0.5, 0.25), low, 1.5)
    assert low.lower_bound <= dual
    if certificate == "streamed":
        assert dual - low.lower_bound <= 1e-9 * (1.0 + abs(dual))  # and not by waste


def test_the_upper_bound_is_true_in_rational_numbers() -> None:
    """A linear kernel on dyadic points is exact: loss and norm of the published model, in fractions."""
    rng = np.random.default_rng(0)
    X = rng.integers(-16, 17, size=(30, 5)) / 8
    y = rng.choice([-1.0, 1.0], size=30)
    factor = factorise(X, kernel="linear", rank=3)
    low = solve_low_rank(factor, y, 0.25, penalty=(0.5, 0.5))
    marks = [[Fraction(float(v)) for v in row] for row in factor.landmarks]
    slopes = []
    for coefficients in (low.u, low.w):
        a = [Fraction(float(v)) for v in coefficients]
        slopes.append([sum(ai * mark[k] for ai, mark in zip(a, marks, strict=True)) for k in range(5)])
    total = Fraction(1, 2) * sum(v * v for slope in slopes for v in slope)
    for x, sign in zip(X, y, strict=True):
        h, g = (sum(s * Fraction(float(v)) for s, v in zip(slope, x, strict=True)) for slope in slopes)
        total += max(1 + (g - int(sign) * h) / 2, Fraction(1, 4) * (1 - 2 * g), Fraction(0))
    assert total <= low.objective
    assert float(low.objective - total) <= 1e-10


def test_a_planted_error_in_the_residual_is_caught() -> None:
    """Leaving out what the factor leaves out would put the lower bound above the optimum."""
    X, y = table(300, 8, seed=1)
    factor = factorise(X, rank=20)
    low = solve_low_rank(factor, y, 0.3, penalty=(1.0, 1.0))
    exact = solve(full_kernel(factor), y, 0.3, penalty=(1.0, 1.0))
    assert encloses(low, exact)
    blind = solve(factor.values @ factor.values.T, y, 0.3, penalty=(1.0, 1.0))
    assert blind.lower_bound > exact.objective
    # The same through the code under test, with a factor that claims to have left out nothing.
    liar = LowRankFactor(
        factor.points, "gaussian", factor.gamma, factor.landmarks, factor.triangle, factor.values, np.zeros(300)
    )
    ones = np.ones(300)
    claimed, _ = lower_bound(Setting(liar, y, ones, 0.3, 1.0, 1.0), blind.alpha, blind.beta, streamed=False)
    honest, _ = lower_bound(Setting(factor, y, ones, 0.3, 1.0, 1.0), blind.alpha, blind.beta, streamed=False)
    assert claimed > exact.objective > honest


def test_rank_costs_less_and_less() -> None:
    X, y = table(400, 3)
    gaps = [solve_low_rank(factorise(X, rank=r), y, 0.3, penalty=(1.0, 1.0)).gap for r in (10, 40, 160)]
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]


def test_folds_predict_the_rows_left_out() -> None:
    X, y = table(600, 3)
    factor = factorise(X, rank=60)
    train, rest = np.arange(400), np.arange(400, 600)
    part = solve_low_rank(factor.take(train), y[train], 0.4, penalty=(0.1, 0.1))
    exact = solve(kernels.gaussian(X[train], gamma=factor.gamma), y[train], 0.4, penalty=(0.1, 0.1))
    assert encloses(part, exact)
    h = factor.cross(X[rest]) @ part.u
    direct = kernels.gaussian(X[rest], X[train], gamma=factor.gamma) @ exact.u
    assert np.mean(np.sign(h) == np.sign(direct)) > 0.95


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 0}, "rank must be a whole number of at least 1; got 0"),
        ({"rank": 2.5}, "rank must be a whole number"),
        ({"rank": 21}, "rank must be at most the number of rows, 20; got 21"),
        ({"kernel": "precomputed"}, "a precomputed kernel has no low-rank path"),
        ({"kernel": lambda A, B: A @ B.T}, "a callable kernel has no low-rank path"),
        ({"kernel": "cubic"}, "unknown kernel 'cubic': allowed are 'gaussian', 'linear'"),
        ({"X": [[np.nan]]}, "X must be finite"),
        ({"theta": 0.5}, "theta must lie in"),
        ({"theta": [0.1, 0.2]}, "theta must be one number"),
        ({"y": [1, -1]}, "one label for each of the 20 rows"),
        ({"penalty": None}, "exactly one of penalty"),
        ({"penalty": (0.0, 1.0)}, "C_h must be a finite number above 0"),
        ({"weights": np.zeros(20)}, "weights must not all be zero"),
        ({"certificate": "magic"}, "unknown certificate 'magic': allowed are 'auto', 'streamed', 'trace'"),
        ({"tol": 0.0}, "tol must be"),
        ({"slack": -1.0}, "slack must be a finite number above 0"),
    ],
)
def test_bad_input_is_one_line(change: dict[str, Any], message: str) -> None:
    X, y = table(20, 2)
    arguments = {"X": X, "y": y, "theta": 0.3, "penalty": (1.0, 1.0), "rank": 5, "kernel": "gaussian", **change}

    def fit(X: Any, y: Any, theta: Any, kernel: Any, rank: Any, **options: Any) -> None:
        solve_low_rank(factorise(X, kernel=kernel, rank=rank), y, theta, **options)

    with pytest.raises(ValueError, match=message) as error:
        fit(**arguments)
    assert "\n" not in str(error.value)


def test_too_few_steps_give_a_warning_and_honest_bounds() -> None:
    X, y = table(400, 4)
    factor = factorise(X, rank=50)
    with pytest.warns(ConvergenceWarning, match="1 of 1 problems stopped short"):
        short = solve_low_rank(factor, y, 0.3, penalty=(0.01, 0.01), max_iter=1, slack=0)
    exact = solve(full_kernel(factor), y, 0.3, penalty=(0.01, 0.01))
    assert encloses(short, exact)
    assert short.gap - short.rank_gap > 1e-8 * short.objective


class TestClassifier:
    X, y = table(500, 3)

    @pytest.mark.parametrize("kernel", ["gaussian", "linear"])
    def test_predicts_like_the_exact_one(self, kernel: str) -> None:
        exact = RejectionClassifier(theta=0.4, kernel=kernel, C_h=0.1, C_g=0.1).fit(self.X, self.y)
        low = RejectionClassifier(theta=0.4, kernel=kernel, C_h=0.1, C_g=0.1, rank=120).fit(self.X, self.y)
        new = table(300, 3, seed=9)[0]
        # Strong convexity: C |h - h*|^2 is at most the gap, in the full kernel's norm.
        reach = 1.0 if kernel == "gaussian" else float(np.max(np.linalg.norm(new, axis=1)))
        near = reach * sum(np.sqrt(max(s.gap, 0.0) / 0.1) for s in (low.solution_, exact.solution_))
        assert near < 1.0
        np.testing.assert_allclose(low.decision_function(new), exact.decision_function(new), atol=near)
        np.testing.assert_allclose(low.rejection_function(new), exact.rejection_function(new), atol=near)
        assert low.solution_.method == "low-rank"
        assert len(low.X_fit_) == low.solution_.rank == (120 if kernel == "gaussian" else 3)
        np.testing.assert_allclose(low.decision_function(self.X), low.solution_.h, atol=1e-9)
        assert encloses(low.solution_, exact.solution_)

    def test_chooses_by_size(self) -> None:
        X, y = table(EXACT_ROWS + 1, 3)
        assert RejectionClassifier(kernel="linear").fit(X, y).solution_.rank == 3
        assert RejectionClassifier().fit(self.X, self.y).solution_.rank is None

    @pytest.mark.parametrize("change", [{"rank": 501}, {"rank": "high"}, {"rank": 5, "kernel": "precomputed"}])
    def test_bad_ranks(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"rank must be|no low-rank path"):
            RejectionClassifier(**change).fit(self.X, self.y)

    def test_weights_pickles_and_degenerate_data(self) -> None:
        weights = np.arange(500) % 3
        model = RejectionClassifier(rank=40).fit(self.X, self.y, sample_weight=weights)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.rejection_function(self.X[:9]), model.rejection_function(self.X[:9]))
        same = RejectionClassifier(rank=3).fit(np.ones((10, 2)), [0, 1] * 5)
        assert same.solution_.rank == 1
        assert same.predict_reject([[1.0, 1.0]]).all()


def test_the_median_of_many_rows_is_that_of_a_sample() -> None:
    rows = kernels.MEDIAN_ROWS + 500
    X, _ = table(rows, 4)
    sampled = kernels.median_gamma(X)
    assert sampled == kernels.median_gamma(X)
    whole = np.median(pdist(X, "sqeuclidean"))
    assert sampled != whole
    assert sampled == pytest.approx(whole, rel=0.05)
    weights = np.zeros(rows)
    weights[:700] = 2.0
    assert kernels.median_gamma(X, weights) == pytest.approx(kernels.median_gamma(X[:700], weights[:700]))
    with pytest.raises(ValueError, match="weights must be one number"):
        kernels.median_gamma(X, weights[:5])


@pytest.mark.long
@pytest.mark.parametrize("d", [2, 3, 10])
@pytest.mark.parametrize("theta", [0.1, 0.3, 0.45])
def test_three_thousand_rows(d: int, theta: float) -> None:
    """At the size where the exact path can still check: true in every case, below 1e-3 where the data are smooth."""
    X, y = table(3000, d, seed=d)
    for kernel in ("gaussian", "linear"):
        factor = factorise(X, kernel=kernel, rank=400)
        K = full_kernel(factor)
        for c in (0.1, 1.0, 10.0):
            low = solve_low_rank(factor, y, theta, penalty=(c, c))
            assert encloses(low, solve(K, y, theta, penalty=(c, c)))
            assert d > 3 or low.gap <= 1e-3 * low.objective


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
@pytest.mark.parametrize("gamma", [1e-15, 1e-18, 1e-30])
@pytest.mark.parametrize("certificate", ["streamed", "trace"])
def test_where_rounding_leaves_nothing_of_the_kernel_the_bounds_are_still_true(gamma: float, certificate: str) -> None:
    """Ten rows four times each and a bandwidth so small that the kernel is the equality of rows."""
    Z = np.repeat(np.random.default_rng(0).normal(size=(10, 1)), 4, axis=0)
    y = np.tile([1, 1, 1, -1], 10)
    true = solve(np.kron(np.eye(10), np.ones((4, 4))), y, 0.3, penalty=(0.1, 0.1)).objective
    factor = factorise(Z, gamma=gamma, rank=10)
    low_rank = solve_low_rank(factor, y, 0.3, penalty=(0.1, 0.1), certificate=certificate)
    assert low_rank.lower_bound <= true * (1.0 + 1e-7)
    assert true * (1.0 - 1e-7) <= low_rank.objective <= len(y) * (1.0 + 1e-9)


@pytest.mark.filterwarnings("ignore::exml_sim.rejection.ConvergenceWarning")
def test_a_cell_far_outside_leaves_bounds_that_are_numbers() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1)
    for far in (1e6, 1e11, 1e14):
        X[0, 0] = far
        result = RejectionClassifier(rank=60).fit(X, y).solution_
        assert 0.0 <= result.lower_bound <= result.objective <= len(y) * (1.0 + 1e-9)
