"""Every refutation of the ledger replayed in exact or ball arithmetic, at the simplest numbers found.

Most claims compute with fractions already; then the claim's own reading is replayed at a simpler case. The others are
about logarithms, roots or long sums: their sides are written here once more, for balls, and a test holds them against
the ledger's. A probability that is too large is bounded from below, a bound that is broken is enclosed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from theory import exact
from theory.claims import Claim, get
from theory.claims.instances import CORNER_THETA, pool
from theory.proofs.balls import Balls, ball, digits
from theory.proofs.formulas import c, hoeffding, log_q
from theory.proofs.rigorous_laws import (
    corner_flip,
    corner_gap,
    corner_regret,
    log_count,
    log_two_counts,
    mean_absolute_walk,
    printed_tail,
    slack,
    tie_lost,
    walk_probability,
)

__all__ = ["REFUTATIONS", "Refutation", "Replay", "replay"]

F = Fraction
BITS = 128
m = Balls()


@dataclass(frozen=True, slots=True)
class Refutation:
    """A counterexample; without sides the claim's own reading is exact."""

    claim: str
    case: dict[str, Any]
    left: Callable[..., Any] | None = None
    right: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """What the replay found.

    Attributes
    ----------
    refuted : bool
        The premises hold at the case, and the relation fails there, surely.
    exact : bool
        Whether both sides are exact numbers; balls otherwise.
    """

    refutation: Refutation
    refuted: bool
    exact: bool
    left: Any
    right: Any
    seconds: float

    @property
    def sentence(self) -> str:
        """One line for a reader."""
        relation = get(self.refutation.claim).reading.relation
        case = ", ".join(f"{name} = {_plain(value)}" for name, value in self.refutation.case.items())
        how = "exact numbers" if self.exact else "balls"
        return f"at {case}: {_plain(self.left)} is not {relation} {_plain(self.right)} ({how})"


def replay(refutation: Refutation) -> Replay:
    """Evaluate both sides rigorously and compare."""
    start = time.process_time()
    claim = get(refutation.claim)
    with digits(BITS):
        claim.require_assumptions(refutation.case)
        left = (refutation.left or claim.reading.left)(**refutation.case)
        right = (refutation.right or claim.reading.right)(**refutation.case)
        exactly = all(isinstance(side, int | Fraction | tuple) for side in (left, right))
        refuted = _fails(claim, left, right, exactly)
    return Replay(refutation, refuted, exactly, left, right, time.process_time() - start)


def _fails(claim: Claim, left: Any, right: Any, exactly: bool) -> bool:
    """Whether the relation surely fails; a float side decides nothing."""
    if claim.reading.says_nothing(right) or any(isinstance(side, float) for side in (left, right)):
        return False
    if exactly:
        return not claim.reading.holds(left, right)
    low, high = ball(left), ball(right)
    match claim.reading.relation:
        case "==":
            return bool(low < high or low > high)
        case "<=":
            return bool(low > high)
        case ">=":
            return bool(low < high)
        case "<":
            return bool(low >= high)
        case _:
            return bool(low <= high)


def _plain(value: Any) -> str:
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) > 10**6:
        return f"{float(value):.6g}"
    return f"{float(value.mid()):.6g}" if isinstance(value, arb) else str(value)


# --- formulas of the paper on balls ---------------------------------------------------------------------------


def _balls(**case: Any) -> dict[str, Any]:
    return {name: ball(value) if isinstance(value, Fraction) else value for name, value in case.items()}


def _log_fail(n: int, K: int, **p: Any) -> Any:
    p = _balls(**p)
    return ball(4 * (K - 1)).log() + log_q(m, ball(n), p["gap"], p["theta"], p["r"])


def _log_fail_median(n: int, K: int, **p: Any) -> Any:
    p = _balls(**p)
    log_of_q = log_q(m, ball(n), p["gap"], p["theta"], p["r"])
    return ball(8).log() + log_of_q - (1 - log_of_q.exp()).log()


def _fail_uniform(n: int, K: int, gap: Any, theta: Any, r: Any) -> Any:
    return (ball(4 * (K - 1)).log() + log_q(m, ball(n), ball(gap), ball(theta), ball(r))).exp()


