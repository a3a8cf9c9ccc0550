"""Which claims are tested by trials: pools, statistics, guarantees and the amount of evidence.

The registry states nine experiments. The other plans are for claims about the same trials whose entry there is an exact
probability on another instance, so that counting is independent evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from simulations.verification import _guarantees as guarantees
from simulations.verification._guarantees import READINGS, GuaranteeFunction, Reading, StrategyName
from theory.claims import get
from theory.verdicts import judge

#: A bound counts as decided when a violation by this factor would have been seen with probability 95 %.
FACTOR = 2.0
#: Probability of refuting a true claim by bad luck, for all cells of one claim together.
ALPHA = 1e-6


@dataclass(frozen=True, slots=True)
class Depth:
    """Amount of evidence of a verification.

    Attributes
    ----------
    name : str
    targets : tuple of float
        Guaranteed probabilities at which cells are placed.
    levels : tuple of float
        Values of delta for statements that hold with probability 1 - delta.
    remote : tuple of float
        Guaranteed probabilities that are too small to count, compared with exact probabilities.
    least, most : int
        Trials per cell, between these and as many as the bound needs to be decided.
    pairs : int
        Trials of the paired comparison of two strategies.
    excess, excess_levels
        Trials per cell with random instances, and the values of delta there.
    rows : int
        Rows per class of those populations.
    """

    name: str
    targets: tuple[float, ...]
    levels: tuple[float, ...]
    remote: tuple[float, ...]
    least: int
    most: int
    pairs: int
    excess: int
    excess_levels: tuple[float, ...]
    rows: int


DEPTHS = {
    depth.name: depth
    for depth in (
        Depth(
            "quick", targets=(0.3, 0.1), levels=(0.2,), remote=(), least=1_000, most=2_000, pairs=4_000,
            excess=12, excess_levels=(0.2,), rows=30,
        ),
        Depth(
            "standard", targets=(0.3, 0.1, 0.03, 0.01), levels=(0.2, 0.05), remote=(1e-6, 1e-12),
            least=10_000, most=40_000, pairs=40_000, excess=320, excess_levels=(0.2,), rows=100,
        ),
        Depth(
            "deep", targets=(0.3, 0.1, 0.03, 0.01, 0.003, 0.001), levels=(0.2, 0.05, 0.01), remote=(1e-6, 1e-9, 1e-12),
            least=200_000, most=1_000_000, pairs=400_000, excess=4_000, excess_levels=(0.2, 0.05), rows=100,
        ),
    )
}  # fmt: skip


@lru_cache(maxsize=1024)
def count_needed_trials(bound: float, alpha: float, most: int) -> int:
    """Return the smallest number of trials, at most ``most``, that decides a bound at the violation factor 2.

    Examples
    --------
    >>> count_needed_trials(0.1, 1e-6, 10**6)
    514
    """
    if not 0 < bound < 1:
        return 1

    def decides(trials: int) -> bool:
        return judge(0, trials, bound, alpha=alpha, factor=FACTOR).outcome == "consistent"

    high = 16
    while high < most and not decides(high):
        high *= 2
    low, high = high // 2, min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    # The power of a discrete test is not quite monotone: a few trials more than the first that suffice.
    return min(most, high + high // 20)


#: Statistic of a trial. "missed", "not first" and "found" are events that the engine's store holds.
Statistic = Literal[
    "missed",
    "not first",
    "found",
    "regret",
    "selection regret",
    "learned deviation",
    "fixed deviation",
    "optimism",
    "pessimism",
    "any model",
    "learned risk",
    "supervised",
]
STORED = ("missed", "not first", "found")
#: How budgets are chosen: "target": where the guaranteed probability is a given one; "level": where it is delta and
#: little more; "launch": where the printed identification condition starts to hold; "given": the plan's own.
Search = Literal["target", "level", "launch", "given"]

EVENTS: dict[Statistic, str] = {
    "missed": "the selected arm is not a best arm",
    "not first": "the selected arm is not the first one",
    "found": "the selected arm is a best arm",
    "regret": "the exploratory regret of the returned model exceeds the limit",
    "selection regret": "the selected arm is worse than the best by more than the limit",
    "learned deviation": "the learned model's risk exceeds that on its rows by more than the limit",
    "fixed deviation": "the best model's risk on the rows exceeds that on the population by more than the limit",
    "optimism": "the second arm looks better than it is by more than the limit",
    "pessimism": "the first arm looks worse than it is by more than the limit",
    "any model": "the risk of some model of the ball exceeds its empirical surrogate risk by more than the limit",
    "learned risk": "the learned model's 0/1 risk exceeds its empirical surrogate risk by more than the limit",
    "supervised": "the excess risk less R_ap of the model learned on the best arm exceeds the limit",
}


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """How one claim is tested.

    Attributes
    ----------
    claim : str
        Id in the registry.
    pools, strategies
        Names of pools and strategies; every pair is a study.
    statistic : Statistic
        What makes a trial fail.
    guarantee : GuaranteeFunction
        What each version guarantees.
    search : Search
        How budgets are chosen.
    budgets : tuple of int
        Own budgets, for the search "given".
    readings : tuple of Reading
        The versions that are tested.
    refutes : bool
        The trials must refute the printed version: these instances were built for that.
    """

    claim: str
    pools: tuple[str, ...]
    strategies: tuple[StrategyName, ...]
    statistic: Statistic
    guarantee: GuaranteeFunction
    search: Search = "target"
    budgets: tuple[int, ...] = ()
    readings: tuple[Reading, ...] = READINGS
    refutes: bool = False

    def __post_init__(self) -> None:
        if (self.search == "given") != bool(self.budgets):
            raise ValueError(f"plan of {self.claim}: own budgets go with the search 'given', and only with it")

    def event(self, reading: Reading) -> Statistic:
        """Return what fails in a version: the printed lemmas name the first arm, the corrected ones S*."""
        return "not first" if reading == "paper" and self.statistic == "missed" else self.statistic


def _registered(claim: str) -> tuple[tuple[str, ...], tuple[StrategyName, ...]]:
    """Return pools and strategies of the registry's own experiment."""
    plan = get(claim).experiment
    if plan is None:
        raise ValueError(f"claim {claim} states no experiment")
    return plan.pools, plan.strategies  # type: ignore[return-value]


