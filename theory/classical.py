"""Classical bounds on the failure probability of arms with known gaps, at unit costs and a fixed budget.

Pulls of different arms are independent, and pulls of arm i are sub-Gaussian with variance proxy s_i^2: a range of width
w has w^2 / 4 (Hoeffding), a normal distribution its variance. With n pulls each, an arm with gap D scores at least as
well as the best one with probability at most exp(-n D^2 / (2 (s_i^2 + s_1^2))). Ties may be broken in any way.

Lower bounds are about every strategy that treats arms alike: exchanging the distributions of two arms exchanges the
probabilities of selecting them. Uniform allocation, successive rejects and halving with random ties do (Theorem 21 of
docs/theorems.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, TypeAlias

from theory.formulas import ceil_log2, halving_schedule

__all__ = ["CLASSICAL", "ClassicalBound", "Kind", "SubGaussianArms", "exchange_exponent", "find_bounds"]

Kind: TypeAlias = Literal["upper", "lower"]
"""Whether a failure probability is at most or at least a bound."""


@dataclass(frozen=True, slots=True)
class SubGaussianArms:
    """Independent arms with known gaps and variance proxies.

    Parameters
    ----------
    gaps : tuple of float
        Gap of every arm, 0 for the best ones.
    variances : tuple of float
        Variance proxy of every arm.
    divergences : tuple of tuple
        KL(best arm, arm i) and KL(arm i, best arm) of all other arms; empty if they are unknown.
    deviation : float
        Standard deviation of all arms if they are normal and have the same; otherwise 0.
    """

    gaps: tuple[float, ...]
    variances: tuple[float, ...]
    divergences: tuple[tuple[float, float], ...] = ()
    deviation: float = 0.0

    def __post_init__(self) -> None:
        if len(self.gaps) != len(self.variances) or len(self.gaps) < 2:
            raise ValueError(
                f"at least two arms need as many gaps as variances, got {len(self.gaps)} and {len(self.variances)}"
            )
        if min(self.gaps) != 0 or not all(0 < value < math.inf for value in self.variances):
            raise ValueError("the best arm must have gap 0, and every variance must be positive and finite")

    @property
    def best_count(self) -> int:
        """Number of arms that tie for the best."""
        return self.gaps.count(0.0)

    @property
    def variance(self) -> float:
        """The largest variance proxy."""
        return max(self.variances)

    @property
    def hardness(self) -> float:
        """H_2 = max_{i >= 2} i / D_(i)^2 with increasing gaps; infinite if several arms are best."""
        ordered = sorted(self.gaps)[1:]
        return max(i / gap**2 if gap > 0 else math.inf for i, gap in enumerate(ordered, 2))

    def exponents(self) -> list[float]:
        """Return D^2 / (2 (s_i^2 + s_1^2)) of all arms but one best arm, the smallest first."""
        best = min((v, i) for i, (gap, v) in enumerate(zip(self.gaps, self.variances, strict=True)) if gap == 0)
        pairs = [pair for i, pair in enumerate(zip(self.gaps, self.variances, strict=True)) if i != best[1]]
        return sorted(gap**2 / (2.0 * (variance + best[0])) for gap, variance in pairs)


def _bound_uniform(budget: float, arms: SubGaussianArms) -> float:
    """Bound uniform allocation by Hoeffding's inequality (1963, Theorem 2) and a union over the arms."""
    pulls = budget // len(arms.gaps)
    return math.fsum(math.exp(-pulls * exponent) for exponent in arms.exponents() if exponent > 0)


def _bound_rejects(budget: float, arms: SubGaussianArms) -> float:
    """Bound successive rejects by K (K - 1) / 2 exp(-(B - K) / (4 s^2 logbar(K) H_2)).

    Audibert, Bubeck and Munos (COLT 2010), Theorem 2.
    """
    K = len(arms.gaps)
    logbar = 0.5 + math.fsum(1.0 / i for i in range(2, K + 1))
    return K * (K - 1) / 2 * math.exp(min(0.0, -(budget - K) / (4.0 * arms.variance * logbar * arms.hardness)))


def _bound_halving(budget: float, arms: SubGaussianArms) -> float:
    """Bound sequential halving by 3 L exp(-B / (16 s^2 H_2 L)), L = ceil(log2 K), for B >= K L.

    Lattimore and Szepesvari (2020), Theorem 33.10; twice the exponent of Karnin, Koren and Somekh (ICML 2013).
    """
    K = len(arms.gaps)
    rounds = ceil_log2(K)
    if budget < K * rounds:
        return math.nan
    return 3.0 * rounds * math.exp(-budget / (16.0 * arms.variance * arms.hardness * rounds))


def _bound_halving_sum(budget: float, arms: SubGaussianArms, *, accumulate: bool = False) -> float:
    """Bound halving round by round, by Markov's inequality for the number of arms that beat the best one.

    The best arm leaves round t only if k_t = ceil(a_t / 2) of the other arms score at least as well, hence k_t - j
    outside the j arms with the smallest gaps, for any j < k_t. With pulls of the round only, the other a_t - 1 active
    arms are at worst those with the smallest gaps. With all pulls so far, every other arm counts.
    """
    exponents, total = arms.exponents(), []
    schedule = halving_schedule(math.floor(budget), len(arms.gaps))
    rows = schedule.accumulated if accumulate else schedule.pulls
    for active, kept, pulls in zip(schedule.active, schedule.kept, rows, strict=True):
        others = exponents if accumulate else exponents[: active - 1]
        winners = [math.exp(-pulls * exponent) for exponent in others]
        total.append(min(1.0, *(math.fsum(winners[j:]) / (kept - j) for j in range(kept))))
    return math.fsum(total)