def _fail_median(n: int, gap: Any, theta: Any, r: Any) -> Any:
    q = log_q(m, ball(n), ball(gap), ball(theta), ball(r)).exp()
    return 8 * q / (1 - q)


def _appendix(n: int, K: int, gap: Any, theta: Any, r: Any) -> Any:
    margin = ball(gap) / 2 - 4 * c(ball(theta)) * ball(r) / ball(n).sqrt()
    return ball(4 * (K - 1)).log() - ball(F(2, 9)) * n * margin**2


def _simplified(n: int, K: int, gap: Any, **_: Any) -> Any:
    return ball(4 * (K - 1)).log() - ball(gap) ** 2 * n / 72


def _margin(n: int, gap: Any, theta: Any, r: Any, **_: Any) -> Any:
    return ball(gap) / 2 - 2 * c(ball(theta)) * ball(r) / ball(n).sqrt()


def _regret(n: int, r: Any, theta: Any, delta: Any) -> Any:
    return 4 * c(ball(theta)) * ball(r) / ball(n).sqrt() + 2 * hoeffding(m, ball(n), 2 / ball(delta))


def _opened(n: int, m_: int, theta: Any, r: Any, delta: Any) -> Any:
    radius = 4 * c(ball(theta)) * ball(r)
    rows = radius / ball(m_).sqrt() + 2 * hoeffding(m, ball(m_), 3 / ball(delta))
    return rows + radius / ball(n).sqrt() + 2 * hoeffding(m, ball(n), 6 / ball(delta))


def _pool_parameters(name: str) -> dict[str, Fraction]:
    built = pool(name)
    return {"gap": built.gap(), "theta": built.theta, "r": built.kappa_lambda}


# --- the walk, the corner, the outliers, one row --------------------------------------------------------------


def _walk(limit: Callable[..., Any], *, learned: bool) -> Callable[..., Fraction]:
    def probability(n: int, p: Fraction, theta: Fraction, delta: Fraction) -> Fraction:
        return walk_probability(n, p, theta, limit(n, theta, delta), learned=learned)

    return probability


def _deviation(n: int, level: Fraction) -> Any:
    return hoeffding(m, ball(n), ball(level))


def _walk_complexity(rows: int | None) -> Callable[..., Any]:
    def limit(n: int, theta: Fraction, delta: Fraction) -> Any:
        return ball(2 * (1 - 2 * theta) * mean_absolute_walk(rows or n)) + _deviation(n, 1 / delta)

    return limit


def _walk_printed(share: int) -> Callable[..., Any]:
    def limit(n: int, theta: Fraction, delta: Fraction) -> Any:
        return 2 * ball(1 - theta) / ball(n).sqrt() + _deviation(n, share / delta)

    return limit


def _corner(rows: int) -> Callable[..., Any]:
    """P(regret > bound at ``rows`` times n rows) from below."""

    def probability(n: int, tilt: Fraction, third: Fraction, delta: Fraction) -> Any:
        theta = F(CORNER_THETA)
        limit = _regret(rows * n, ball(2).sqrt() * ball(1 - 2 * theta), theta, delta)
        broken = ball(corner_regret(n, tilt, third)) > limit
        return corner_flip(n, tilt, third) if broken else arb(0)

    return probability


def _corner_allowance(fail: Callable[..., Any]) -> Callable[..., Any]:
    def allowance(n: int, tilt: Fraction, third: Fraction, delta: Fraction) -> Any:
        theta = F(CORNER_THETA)
        return ball(delta) + fail(n, corner_gap(tilt, third), theta, ball(2).sqrt() * ball(1 - 2 * theta))

    return allowance


_BY_UNIFORM = _corner_allowance(lambda n, gap, theta, r: _fail_uniform(n, 2, gap, theta, r))
_BY_MEDIAN = _corner_allowance(_fail_median)


def _outlier_gap(r: Fraction, theta: Fraction, p: Fraction, q: Fraction) -> Fraction:
    return (q - p) * (1 + r) - slack(theta)


