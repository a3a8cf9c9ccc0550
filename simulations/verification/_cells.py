"""Which claims are tested by trials, in which cells, and what the evidence about a cell is.

The registry states nine experiments. The other plans are for claims about the same trials whose entry there is an exact
probability on another instance, so that counting is independent evidence. Most steps of proofs have no plans: they are
refuted rigorously as printed and proved in Coq as corrected. Several claims ask the same question of the same trials;
`count_distinct` counts each question and each trial once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Literal

from simulations.verification import _guarantees as guarantees
from simulations.verification._guarantees import (
    READINGS,
    Case,
    GuaranteeFunction,
    Reading,
    StrategyName,
    get_pool,
)
from theory.budgets import required_budget
from theory.claims import Claim, get
from theory.verdicts import Verdict, judge

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
    least, most : int
        Trials per cell, between these and as many as the bound needs to be decided.
    pairs : int
        Trials of the paired comparison of two strategies.
    excess, excess_levels
        Trials per cell with newly drawn training sets, and the values of delta there.
    """

    name: str
    targets: tuple[float, ...]
    levels: tuple[float, ...]
    least: int
    most: int
    pairs: int
    excess: int
    excess_levels: tuple[float, ...]


DEPTHS = {
    depth.name: depth
    for depth in (
        Depth(
            "quick", targets=(0.3, 0.1), levels=(0.2,), least=1_000, most=2_000, pairs=4_000,
            excess=12, excess_levels=(0.2,),
        ),
        Depth(
            "standard", targets=(0.3, 0.1, 0.03, 0.01), levels=(0.2, 0.05),
            least=10_000, most=40_000, pairs=40_000, excess=320, excess_levels=(0.2,),
        ),
        Depth(
            "deep", targets=(0.3, 0.1, 0.03, 0.01, 0.003, 0.001), levels=(0.2, 0.05, 0.01),
            least=200_000, most=1_000_000, pairs=400_000, excess=4_000, excess_levels=(0.2, 0.05),
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


#: Events that the engine's store holds; other statistics are measured on the bought rows.
STORED = ("missed", "not first", "found")
#: How budgets are chosen: "target": where the guaranteed probability is a given one; "level": where it is delta and
#: little more.
Search = Literal["target", "level"]

#: Statistic of a trial -> what makes the trial fail.
EVENTS = {
    "missed": "the selected arm is not a best arm",
    "not first": "the selected arm is not the first one",
    "found": "the selected arm is a best arm",
    "regret": "the exploratory regret of the returned model exceeds the limit",
    "selection regret": "the selected arm is worse than the best by more than the limit",
    "fixed deviation": "the best model's risk on the rows exceeds that on the population by more than the limit",
    "any model": "the risk of some model of the ball exceeds its empirical surrogate risk by more than the limit",
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
    statistic : str
        What makes a trial fail.
    guarantee : GuaranteeFunction
        What each version guarantees.
    search : Search
        How budgets are chosen.
    budgets : tuple of int
        Own budgets, in place of a search.
    readings : tuple of Reading
        The versions that are tested.
    refutes : bool
        The trials must refute the printed version: these instances were built for that.
    """

    claim: str
    pools: tuple[str, ...]
    strategies: tuple[StrategyName, ...]
    statistic: str
    guarantee: GuaranteeFunction
    search: Search = "target"
    budgets: tuple[int, ...] = ()
    readings: tuple[Reading, ...] = READINGS
    refutes: bool = False

    def event(self, reading: Reading) -> str:
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
    ClaimPlan(
        "remark-5-launch-budget",
        ("opposed",),
        UA,
        "found",
        guarantees.out_of_reach,
        budgets=(40, 48),
        readings=("paper",),
        refutes=True,
    ),
    ClaimPlan("term-d", SMALL, UA, "fixed deviation", guarantees.fixed_deviation, search="level"),
    ClaimPlan("a4-term-c", SMALL, UA, "fixed deviation", guarantees.fixed_deviation, search="level"),
)

#: Claims with tests of their own: two strategies on the same trials, and random instances.
COMPARED = "me-fails-more"
EXCESS = ("thm-1", "thm-2")


def list_tested_claims() -> tuple[str, ...]:
    """Return the ids of all claims that are tested by trials."""
    return tuple(dict.fromkeys([*(plan.claim for plan in PLANS), COMPARED, *EXCESS]))


Method = Literal["monte_carlo", "exact", "paired", "random_instance"]

#: Smallest number of rows per arm for statements with a limit.
MIN_ROWS = 50


@dataclass(frozen=True, slots=True)
class ClaimCell:
    """One cell of one claim: what a version guarantees about trials of a strategy on a pool at a budget.

    Attributes
    ----------
    claim, reading, pool, strategy, budget
        The version of the claim, and where it is tested.
    event : str
        What makes a trial fail: a name of `EVENTS`, or words.
    bound, limit : float
        P(event) <= bound; the event is that a statistic exceeds the limit, if there is one.
    delta : float, optional
        Level of the statement, for statements with one.
    method : Method
        How the probability is measured: counted, or by a closed form.
    must_hold : bool
        A refutation is a defect (of the theory or of the software); otherwise the registry may record it.
    """

    claim: str
    reading: str
    pool: str
    strategy: str
    budget: int
    event: str
    bound: float
    limit: float | None = None
    delta: float | None = None
    method: Method = "monte_carlo"
    must_hold: bool = True

    @property
    def is_vacuous(self) -> bool:
        """Whether the guarantee excludes nothing."""
        return not self.bound < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEvidence(ClaimCell):
    """Evidence about one cell: its verdict, and further values by name."""

    verdict: Verdict
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, cell: ClaimCell, verdict: Verdict, **extra: Any) -> CellEvidence:
        """Join a cell and its verdict; the event is put into words."""
        values = {entry.name: getattr(cell, entry.name) for entry in fields(cell)}
        return cls(**values | {"event": EVENTS.get(cell.event, cell.event)}, verdict=verdict, extra=extra)

    @property
    def decided(self) -> bool:
        """Whether the evidence is for or against the bound, and not undecided."""
        return self.verdict.decided

    @property
    def informative(self) -> bool:
        """Whether the bound excludes anything."""
        return self.verdict.outcome != "vacuous"

    @property
    def question(self) -> tuple[Any, ...]:
        """What was asked, by whichever claim and version; guarantees that differ by rounding only are the same."""
        numbers = tuple(None if number is None else f"{number:.9g}" for number in (self.limit, self.bound))
        return (self.method, self.pool, self.strategy, self.budget, self.event, *numbers)

    @property
    def runs(self) -> dict[tuple[str, str, int], int]:
        """(pool, strategy, budget) -> trials of it that were run; trials with the same key and number are the same."""
        if self.method == "paired":
            names = self.strategy.split(" against ")
            return {(self.pool, name, self.budget): int(self.extra["trials"]) for name in names}
        trials = self.verdict.trials or 0
        return {(self.pool, self.strategy, self.budget): trials} if trials else {}


def must_hold(claim: Claim, reading: Reading) -> bool:
    """Return whether a version must hold: ours and corrected ones, and printed ones that the registry says hold."""
    return reading != "paper" or claim.printed in ("holds", "definition", "vacuous")


def make_cells(plan: ClaimPlan, depth: Depth) -> list[ClaimCell]:
    """Return the cells of a plan at a depth, each once."""
    cells: dict[tuple[Any, ...], ClaimCell] = {}
    for pool in plan.pools:
        for strategy in plan.strategies:
            for reading in plan.readings:
                case = Case(reading, get_pool(pool), strategy, 0, 0.5)
                for cell in _place_cells(plan, depth, case):
                    cells.setdefault((pool, strategy, reading, cell.budget, cell.delta), cell)
    return list(cells.values())


def _place_cells(plan: ClaimPlan, depth: Depth, case: Case) -> Iterator[ClaimCell]:
    pool, strategy = case.pool, case.strategy

    def make(budget: int, delta: float | None = None) -> ClaimCell:
        guarantee = plan.guarantee(replace(case, budget=budget, delta=delta or 0.5))
        assert guarantee is not None
        where = (plan.claim, case.reading, pool.name, strategy, budget, plan.event(case.reading))
        holds = must_hold(get(plan.claim), case.reading)
        return ClaimCell(*where, guarantee.probability, guarantee.limit, delta, must_hold=holds)

    if plan.budgets:
        yield from (make(budget) for budget in plan.budgets)
    elif plan.guarantee(replace(case, budget=10**6 * pool.K, delta=0.1)) is None:
        return
    elif plan.search == "level":
        for delta in depth.levels:
            first = _smallest_budget(plan, case, delta, 1.2)
            yield make(first, delta)
            yield make(4 * first, delta)
    else:
        yield from (make(_smallest_budget(plan, case, target, 1.0)) for target in depth.targets)


def _smallest_budget(plan: ClaimPlan, case: Case, target: float, factor: float) -> int:
    """Return the smallest budget from which the guaranteed probability is at most factor times the target.

    The first round has at least so many rows per arm that a limit on a regret or deviation is not trivially large.
    """
    rows, K = MIN_ROWS if plan.search == "level" else 1, case.pool.K
    least = rows * K * (1 if case.strategy == "uniform" else (K - 1).bit_length())

    def guaranteed(B: int, *, strict: bool = False) -> float:
        guarantee = plan.guarantee(replace(case, budget=int(B), delta=target)) if least <= B else None
        return math.nan if guarantee is None else guarantee.probability

    return required_budget(guaranteed, min(factor * target, 0.999))


@dataclass(frozen=True, slots=True)
class EvidenceCount:
    """Numbers of cells and trials.

    Attributes
    ----------
    cells, informative, decided : int
        All cells, those whose bound excludes anything, and those of them that the evidence decides.
    exact : int
        Informative cells with an exact probability, which take no trials.
    trials : int
        Trials behind them.
    """

    cells: int
    informative: int
    decided: int
    exact: int
    trials: int

    @property
    def share(self) -> float:
        """Decided cells among the informative ones; 1 if there are none."""
        return self.decided / self.informative if self.informative else 1.0


def count_distinct(evidence: Iterable[CellEvidence]) -> EvidenceCount:
    """Count every question once, and every trial once.

    Trial number i of a strategy on a pool with a budget is the same trial wherever it is used, so of several cells on
    it the one with the most trials counts.
    """
    cells = list(evidence)
    runs: dict[tuple[str, str, int], int] = {}
    for cell in cells:
        for key, trials in cell.runs.items():
            runs[key] = max(trials, runs.get(key, 0))
    cells = list({cell.question: cell for cell in cells}.values())
    informative = [cell for cell in cells if cell.informative]
    decided, exact = sum(cell.decided for cell in informative), sum(cell.method == "exact" for cell in informative)
    return EvidenceCount(len(cells), len(informative), decided, exact, sum(runs.values()))