def exchange_exponent(divergences: Sequence[tuple[float, float]], *, uniform: bool = False) -> float:
    """Return the exponent per pull of the lower bound 1/4 exp(-B exponent) of Theorem 21.

    It is the maximum over allocations w of min_i (w_1 f_i + w_i b_i), hence at most max(sum v_i f_i, max v_i b_i) for
    every v >= 0 with sum 1. A bisection finds v; the value returned is one for its v, so that the bound is one.

    Parameters
    ----------
    divergences : sequence of tuple
        f = KL(best arm, arm i) and b = KL(arm i, best arm) of the K - 1 other arms.
    uniform : bool
        Whether every arm has the same number of pulls.

    Examples
    --------
    >>> exchange_exponent([(0.125, 0.125)])
    0.125
    """
    if not divergences or not all(0 <= value <= math.inf for pair in divergences for value in pair):
        raise ValueError(f"every other arm needs two nonnegative divergences, got {list(divergences)}")
    if uniform:
        return min(forward + backward for forward, backward in divergences) / (len(divergences) + 1)
    pairs = sorted(pair for pair in divergences if max(pair) < math.inf)
    if not pairs:
        return math.inf
    low, high = 0.0, min(max(pair) for pair in pairs)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _exchange_value(pairs, middle) <= middle * (1 + 1e-12) else (middle, high)
    return _exchange_value(pairs, high)


def _exchange_value(pairs: Sequence[tuple[float, float]], limit: float) -> float:
    """Return max(sum v f, max v b) for the v with v b <= limit that has the smallest sum v f; infinite without one."""
    left, total, largest = 1.0, 0.0, 0.0
    for forward, backward in pairs:
        share = min(left, limit / backward) if backward > 0 else left
        left, total, largest = left - share, total + share * forward, max(largest, share * backward)
    return max(total, largest) if left <= 0.0 else math.inf


_kept_exponent = lru_cache(maxsize=256)(exchange_exponent)


def _bound_exchange(budget: float, arms: SubGaussianArms, *, uniform: bool = False) -> float:
    """Bound every strategy that treats arms alike from below, by the best arm exchanged with another one.

    Theorem 21; Kaufmann, Cappe and Garivier (JMLR 2016), Lemma 1.
    """
    pulls = budget // len(arms.gaps) * len(arms.gaps) if uniform else budget
    values = []
    if arms.divergences:
        values.append(0.25 * math.exp(-pulls * _kept_exponent(arms.divergences, uniform=uniform)))
    if arms.deviation > 0.0:
        # Every pull of one of the two arms tells as much, and the likelihood ratio test is the best.
        informative = 2.0 * pulls / len(arms.gaps) if uniform else pulls
        gap = min(gap for gap in arms.gaps if gap > 0)
        values.append(0.5 * math.erfc(gap * math.sqrt(informative / 8.0) / arms.deviation))
    return max(values, default=math.nan)


@dataclass(frozen=True, slots=True)
class ClassicalBound:
    """A bound with its name and the strategy that it covers.

    Attributes
    ----------
    name, title : str
        Name in files, and for readers.
    strategy : str
        "uniform", "rejects", "halving", "accumulated halving", or "any" for all but uniform allocation.
    function : callable
        ``function(budget, arms)`` falls with the budget; NaN where the bound does not apply.
    allows_ties : bool
        Whether several arms may be best.
    kind : {"upper", "lower"}
        Whether the failure probability is at most or at least the value.
    """

    name: str
    title: str
    strategy: str
    function: Callable[[float, SubGaussianArms], float]
    allows_ties: bool = False
    kind: Kind = "upper"


#: By name. The first four have the rounding that is proved: whole pulls, and L = ceil(log2 K) for any K.
CLASSICAL: dict[str, ClassicalBound] = {
    bound.name: bound
    for bound in (
        ClassicalBound("hoeffding", "Hoeffding and union bound", "uniform", _bound_uniform, allows_ties=True),
        ClassicalBound("audibert", "Audibert et al. (2010)", "rejects", _bound_rejects),
        ClassicalBound("karnin", "Lattimore, Szepesvari (2020)", "halving", _bound_halving),
        ClassicalBound("halving_sum", "finite-sum bound", "halving", _bound_halving_sum),
        ClassicalBound(
            "accumulated_sum",
            "finite-sum bound, all pulls",
            "accumulated halving",
            partial(_bound_halving_sum, accumulate=True),
        ),
        ClassicalBound("exchange", "lower bound, any strategy", "any", _bound_exchange, kind="lower"),
        ClassicalBound(
            "exchange_uniform",
            "lower bound, equal pulls",
            "uniform",
            partial(_bound_exchange, uniform=True),
            kind="lower",
        ),
    )
}


def find_bounds(strategy: str, arms: SubGaussianArms) -> tuple[ClassicalBound, ...]:
    """Return the bounds that cover a strategy on these arms."""
    covering = (strategy,) if strategy == "uniform" else (strategy, "any")
    bounds = [bound for bound in CLASSICAL.values() if bound.strategy in covering]
    known = bool(arms.divergences) or arms.deviation > 0.0
    return tuple(
        bound for bound in bounds if (bound.allows_ties or arms.best_count == 1) and (known or bound.kind == "upper")
    )
