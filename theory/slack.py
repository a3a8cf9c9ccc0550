"""Slack decomposition: which step of the proof loses how much.

Between the paper's bound and the true failure probability there is a chain of bounds, each the one
before with one ingredient replaced by a better one. The logarithms of the quotients of neighbours add
up to log(bound / truth), because the chain telescopes; a factor may be below 1 when the paper's
ingredient was too small to be true (the 2/9 when M > 3, or the sum of the n_t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, formulas, paper
from theory._bound import EITHER_GAP, PARAMETERS, Rows, Strategy
from theory._inputs import Floats
from theory.formulas import halving_schedule

__all__ = ["Factor", "Slack", "decompose_slack"]


@dataclass(frozen=True, slots=True)
class Factor:
    """One ingredient and the natural logarithm of the factor that it costs."""

    name: str
    log: float

    @property
    def value(self) -> float:
        """The factor itself (inf when it exceeds the floating point range)."""
        return math.exp(self.log) if self.log < 709 else math.inf


@dataclass(frozen=True, slots=True)
class Slack:
    """log(bound / truth) and its factors, from the outermost ingredient to the innermost."""

    log_bound: float
    log_truth: float
    factors: tuple[Factor, ...]

    @property
    def total(self) -> float:
        """log(bound / truth); the factors' logarithms add up to it."""
        return self.log_bound - self.log_truth


def decompose_slack(
    B: int,
    K: int,
    gap: float | None,
    theta: float,
    kappa_lambda: float,
    truth: float,
    *,
    strategy: Strategy = "uniform",
    gaps: ArrayLike | None = None,
    rows: Rows = "accumulated",
    expected_rivals: ArrayLike | None = None,
) -> Slack:
    """Split the distance between the paper's bound and the true failure probability into factors.

    Parameters
    ----------
    B, K, gap, theta, kappa_lambda
        The problem; ``gaps`` (K - 1 positive numbers) in place of ``gap`` shows the cost of using the
        smallest gap for every arm.
    truth : float
        The true failure probability, in (0, 1], exact or estimated.
    strategy : {"uniform", "median"}
        Which bound of the paper: Eq. 9 or Eq. 11.
    rows : {"accumulated", "fresh"}
        How median elimination scores its arms; the truth must be of the same kind.
    expected_rivals : float or array of T floats, optional
        The true expected number of other arms that score at most as much as the best one: one number
        for uniform allocation, one per round for median elimination. With it the last factor is
        split into the tail inequality and the union (Markov) step.

    Returns
    -------
    Slack
    """
    if not 0 < truth <= 1:
        raise ValueError(f"truth must be a probability in (0, 1], got {truth!r}")
    per_arm = _gaps(gap, gaps, K)
    smallest = float(per_arm.min())
    if strategy == "uniform":
        chain = _uniform_chain(B, K, smallest, theta, kappa_lambda, per_arm)
        kept = np.ones(1)
        last = "union bound"
    elif strategy == "median":
        chain = _median_chain(B, K, smallest, theta, kappa_lambda, per_arm, rows)
        kept = halving_schedule(B, K).kept.astype(np.float64)
        last = "Markov and union over rounds"
    else:
        raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
    log_truth = math.log(truth)
    if expected_rivals is None:
        chain = [*chain, (f"tail inequality and {last}", log_truth)]
    else:
        rivals = np.atleast_1d(_inputs.positive(expected_rivals, "expected_rivals"))
        if rivals.shape != kept.shape or not np.any(rivals > 0):
            raise ValueError(f"expected_rivals must hold {kept.size} numbers, not all of them 0, got {rivals}")
        chain = [*chain, ("tail inequality", math.log(float(np.sum(rivals / kept)))), (last, log_truth)]
    levels = [level for _, level in chain]
    names = [name for name, _ in chain[1:]]
    pairs = zip(names, levels[:-1], levels[1:], strict=True)
    return Slack(levels[0], log_truth, tuple(Factor(name, high - low) for name, high, low in pairs))


Chain = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class _Tail:
    """The bound exp(-rate n (share * gap - radius / sqrt n)_+^2) for one rival arm."""

    rate: float
    share: float
    radius: float

    def log(self, n: float, gap: float) -> float:
        if n <= 0:
            return 0.0
        return -self.rate * n * max(self.share * gap - self.radius / math.sqrt(n), 0.0) ** 2