UA: tuple[StrategyName, ...] = ("uniform",)
PAIR = ("opposed", "star-3#0,1")
SMALL = ("opposed", "star-3")
FRESH: tuple[StrategyName, ...] = ("median-fresh",)
DEEP = ("opposed", "star-4")

PLANS: tuple[ClaimPlan, ...] = (
    ClaimPlan("lemma-1-i", *_registered("lemma-1-i"), "missed", guarantees.identification, refutes=True),
    ClaimPlan("lemma-1-ii", *_registered("lemma-1-ii"), "regret", guarantees.uniform_regret, search="level"),
    ClaimPlan("lemma-1-ii", *_registered("lemma-1-ii"), "selection regret", guarantees.selection, search="level"),
    ClaimPlan("lemma-2-i", *_registered("lemma-2-i"), "missed", guarantees.identification, refutes=True),
    ClaimPlan("lemma-2-ii", *_registered("lemma-2-ii"), "regret", guarantees.median_regret, search="level"),
    ClaimPlan("lemma-2-ii", DEEP, FRESH, "selection regret", guarantees.selection, search="level"),
    ClaimPlan("lemma-3", *_registered("lemma-3"), "any model", guarantees.generalisation, search="level"),
    ClaimPlan("lemma-4", PAIR, UA, "missed", guarantees.pairwise),
    # At the launch budget the printed bounds say nothing; they do from the corrected condition on.
    ClaimPlan("lemma-1-condition", SMALL, UA, "missed", guarantees.as_printed, search="launch", readings=("paper",)),
    ClaimPlan("lemma-1-condition", SMALL, UA, "missed", guarantees.as_printed, readings=("corrected",)),
    ClaimPlan("lemma-2-condition", DEEP, FRESH, "missed", guarantees.as_printed, search="launch", readings=("paper",)),
    ClaimPlan("lemma-2-condition", DEEP, FRESH, "missed", guarantees.as_printed, readings=("corrected",)),
    ClaimPlan(
        "remark-5-launch-budget",
        ("opposed",),
        UA,
        "found",
        guarantees.out_of_reach,
        search="given",
        budgets=(40, 48),
        readings=("paper",),
        refutes=True,
    ),
    ClaimPlan("eq-6", SMALL, UA, "supervised", guarantees.supervised, search="level", readings=("corrected",)),
    ClaimPlan("term-a", SMALL, UA, "learned risk", guarantees.generalisation, search="level"),
    ClaimPlan("term-d", SMALL, UA, "fixed deviation", guarantees.fixed_deviation, search="level"),
    ClaimPlan("a4-term-a", SMALL, UA, "learned deviation", guarantees.learned_deviation, search="level"),
    ClaimPlan("a4-term-c", SMALL, UA, "fixed deviation", guarantees.fixed_deviation, search="level"),
    ClaimPlan("a6-term-a", PAIR, UA, "optimism", guarantees.half_gap_optimism),
    ClaimPlan("a6-term-b", PAIR, UA, "pessimism", guarantees.half_gap_pessimism),
    ClaimPlan("a5-regret", *_registered("lemma-2-ii"), "regret", guarantees.median_regret, search="level"),
)

#: Claims with tests of their own: two strategies on the same trials, and random instances.
COMPARED = "me-fails-more"
EXCESS = ("thm-1", "thm-2")


def list_tested_claims() -> tuple[str, ...]:
    """Return the ids of all claims that are tested by trials."""
    return tuple(dict.fromkeys([*(plan.claim for plan in PLANS), COMPARED, *EXCESS]))