def _outlier_beats(r: Any, theta: Any, n: int, first: int, second: int, p: Any, q: Any) -> Any:
    beaten = F(second) * (1 + r) / n + slack(theta) < F(first) * (1 + r) / n <= 1
    return log_two_counts(n, first, second, p, q) if beaten else arb.neg_inf()


def _outlier_lemma_4(r: Any, theta: Any, n: int, p: Any, q: Any, **_: Any) -> Any:
    return printed_tail(4, n, _outlier_gap(r, theta, p, q), theta, r)


def _optimism(r: Any, theta: Any, n: int, count: int, p: Any, q: Any) -> Any:
    largest = (q - p) * (1 + r) + slack(theta)
    proved = F(count) * (1 + r) / n + slack(theta) < q * (1 + r) - largest / 2
    return log_count(n, count, q) if proved else arb.neg_inf()


def _pessimism(r: Any, theta: Any, n: int, count: int, p: Any, q: Any) -> Any:
    largest = (q - p) * (1 + r) + slack(theta)
    proved = p * (1 + r) + slack(theta) + largest / 2 < F(count) * (1 + r) / n <= 1
    return log_count(n, count, p) if proved else arb.neg_inf()


def _outlier_tail(r: Any, theta: Any, n: int, p: Any, q: Any, **_: Any) -> Any:
    return printed_tail(2, n, _outlier_gap(r, theta, p, q), theta, r)


