"""A rule under examination, and what the checks ask of it: its selections, its law, whether two runs differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.special import bdtr, bdtrc

from exml_sim.arrays import IntArray
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.strategy import Strategy
from exml_sim.bandit.trial import Explorations
from exml_sim.engine.intervals import clopper_pearson
from exml_sim.engine.modes.exact import law_of
from exml_sim.money import show
from exml_sim.population import Candidate, Population

#: Trials that are compared bit by bit, and trials that are counted.
FEW, MANY = 24, 6_000
#: Outcomes that are enumerated at most; beyond, trials are cheaper.
OUTCOMES = 40_000
#: Two enumerations of one law agree to this.
CLOSE = 1e-9
#: A plain loop: ``loop(means, budget, rng)`` returns the selected arm of one trial on Bernoulli arms at unit cost.
Loop = Callable[[Sequence[float], int, np.random.Generator], int]


class CheckError(AssertionError):
    """What is wrong with a strategy or a bound, one sentence each."""


@dataclass(frozen=True)
class Report:
    """What the checks found.

    Attributes
    ----------
    name
        Whom they are about.
    findings
        One sentence for everything that is wrong.
    checks
        Names of the checks that ran.
    skipped
        Checks that could not say anything, and why.
    alarm
        The probability that a right rule is called wrong, at most.
    """

    name: str
    findings: tuple[str, ...]
    checks: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    alarm: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        if self.passed:
            return f"{self.name}: {len(self.checks)} checks passed (false-alarm probability {self.alarm:.0e})"
        return f"{self.name}:\n" + "\n".join(f"- {one}" for one in self.findings)


@dataclass
class Bench:
    """A rule under examination."""

    rule: Strategy
    like: Strategy | Loop | None
    seed: int
    alarm: float
    counted: int = 0
    skipped: list[str] = field(default_factory=list)


def selected_by(
    bench: Bench, pool: Pool, budget: Fraction, trials: Sequence[int], block: int | None = None
) -> IntArray:
    """The first selected arm of every trial."""
    return np.asarray(pool.explore_many(bench.rule, budget, trials, seed=bench.seed, block=block).selected[:, 0])


def differs(first: Explorations, other: Explorations, back: slice) -> int | None:
    """The first trial in which two runs are not the same, `back` putting the other one's in order; None if all are."""
    same = (first.selected == other.selected[back]).all(axis=1) & (first.pulls == other.pulls[back]).all(axis=1)
    same &= first.spent_units == other.spent_units[back]
    return None if same.all() else int(np.flatnonzero(~same)[0])


def law_by(bench: Bench, rule: Strategy, pool: Pool, budget: Fraction) -> tuple[float, ...] | None:
    """Probabilities of the selected arms by enumeration; None where there is too much to enumerate."""
    try:
        return law_of(pool, rule, budget, OUTCOMES).selected
    except ValueError as error:
        if "outcomes to enumerate" not in str(error):
            raise
        bench.skipped.append(f"no law of {type(rule).__name__} at budget {show(budget)}: {error}")
        return None


def agrees(times: int, number: int, p: float, alarm: float) -> bool:
    """Whether a count is no rarer than `alarm` under its probability, exactly, both tails together."""
    p = min(max(p, 0.0), 1.0)
    tails = float(bdtr(times, number, p)), float(bdtrc(times - 1, number, p))
    # Rounding of an enumerated probability that should be 0 or 1.
    if p < 1e-12 or p > 1 - 1e-12:
        return times == round(number * p)
    return 2.0 * min(tails) > alarm


def ends(times: int, number: int, alarm: float) -> tuple[float, float]:
    """Limits of a probability that a count allows."""
    return clopper_pearson(times, number, 1.0 - alarm)


#: Values of two opposed features and of others at three atoms, as in `theory.claims.near_tight`.
_OPPOSED = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (0.0, 0.0, 0.0))


def affine(copies: Sequence[int], arms: int = 3) -> FeaturePool:
    """Feature arms over three atoms, where the surrogate is affine on the ball."""
    rows = np.repeat(np.arange(3), copies)
    values = [_OPPOSED[min(i, 2)] for i in range(arms)]
    candidates = [Candidate(f"arm {i}", np.array(one)[rows]) for i, one in enumerate(values)]
    return FeaturePool(
        Population(np.zeros((rows.size, 1)), np.ones(rows.size), candidates), theta=0.01, ball=0.98, kernel="linear"
    )