def _tail_steps(theta: float, r: float) -> list[tuple[str, _Tail]]:
    """Return the paper's tail and its replacements, each with the name of what it replaces."""
    c, c_star = formulas.rademacher_constant(theta), float(formulas.tight_rademacher_constant(theta))
    c_dual = float(formulas.dual_constant(theta))
    rate = 1 / (2 * float(formulas.loss_range(theta, r, r)) ** 2)
    return [
        ("constant 4", _Tail(formulas.FLOATS.q(*formulas.PAPER_RATE), 0.5, 2 * c * r)),
        # 2 (gap / 2 - 2 c r / sqrt n)^2 = (gap - 4 c r / sqrt n)^2 / 2.
        ("2/9 in place of 2/M^2", _Tail(rate, 1.0, 4 * c * r)),
        ("Rademacher term for the best arm", _Tail(rate, 1.0, 2 * c * r)),
        ("Rademacher constant c in place of c*", _Tail(rate, 1.0, 2 * c_star * r)),
        ("symmetrisation in place of duality", _Tail(rate, 1.0, c_dual * r)),
    ]


def _uniform_chain(
    B: int,
    K: int,
    gap: float,
    theta: float,
    r: float,
    per_arm: Floats,
) -> Chain:
    n = B // K
    chain: Chain = [("", float(paper.delta_fail_uniform(B, K, gap, theta, r, log=True)))]
    steps = _tail_steps(theta, r)
    chain += [(name, math.log(K - 1) + tail.log(n, gap)) for name, tail in steps]
    best = steps[-1][1]
    chain.append(("smallest gap for every arm", _log_sum(best.log(n, g) for g in per_arm)))
    chain.append(("floors", _log_sum(best.log(B / K, g) for g in per_arm)))
    return chain


def _median_chain(
    B: int,
    K: int,
    gap: float,
    theta: float,
    r: float,
    per_arm: Floats,
    rows: Rows,
) -> Chain:
    PARAMETERS["rows"].check(rows, "rows")
    schedule = halving_schedule(B, K)
    active, kept = schedule.active.tolist(), schedule.kept.tolist()
    fresh = [float(n) for n in schedule.pulls]
    scored_rows = fresh if rows == "fresh" else [float(n) for n in schedule.accumulated]
    real = [B / (len(active) * a) for a in active]
    real_scored_rows = real if rows == "fresh" else np.cumsum(real).tolist()
    rivals = [a - 1 for a in active] if rows == "fresh" else [K - 1] * len(active)
    steps = _tail_steps(theta, r)
    printed, best = steps[0][1], steps[-1][1]

    def total(tail: _Tail, weight: Callable[[int], float], sizes: list[float]) -> float:
        return _log_sum(math.log(weight(t)) + tail.log(n, gap) for t, n in enumerate(sizes))

    def sorted_total(sizes: list[float]) -> float:
        ordered = np.sort(per_arm)
        return _log_sum(-math.log(kept[t]) + best.log(n, g) for t, n in enumerate(sizes) for g in ordered[: rivals[t]])

    chain: Chain = [("", float(paper.delta_fail_median(B, K, gap, theta, r, log=True)))]
    log_q = printed.log(fresh[0], gap)
    if log_q < 0:
        # Below the launch budget of the whole rounds the series has no sum, and the step is left out.
        series = math.log(formulas.PAPER_GEOMETRIC) + log_q - math.log(-math.expm1(log_q))
        chain.append(("log2 K in place of whole rounds", series))
    chain.append(("geometric series", total(printed, lambda _: float(formulas.PAPER_GEOMETRIC), fresh)))
    chain.append(("Markov at half the arms", total(printed, lambda t: 4 * (active[t] - 1) / kept[t], fresh)))
    chain.append(("accumulated rows", total(printed, lambda t: 4 * rivals[t] / kept[t], scored_rows)))
    chain += [(name, total(tail, lambda t: rivals[t] / kept[t], scored_rows)) for name, tail in steps]
    chain.append(("smallest gap for every arm", sorted_total(scored_rows)))
    chain.append(("floors", sorted_total(real_scored_rows)))
    return chain


def _gaps(gap: float | None, gaps: ArrayLike | None, K: int) -> Floats:
    _inputs.whole(K, "K", least=2)
    if gap is not None and gaps is None:
        return np.full(K - 1, float(gap))
    if gaps is not None and gap is None:
        values = _inputs.real(gaps, "gaps")
        if values.shape != (K - 1,) or np.any(values <= 0):
            raise ValueError(f"gaps must hold K - 1 = {K - 1} positive numbers, got {gaps!r}")
        return values
    raise ValueError(EITHER_GAP)


def _log_sum(logs: Iterable[float]) -> float:
    return float(np.logaddexp.reduce(np.fromiter(logs, dtype=np.float64)))
