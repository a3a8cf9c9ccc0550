"""Which claims are about trials: where each is tried, what is measured, and what its readings promise.

The ledger states nine experiments; the other plans are for claims about the same trials whose entry in the ledger is an
exact probability on another instance, so that counting is independent evidence. Two plans of one claim measure two
statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulations.verification import promises
from simulations.verification.promises import READINGS, Reading, Says, StrategyName
from theory.claims import get

#: How a trial is judged. "missed", "not first" and "found" are events that the engine's store holds.
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
#: How budgets are found: "target": where the promised probability is as wanted; "level": where it is delta and little
#: more; "launch": where the printed identification condition starts to hold; "given": the plan's own.
Search = Literal["target", "level", "launch", "given"]

WORDS: dict[Statistic, str] = {
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
class Plan:
    """One claim, tried.

    Attributes
    ----------
    claim : str
        Id in the ledger.
    pools, strategies
        Names of worlds and strategies; every pair is a study.
    statistic : Statistic
        What makes a trial fail.
    says : Says
        What each reading promises.
    search : Search
        How budgets are chosen.
    budgets : tuple of int
        Own budgets, for the search "given".
    readings : tuple of Reading
        The readings that are judged.
    refutes : bool
        The trials must refute the printed reading: these instances were built for that.
    """

    claim: str
    pools: tuple[str, ...]
    strategies: tuple[StrategyName, ...]
    statistic: Statistic
    says: Says
    search: Search = "target"
    budgets: tuple[int, ...] = ()
    readings: tuple[Reading, ...] = READINGS
    refutes: bool = False

    def __post_init__(self) -> None:
        if (self.search == "given") != bool(self.budgets):
            raise ValueError(f"plan of {self.claim}: own budgets go with the search 'given', and only with it")

    def event(self, reading: Reading) -> Statistic:
        """What fails under a reading: the printed lemmas name the first arm, where the repaired ones name S*."""
        return "not first" if reading == "paper" and self.statistic == "missed" else self.statistic


def _ledger(claim: str) -> tuple[tuple[str, ...], tuple[StrategyName, ...]]:
    """Pools and strategies of the ledger's own experiment."""
    plan = get(claim).experiment
    if plan is None:
        raise ValueError(f"claim {claim} states no experiment")
    return plan.pools, plan.strategies  # type: ignore[return-value]


UA: tuple[StrategyName, ...] = ("uniform",)
PAIR = ("opposed", "star-3#0,1")
SMALL = ("opposed", "star-3")
FRESH: tuple[StrategyName, ...] = ("median-fresh",)
DEEP = ("opposed", "star-4")

PLANS: tuple[Plan, ...] = (
    Plan("lemma-1-i", *_ledger("lemma-1-i"), "missed", promises.identification, refutes=True),
    Plan("lemma-1-ii", *_ledger("lemma-1-ii"), "regret", promises.uniform_regret, search="level"),
    Plan("lemma-1-ii", *_ledger("lemma-1-ii"), "selection regret", promises.selection, search="level"),
    Plan("lemma-2-i", *_ledger("lemma-2-i"), "missed", promises.identification, refutes=True),
    Plan("lemma-2-ii", *_ledger("lemma-2-ii"), "regret", promises.median_regret, search="level"),
    Plan("lemma-2-ii", DEEP, FRESH, "selection regret", promises.selection, search="level"),
    Plan("lemma-3", *_ledger("lemma-3"), "any model", promises.generalisation, search="level"),
    Plan("lemma-4", PAIR, UA, "missed", promises.pairwise),
    # At the launch budget the printed bounds say nothing; they do from the corrected condition on.
    Plan("lemma-1-condition", SMALL, UA, "missed", promises.as_printed, search="launch", readings=("paper",)),
    Plan("lemma-1-condition", SMALL, UA, "missed", promises.as_printed, readings=("corrected",)),
    Plan("lemma-2-condition", DEEP, FRESH, "missed", promises.as_printed, search="launch", readings=("paper",)),
    Plan("lemma-2-condition", DEEP, FRESH, "missed", promises.as_printed, readings=("corrected",)),
    Plan(
        "remark-5-launch-budget",
        ("opposed",),
        UA,
        "found",
        promises.out_of_reach,
        search="given",
        budgets=(40, 48),
        readings=("paper",),
        refutes=True,
    ),
    Plan("eq-6", SMALL, UA, "supervised", promises.supervised, search="level", readings=("corrected",)),
    Plan("term-a", SMALL, UA, "learned risk", promises.generalisation, search="level"),
    Plan("term-d", SMALL, UA, "fixed deviation", promises.fixed_deviation, search="level"),
    Plan("a4-term-a", SMALL, UA, "learned deviation", promises.learned_deviation, search="level"),
    Plan("a4-term-c", SMALL, UA, "fixed deviation", promises.fixed_deviation, search="level"),
    Plan("a6-term-a", PAIR, UA, "optimism", promises.half_gap_optimism),
    Plan("a6-term-b", PAIR, UA, "pessimism", promises.half_gap_pessimism),
    Plan("a5-regret", *_ledger("lemma-2-ii"), "regret", promises.median_regret, search="level"),
)

#: Claims that are tried in ways of their own: two strategies on the same trials, and redrawn populations.
COMPARED = "me-fails-more"
EXCESS = ("thm-1", "thm-2")


def tried() -> tuple[str, ...]:
    """Ids of all claims that trials are held against."""
    return tuple(dict.fromkeys([*(plan.claim for plan in PLANS), COMPARED, *EXCESS]))
