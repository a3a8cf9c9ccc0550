"""Cells in which a version of a claim is tested, the evidence about a cell, and counts of distinct evidence.

Several claims ask the same question of the same trials, and every claim is reported with all of its cells;
`count_distinct` counts each question and each trial once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from simulations.verification._guarantees import (
    Case,
    ClaimPool,
    Guarantee,
    Reading,
    StrategyName,
    get_pool,
    launch_budget,
)
from simulations.verification._plans import EVENTS, STORED, ClaimPlan, Depth, Statistic
from theory.budgets import required_budget
from theory.claims import Claim, get
from theory.verdicts import Verdict

Method = Literal["monte_carlo", "exact", "importance_sampling", "paired", "random_instance"]

#: Smallest number of rows per arm for statements with a limit.
MIN_ROWS = 50
#: Largest number of outcomes that are enumerated.
MAX_OUTCOMES = 400_000
#: Largest budget for importance sampling, whose time grows with the rows.
MAX_IMPORTANCE_BUDGET = 4_000


@dataclass(frozen=True, slots=True)
class ClaimCell:
    """One cell of one claim: what a version guarantees about trials of a strategy on a pool at a budget.

    Attributes
    ----------
    claim, reading, pool, strategy, budget
    event : Statistic
        What is measured.
    guarantee : Guarantee
        P(event above the limit) <= probability.
    delta : float, optional
        Level of the statement, for statements with one.
    method : Method
        How the probability is measured: counted, enumerated, or by importance sampling.
    must_hold : bool
        A refutation is a defect (of the theory or of the software); otherwise the registry may record it.
    """

    claim: str
    reading: Reading
    pool: str
    strategy: StrategyName
    budget: int
    event: Statistic
    guarantee: Guarantee
    delta: float | None = None
    method: Method = "monte_carlo"
    must_hold: bool = True

    @property
    def is_vacuous(self) -> bool:
        """Whether the guarantee excludes nothing."""
        return not self.guarantee.probability < 1


_SHARED = ("claim", "reading", "pool", "strategy", "budget", "delta", "method", "must_hold")


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """Evidence about one cell.

    Attributes
    ----------
    claim, reading, pool, strategy, budget, delta, method, must_hold
        The cell.
    event : str
        What makes a trial fail, in words.
    limit : float, optional
    bound : float
        The guaranteed probability.
    verdict : Verdict
    """

    claim: str
    reading: str
    pool: str
    strategy: str
    budget: int
    event: str
    bound: float
    verdict: Verdict
    delta: float | None = None
    limit: float | None = None
    method: Method = "monte_carlo"
    must_hold: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, cell: ClaimCell, verdict: Verdict) -> CellEvidence:
        """Join a cell and its verdict."""
        shared = {name: getattr(cell, name) for name in _SHARED}
        limit, bound = cell.guarantee.limit, cell.guarantee.probability
        return cls(**shared, event=EVENTS[cell.event], limit=limit, bound=bound, verdict=verdict)

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

    def make(budget: int, delta: float | None = None, method: Method = "monte_carlo") -> ClaimCell:
        guarantee = plan.guarantee(replace(case, budget=budget, delta=delta or 0.5))
        assert guarantee is not None
        holds = must_hold(get(plan.claim), case.reading)
        event = plan.event(case.reading)
        return ClaimCell(plan.claim, case.reading, pool.name, strategy, budget, event, guarantee, delta, method, holds)

    if plan.search == "given":
        yield from (make(budget) for budget in plan.budgets)
    elif plan.search == "launch":
        yield make(launch_budget(pool, strategy))
    elif plan.guarantee(replace(case, budget=10**6 * pool.K, delta=0.1)) is None:
        return
    elif plan.search == "level":
        for delta in depth.levels:
            first = _smallest_budget(plan, case, delta, 1.2)
            yield make(first, delta)
            yield make(4 * first, delta)
    else:
        yield from (make(_smallest_budget(plan, case, target, 1.0)) for target in depth.targets)
        for target in depth.remote:
            budget = _smallest_budget(plan, case, target, 1.0)
            if plan.statistic in STORED and count_outcomes(pool, strategy, budget) <= MAX_OUTCOMES:
                yield make(budget, method="exact")
            elif plan.statistic == "missed" and budget <= MAX_IMPORTANCE_BUDGET and pool.best_count == 1:
                yield make(budget, method="importance_sampling")


def _smallest_budget(plan: ClaimPlan, case: Case, target: float, factor: float) -> int:
    """Return the smallest budget from which the guaranteed probability is at most factor times the target.

    The first round has at least so many rows per arm that a limit on a regret or deviation is not trivially large.
    """
    rows, K = MIN_ROWS if plan.search == "level" else 1, case.pool.K
    least = rows * K * (1 if case.strategy == "uniform" else math.ceil(math.log2(K)))

    def guaranteed(B: int, *, strict: bool = False) -> float:
        guarantee = plan.guarantee(replace(case, budget=int(B), delta=target)) if least <= B else None
        return math.nan if guarantee is None else guarantee.probability

    return required_budget(guaranteed, min(factor * target, 0.999))


def count_outcomes(pool: ClaimPool, strategy: StrategyName, budget: int) -> int:
    """Return the number of outcomes that enumeration visits: count vectors of all rows that decide."""
    if strategy == "uniform" or pool.K == 2:
        return math.comb(budget // pool.K + pool.atoms - 1, pool.atoms - 1)
    return MAX_OUTCOMES + 1


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
        Trials behind them, without those of importance sampling.
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


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close the evidence of a claim comes to its bounds, over decided cells that must hold.

    Attributes
    ----------
    seen : float, optional
        The largest rate / bound among cells with failures or exact probabilities.
    limit : float
        The largest (upper limit of the rate) / bound: the rate itself in exact cells.
    """

    seen: float | None
    limit: float


def compute_closeness(evidence: Iterable[CellEvidence]) -> Closeness | None:
    """Return the ratios of the closest cells; None where nothing that must hold is decided."""
    cells = [cell for cell in evidence if cell.must_hold and cell.informative and cell.decided and cell.bound > 0]
    seen = [cell.verdict.rate / cell.bound for cell in cells if cell.verdict.rate]
    upper = [cell.verdict.rate if cell.method == "exact" else cell.verdict.upper for cell in cells]
    limits = [top / cell.bound for top, cell in zip(upper, cells, strict=True) if top is not None]
    return Closeness(max(seen, default=None), max(limits)) if limits else None