def _one_row(rows: int) -> Callable[..., Fraction]:
    """P(excess > constant times the O() + R_ap) with one training row."""

    def probability(n: int, noise: Fraction, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
        r = 3 - 2 * theta
        bound = constant * (ball(r) / ball(rows * n).sqrt() + hoeffding(m, ball(rows * n), 6 / ball(delta)))
        limit = bound + ball((2 - 2 * theta) * noise)
        return noise if ball(1 - 2 * noise) > limit else F(0)

    return probability


def _one_row_allowance(fail: Callable[..., Any]) -> Callable[..., Any]:
    return lambda n, theta, delta, **_: ball(delta) + fail(n, F(1), theta, 3 - 2 * theta)


def _supervised(B: int, theta: Fraction, delta: Fraction, constant: int) -> Fraction:
    radius = ball(2).sqrt() * ball(3 - 2 * theta)
    bound = constant * (radius / ball(B).sqrt() + hoeffding(m, ball(B), 1 / ball(delta)))
    return F(1) if ball(theta) > bound else F(0)


def _orthogonal(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> Fraction:
    """V_2 < V_1 surely: V_2 = 1 - t for t = radius kappa/sqrt n <= 4/5, V_1 = 1 - radius first."""
    margin = ball(radius * kappa) / ball(n).sqrt()
    rival = 1 - margin if margin <= ball(F(4, 5)) else arb(0) if margin >= ball(F(14, 5)) else arb(2)
    return F(1) if rival < ball(1 - radius * first) else F(0)


def _orthogonal_bound(kappa: Fraction, radius: Fraction, n: int, m: int, first: Fraction) -> Any:
    gap = ball(radius * first) - ball(radius * kappa) / ball(m).sqrt()
    return printed_tail(4, n, gap, F(1, 10), kappa**2 * radius).exp()


def _chain(B: int, K: int, q: Fraction) -> Any:
    rounds, active, rows = (K - 1).bit_length(), K, []
    for _ in range(rounds):
        rows.append(B // (rounds * active))
        active = -(-active // 2)
    return 8 * sum((ball(q).log() * ball(F(n, rows[0]))).exp() for n in rows)


def _launch(K: int, gap: Fraction, theta: Fraction, r: Fraction) -> tuple[int, int]:
    """The two launch budgets for K = 2, where log2 K = 1."""
    rows = int(16 * (c(theta) * r / gap) ** 2) + 1
    return rows * K, rows * K * (K.bit_length() - 1)


def _selected(name: str, B: int, *, median: bool) -> Fraction:
    built = pool(name)
    law = exact.median_selection(built, B) if median else exact.uniform_selection(built, B)
    return F(exact.failure(built, law))


def _constant(gaps: tuple[Fraction, ...], theta: Fraction, r: Fraction) -> Fraction:
    return F(64 * (c(theta) * r / min(gap for gap in gaps if gap > 0)) ** 2)


def _sum_of_tails(gaps: tuple[Fraction, ...], n: int, theta: Fraction, r: Fraction) -> Any:
    return 4 * sum(log_q(m, ball(n), ball(gap), ball(theta), ball(r)).exp() for gap in gaps)


def _smallest_gap(gaps: tuple[Fraction, ...], n: int, theta: Fraction, r: Fraction) -> Any:
    return len(gaps) * _sum_of_tails((min(gap for gap in gaps if gap > 0),), n, theta, r)


# --- the counterexamples ----------------------------------------------------------------------------------------

Q = F(1, 4)
_LAUNCHED = {"n": 145, "K": 2, "gap": F(1, 2), "theta": Q, "r": F(1, 2)}
_MANY = {**_LAUNCHED, "n": 1000}
_CORNER = {"n": 10**6, "tilt": F(64, 10**4), "third": F(1, 40), "delta": F(18, 10**12)}
_MEDIAN_CORNER = {"n": 10**6, "tilt": F(355, 10**5), "third": F(18, 1000), "delta": F(136, 10**6)}
_OUTLIERS = {
    "r": F(20),
    "theta": F(1, 10**6),
    "n": 10**7,
    "first": 464150,
    "second": 464149,
    "p": F(19, 420),
    "q": F(1, 21),
}
_OPTIMISTIC = {"r": F(20), "theta": F(1, 10**6), "n": 5626138, "count": 260796, "p": F(451, 10**4), "q": F(1, 21)}
_PESSIMISTIC = {"r": F(20), "theta": F(1, 10**6), "n": 17629440, "count": 826909, "p": F(97, 2100), "q": F(1, 21)}
_ONE_ROW = {"n": 10**12, "noise": F(1, 100), "theta": Q, "delta": F(1, 200), "constant": 1000}
_STEP_3 = {"n": 10, "p": F(33, 50), "theta": F(1, 1000), "delta": F(1, 2500)}
_TERM_D = {"n": 30, "p": F(16, 25), "theta": F(1, 1000), "delta": F(64, 10**7)}
_TERM_HALF = {**_TERM_D, "delta": F(128, 10**7)}
_TINY_BALL = {"n": 145, "K": 2, "gap": F(1, 100), "theta": Q, "r": F(1, 100), "constant": F(1, 100)}


def _plain_delta(delta: Fraction, **_: Any) -> Fraction:
    return delta


def _half_delta(delta: Fraction, **_: Any) -> Fraction:
    return delta / 2


REFUTATIONS: tuple[Refutation, ...] = (
    Refutation("eq-1-rejection-rule", {"h": F(1), "g": F(0), "y": 1, "theta": Q}),
    Refutation("eq-1", {"eta": F(1, 2), "theta": Q}),
    Refutation("eq-2", {"h": F(0), "g": F(-1), "y": 1, "theta": F(3, 4)}),
    Refutation("eq-4", {"theta": Q}),
    Refutation("eq-4-value", {"eta": F(1, 2), "theta": Q}),
    Refutation("surrogate-does-no-harm", {"eta": F(1, 2), "theta": Q}),
    Refutation("me-sample-count", {"B": 2, "K": 2}, right=lambda B, K: F(9, 10) * (B // (K.bit_length() - 1))),
    Refutation("me-draw", {"K": 16, "m": 1, "ratio": F(1)}),
    Refutation("me-draw-replacement", {"name": "sparse", "n": 4, "m": 5}),
    Refutation("me-one-left", {"K": 3}),
    Refutation("me-budget-gain", {"B": 2, "K": 2}),
    Refutation(
        "me-fails-more",
        {"name": "one-rival-8", "B": 48},
        lambda name, B: _selected(name, B, median=True),
        lambda name, B: _selected(name, B, median=False),
    ),
    Refutation("sample-alignment", {"b": 6, "feature": "Pix", "original": "Fac"}),
    Refutation("budget-alignment", {"b": 6, "feature": "Pix", "original": "Fac"}),
    Refutation("eq-3-ball", {"data": "two-clusters", "theta": Q, "C": F(1)}),
    Refutation("eq-6", {"B": 10**10, "theta": Q, "delta": F(1, 2), "constant": 1000}, _supervised, _plain_delta),
    Refutation("assumption-necessary", {"theta": Q, "noise": F(1, 10), "scale": F(1, 10)}),
    Refutation("eq-7-optimality-gap", {"name": "twins"}),
    Refutation("eq-8", {"eta": F(3, 4), "sampled": F(1), "train": F(1), "theta": Q, "radius": F(1, 2)}),
    Refutation("eq-8-term-c", {"eta": F(1), "sampled": F(1), "train": F(1), "theta": Q, "radius": F(1)}),
    Refutation(
        "lemma-1-i",
        {"name": "tied-3", "B": 900},
        lambda name, B: tie_lost(B // 3),
        lambda name, B: _fail_uniform(B // 3, 3, **_pool_parameters(name)),
    ),
    Refutation("lemma-1-ii", _CORNER, _corner(1), _BY_UNIFORM),
    Refutation(
        "remark-5-launch-budget",
        {"name": "opposed", "B": 40},
        lambda name, B: _selected(name, B, median=False),
        lambda name, B: F(1, 20),
    ),
    Refutation(
        "thm-1",
        _ONE_ROW,
        _one_row(1),
        _one_row_allowance(lambda n, gap, theta, r: _fail_uniform(n, 2, gap, theta, r)),
    ),
    Refutation("thm-1-delta-order", _MANY, _log_fail, lambda n, **_: 200 - n),
    Refutation(
        "lemma-2-i",
        {"name": "tied-4", "B": 2400},
        lambda name, B: tie_lost(B // 4),
        lambda name, B: _fail_median(B // 8, **_pool_parameters(name)),
    ),
    Refutation("lemma-2-first-round", {"B": 10, "K": 3}, right=lambda B, K: _real_log_rows(B, K)),
    Refutation("lemma-2-ii", _MEDIAN_CORNER, _corner(2), _BY_MEDIAN),
    Refutation("thm-2", _ONE_ROW, _one_row(2), _one_row_allowance(_fail_median)),
    Refutation("thm-2-delta-order", _MANY, _log_fail_median, lambda n, **_: 200 - n),
    Refutation(
        "remark-7-launch-budget",
        {"K": 2, "gap": F(1, 2), "theta": Q, "r": F(1, 2)},
        lambda **case: _launch(**case)[1],
        lambda **case: _launch(**case)[0],
    ),
    Refutation("eq-3-parameters", {"data": "two-clusters", "theta": Q, "C": F(1)}),
    Refutation(
        "lemma-3-theta",
        {"theta": F(3, 4), "m": 1, "delta": F(1, 20)},
        lambda theta, **_: theta,
        lambda theta, m, delta: 4 * ball(c(theta)) / ball(m).sqrt() + hoeffding(Balls(), ball(m), 1 / ball(delta)),
    ),
    Refutation("lemma-4", _OUTLIERS, _outlier_beats, _outlier_lemma_4),
    Refutation(
        "lemma-4-kappa",
        {"kappa": F(1, 1000), "radius": F(300000), "n": 10**4, "m": 10**6, "first": F(1, 600000)},
        _orthogonal,
        _orthogonal_bound,
    ),
    Refutation("a2-step-3", _STEP_3, _walk(_walk_complexity(None), learned=False), _plain_delta),
    Refutation("term-d", _TERM_D, _walk(_walk_printed(1), learned=False), _plain_delta),
    Refutation("a2-term-b", _CORNER, _corner(1), _BY_UNIFORM),
    Refutation(
        "a2-order",
        {"n": 10**6, "m": 1, "theta": Q, "r": F(1, 2), "delta": F(1, 20)},
        lambda n, m, **p: _opened(n, m, **p),
        lambda n, m, theta, r, delta: (
            8 * c(ball(theta)) * (ball(r) / ball(n).sqrt() + hoeffding(Balls(), ball(n), 6 / ball(delta)))
        ),
    ),
    Refutation(
        "a2-absolute-constant",
        {"n": 10**6, "K": 2, "gap": F(1, 100), "theta": Q, "r": F(1, 2), "constant": F(1, 100)},
        lambda K, **case: _margin(**case),
        lambda constant, **_: constant,
    ),
    Refutation("a2-delta-line-1", _LAUNCHED, _log_fail, _appendix),
    Refutation("a2-delta-line-2", _LAUNCHED, _appendix, _simplified),
    Refutation("a2-delta-line-4", _MANY, _simplified, lambda n, **_: 200 - n),
    Refutation("a3-term-b", _MEDIAN_CORNER, _corner(2), _BY_MEDIAN),
    Refutation(
        "a3-constant",
        {"theta": Q, "r": F(1, 2), "gaps": (F(0), F(1, 2)), "more": (F(0), F(1, 2), F(1, 4))},
        lambda theta, r, gaps, more: _constant(gaps, theta, r),
        lambda theta, r, gaps, more: _constant(more, theta, r),
    ),
    Refutation(
        "a3-absolute-constant",
        _TINY_BALL,
        lambda K, constant, **p: 1 - log_q(m, **{name: ball(value) for name, value in p.items()}).exp(),
        lambda constant, **_: constant,
    ),
    Refutation("a3-order", _MANY, _log_fail_median, lambda n, **_: 200 - n),
    Refutation("a4-step-1", {"scores": (0, 0)}),
    Refutation("a4-lemma-4", _OUTLIERS, _outlier_beats, _outlier_lemma_4),
    Refutation(
        "a4-min-gap",
        {"gaps": (F(0), F(1, 2)), "n": 1000, "theta": Q, "r": F(1, 2)},
        _sum_of_tails,
        _smallest_gap,
    ),
    Refutation("a4-term-b", {"theta": Q, "radius": F(1, 2), "C": F(1)}),
    Refutation("a4-term-a", _TERM_HALF, _walk(_walk_printed(2), learned=True), _half_delta),
    Refutation("a4-term-c", _TERM_HALF, _walk(_walk_printed(2), learned=False), _half_delta),
    Refutation("a4-conditioning", {"name": "star-3", "n": 2, "good_rows": 2}),
    Refutation("a5-wlog", {"B": 36, "K": 3, "q": F(1, 100)}, _chain, lambda B, K, q: 8 * q / (1 - q)),
    Refutation("a5-pairs-line-1", _OUTLIERS, _outlier_beats, _outlier_lemma_4),
    Refutation("a5-half", {"scores": (0, 0)}),
    Refutation("a5-expectation", {"name": "star-4", "B": 16}),
    Refutation("a5-sum", {"name": "star-4", "B": 16}),
    Refutation("a5-regret", _CORNER, _corner(1), _BY_MEDIAN),
    Refutation("a5-count-1", {"B": 2, "K": 2}),
    Refutation("a5-count-2", {"B": 2, "K": 2}),
    Refutation("a5-count-3", {"B": 2, "K": 2}),
    Refutation("a5-count-4", {"B": 2, "K": 2}),
    Refutation("a6-generalisation", _STEP_3, _walk(_walk_complexity(None), learned=True), _plain_delta),
    Refutation(
        "a6-index",
        {"n": 10, "p": F(3, 5), "theta": F(1, 10), "delta": F(1, 10)},
        _walk(_walk_complexity(10**4), learned=True),
        _plain_delta,
    ),
    Refutation("a6-tail", _OPTIMISTIC, _optimism, _outlier_tail),
    Refutation("a6-term-a", _OPTIMISTIC, _optimism, _outlier_tail),
    Refutation("a6-term-b", _PESSIMISTIC, _pessimism, _outlier_tail),
)


def _real_log_rows(B: int, K: int) -> int:
    """floor(B/(K log2 K)) with the real logarithm."""
    return int((ball(B) / (K * (ball(K).log() / ball(2).log()))).floor().unique_fmpz())
