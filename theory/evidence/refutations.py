"""Refute claims of the registry in exact or ball arithmetic, one counterexample each.

Most claims compute with fractions, and their own reading is evaluated at the counterexample. Claims with logarithms,
roots or long sums are evaluated on balls by `theory.evidence._sides`; a test compares these sides with the registry's.
A probability that is too large is bounded from below, and a violated bound is enclosed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from theory.claims import Claim, get
from theory.claims._instances import level
from theory.evidence import _sides as sides
from theory.evidence._balls import ball, digits, enclose
from theory.formulas import log_failure_uniform_simplified, regret_paper, uniform_risk_deviation

__all__ = ["REFUTATIONS", "Refutation", "Replay", "replay"]

F = Fraction
BITS = 128


@dataclass(frozen=True, slots=True)
class Refutation:
    """A counterexample; without sides the claim's own reading is exact."""

    claim: str
    case: dict[str, Any]
    left: Callable[..., Any] | None = None
    right: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome of a replayed counterexample.

    Attributes
    ----------
    refuted : bool
        The premises hold at the case, and the relation provably fails there.
    exact : bool
        Whether both sides are exact numbers; otherwise they are balls.
    """

    refutation: Refutation
    refuted: bool
    exact: bool
    left: Any
    right: Any

    @property
    def sentence(self) -> str:
        """Describe the violation in one line."""
        relation = get(self.refutation.claim).reading.relation
        case = ", ".join(f"{name} = {_plain(value)}" for name, value in self.refutation.case.items())
        how = "exact numbers" if self.exact else "balls"
        return f"at {case}: {_plain(self.left)} is not {relation} {_plain(self.right)} ({how})"


def replay(refutation: Refutation) -> Replay:
    """Evaluate both sides rigorously at the case and compare them."""
    claim = get(refutation.claim)
    with digits(BITS):
        claim.require_assumptions(refutation.case)
        left = (refutation.left or claim.reading.left)(**refutation.case)
        right = (refutation.right or claim.reading.right)(**refutation.case)
        exact = all(isinstance(side, int | Fraction | tuple) for side in (left, right))
        refuted = _fails(claim, left, right, exact)
    return Replay(refutation, refuted, exact, left, right)


def _fails(claim: Claim, left: Any, right: Any, exact: bool) -> bool:
    """Return whether the relation provably fails; a float side decides nothing."""
    if claim.reading.says_nothing(right) or any(isinstance(side, float) for side in (left, right)):
        return False
    if exact:
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


def _misprinted(**case: Any) -> Any:
    return sides.log_fail(factor=4, **case)


def _simplified(n: int, K: int, gap: Fraction, **_: Any) -> Any:
    return enclose(log_failure_uniform_simplified, n, K, gap)


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
        {"name": "one-rival-8", "B": 216},
        lambda name, B: sides.selected(name, B, median=True, best_last=True),
        lambda name, B: sides.selected(name, B, median=False),
    ),
    Refutation("sample-alignment", {"b": 6, "feature": "Pix", "original": "Fac"}),
    Refutation("budget-alignment", {"b": 6, "feature": "Pix", "original": "Fac"}),
    Refutation("eq-3-ball", {"data": "two-clusters", "other": "overlap", "theta": Q, "C": F(1)}),
    Refutation("eq-6", {"B": 10**10, "theta": Q, "delta": F(1, 2), "constant": 1000}, sides.supervised, level()),
    Refutation("assumption-necessary", {"theta": Q, "noise": F(1, 10), "scale": F(1, 10)}),
    Refutation("eq-7-optimality-gap", {"name": "twins"}),
    Refutation("eq-8", {"eta": F(3, 4), "sampled": F(1), "train": F(1), "theta": Q, "radius": F(1, 2)}),
    Refutation("eq-8-term-c", {"eta": F(1), "sampled": F(1), "train": F(1), "theta": Q, "radius": F(1)}),
    Refutation(
        "lemma-1-i",
        {"name": "tied-3", "B": 900},
        lambda name, B: sides.tie_lost(B // 3),
        lambda name, B: sides.fail_uniform(B // 3, K=3, **sides.pool_parameters(name)),
    ),
    Refutation("lemma-1-ii", _CORNER, sides.corner(1), sides.corner_allowance(sides.fail_uniform)),
    Refutation(
        "remark-5-launch-budget",
        {"name": "opposed", "B": 40},
        lambda name, B: sides.selected(name, B, median=False),
        lambda name, B: F(1, 20),
    ),
    Refutation(
        "thm-1",
        _ONE_ROW,
        sides.one_row(1),
        sides.one_row_allowance(sides.fail_uniform),
    ),
    Refutation("thm-1-delta-order", _MANY, sides.log_fail, lambda n, **_: 200 - n),
    Refutation(
        "lemma-2-i",
        {"name": "tied-4", "B": 2400},
        lambda name, B: sides.tie_lost(B // 4),
        lambda name, B: sides.fail_median(B // 8, **sides.pool_parameters(name)),
    ),
    Refutation("lemma-2-first-round", {"B": 10, "K": 3}, right=lambda B, K: sides.real_log_rows(B, K)),
    Refutation("lemma-2-ii", _MEDIAN_CORNER, sides.corner(2), sides.corner_allowance(sides.fail_median)),
    Refutation("thm-2", _ONE_ROW, sides.one_row(2), sides.one_row_allowance(sides.fail_median)),
    Refutation("thm-2-delta-order", _MANY, sides.log_fail_median, lambda n, **_: 200 - n),
    Refutation(
        "remark-7-sqrt-log",
        {"B": 10**6, "K": 2, "theta": Q, "r": F(1, 2), "delta": F(1, 20)},
        lambda B, K, theta, r, delta: enclose(regret_paper, B // 2, theta, r, delta),
        lambda B, K, theta, r, delta: enclose(regret_paper, B, theta, r, delta),
    ),
    Refutation(
        "remark-7-launch-budget",
        {"K": 2, "gap": F(1, 2), "theta": Q, "r": F(1, 2)},
        sides.launch_budget,
        sides.launch_budget,
    ),
    Refutation("candidates-ranked", {"theta": Q, "flat": (4, 3), "steep": (0, 1)}),
    Refutation("eq-3-parameters", {"data": "two-clusters", "theta": Q, "C": F(1)}),
    Refutation(
        "lemma-3-theta",
        {"theta": F(3, 4), "m": 1, "delta": F(1, 20)},
        lambda theta, **_: theta,
        lambda theta, m, delta: enclose(uniform_risk_deviation, m, theta, 2, delta),
    ),
    Refutation("lemma-4", _OUTLIERS, sides.beats, sides.outlier_lemma_4),
    Refutation(
        "lemma-4-kappa",
        {"kappa": F(1, 1000), "radius": F(300000), "n": 10**4, "m": 10**6, "first": F(1, 600000)},
        sides.orthogonal,
        sides.orthogonal_bound,
    ),
    Refutation("a2-step-3", _STEP_3, sides.walk(sides.walk_complexity()), level()),
    Refutation("term-d", _TERM_D, sides.walk(sides.walk_printed(1)), level()),
    Refutation("a2-term-b", _CORNER, sides.corner(1), sides.corner_allowance(sides.fail_uniform)),
    Refutation(
        "a2-order",
        {"n": 10**6, "m": 1, "theta": Q, "r": F(1, 2), "delta": F(1, 20)},
        sides.opened,
        sides.order_of_terms,
    ),
    Refutation(
        "a2-absolute-constant",
        {"n": 10**6, "K": 2, "gap": F(1, 100), "theta": Q, "r": F(1, 2), "constant": F(1, 100)},
        sides.margin,
        lambda constant, **_: constant,
    ),
    Refutation("a2-delta-line-1", _LAUNCHED, sides.log_fail, _misprinted),
    Refutation("a2-delta-line-2", _LAUNCHED, _misprinted, _simplified),
    Refutation("a2-delta-line-4", _MANY, _simplified, lambda n, **_: 200 - n),
    Refutation("a3-term-b", _MEDIAN_CORNER, sides.corner(2), sides.corner_allowance(sides.fail_median)),
    Refutation("a3-order", _MANY, sides.log_fail_median, lambda n, **_: 200 - n),
    Refutation("a4-step-1", {"scores": (0, 0)}),
    Refutation("a4-lemma-4", _OUTLIERS, sides.beats, sides.outlier_lemma_4),
    Refutation(
        "a4-min-gap",
        {"gaps": (F(0), F(1, 2)), "n": 1000, "theta": Q, "r": F(1, 2)},
        sides.sum_of_tails,
        sides.smallest_gap,
    ),
    Refutation("a4-term-b", {"theta": Q, "radius": F(1, 2), "C": F(1)}),
    Refutation("a4-term-a", _TERM_HALF, sides.walk(sides.walk_printed(2), learned=True), level(2)),
    Refutation("a4-term-c", _TERM_HALF, sides.walk(sides.walk_printed(2)), level(2)),
    Refutation("a4-conditioning", {"name": "star-3", "n": 2, "good_rows": 2}),
    Refutation("a5-wlog", {"B": 36, "K": 3, "q": F(1, 100)}, sides.chain, lambda B, K, q: 8 * q / (1 - q)),
    Refutation("a5-pairs-line-1", _OUTLIERS, sides.beats, sides.outlier_lemma_4),
    Refutation("a5-half", {"scores": (0, 0)}),
    Refutation("a5-expectation", {"name": "star-4", "B": 16}),
    Refutation("a5-sum", {"name": "star-4", "B": 16}),
    Refutation("a5-regret", _CORNER, sides.corner(1), sides.corner_allowance(sides.fail_median)),
    Refutation("a5-count-1", {"B": 2, "K": 2}),
    Refutation("a5-count-2", {"B": 2, "K": 2}),
    Refutation("a5-count-3", {"B": 2, "K": 2}),
    Refutation("a5-count-4", {"B": 2, "K": 2}),
    Refutation("a6-generalisation", _STEP_3, sides.walk(sides.walk_complexity(), learned=True), level()),
    Refutation(
        "a6-index",
        {"n": 10, "p": F(3, 5), "theta": F(1, 10), "delta": F(1, 10)},
        sides.walk(sides.walk_complexity(10**4), learned=True),
        level(),
    ),
    Refutation("a6-tail", _OPTIMISTIC, sides.optimism, sides.outlier_tail),
    Refutation("a6-term-a", _OPTIMISTIC, sides.optimism, sides.outlier_tail),
    Refutation("a6-term-b", _PESSIMISTIC, sides.pessimism, sides.outlier_tail),
)
