"""From plans to probes, the cells in which each reading of a claim is tried; and the evidence about one cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from simulations.verification.depths import Depth
from simulations.verification.plans import STORED, WORDS, Plan, Statistic
from simulations.verification.promises import Promise, Reading, StrategyName, launch_of
from simulations.verification.worlds import World, world
from theory.budgets import required_budget
from theory.claims import Claim, get
from theory.verdicts import Verdict

Method = Literal["count", "exact", "rare", "paired", "redrawn"]

#: Rows per arm at least for statements with a limit, and outcomes that are enumerated at most.
LEAST_ROWS = 50
MOST_OUTCOMES = 400_000
#: The largest budget that tilted sampling is used for: its time grows with the rows.
MOST_TILTED = 4_000


@dataclass(frozen=True, slots=True)
class Probe:
    """One cell of one claim: what a reading promises about trials of a strategy on a pool at a budget.

    Attributes
    ----------
    claim, reading, pool, strategy, budget
    event : Statistic
        What is measured.
    promise : Promise
        P(event above the limit) <= probability.
    delta : float, optional
        Level of the statement, for statements with one.
    method : Method
        "count": trials of the engine; "exact": its enumeration of all outcomes; "rare": tilted sampling.
    must_hold : bool
        A refutation is a defect (of the theory or of the software); otherwise it may be what the ledger records.
    """

    claim: str
    reading: Reading
    pool: str
    strategy: StrategyName
    budget: int
    event: Statistic
    promise: Promise
    delta: float | None = None
    method: Method = "count"
    must_hold: bool = True

    @property
    def silent(self) -> bool:
        """Whether the promise excludes nothing."""
        return not self.promise.probability < 1


_SHARED = ("claim", "reading", "pool", "strategy", "budget", "delta", "method", "must_hold")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What evidence said about one cell.

    Attributes
    ----------
    claim, reading, pool, strategy, budget, delta, method, must_hold
        The cell.
    event : str
        What makes a trial fail, in words.
    limit : float, optional
    bound : float
        The promised probability.
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
    method: Method = "count"
    must_hold: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, probe: Probe, verdict: Verdict) -> Evidence:
        """The evidence of trials about a cell."""
        same = {name: getattr(probe, name) for name in _SHARED}
        limit, bound = probe.promise.limit, probe.promise.probability
        return cls(**same, event=WORDS[probe.event], limit=limit, bound=bound, verdict=verdict)

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
        """What was asked, whichever claim and reading asked it: cells with the same question are one piece of evidence.

        Promises that differ by rounding only are the same.
        """
        said = tuple(None if number is None else f"{number:.9g}" for number in (self.limit, self.bound))
        return (self.method, self.pool, self.strategy, self.budget, self.event, *said)

    @property
    def runs(self) -> dict[tuple[str, str, int], int]:
        """(pool, strategy, budget) -> trials of it that were run; trials with the same key and number are the same."""
        if self.method == "paired":
            names = self.strategy.split(" against ")
            return {(self.pool, name, self.budget): int(self.extra["trials"]) for name in names}
        trials = self.verdict.trials or 0
        return {(self.pool, self.strategy, self.budget): trials} if trials else {}


def must_hold(claim: Claim, reading: Reading) -> bool:
    """Repaired statements and our theorems must hold, and printed ones where the ledger says that they do."""
    return reading != "paper" or claim.printed in ("holds", "definition", "vacuous")


def probes(plan: Plan, depth: Depth) -> list[Probe]:
    """The cells of a plan at a depth, each once."""
    found: dict[tuple[Any, ...], Probe] = {}
    for pool in plan.pools:
        for strategy in plan.strategies:
            for reading in plan.readings:
                for probe in _of_reading(plan, depth, world(pool), strategy, reading):
                    found.setdefault((pool, strategy, reading, probe.budget, probe.delta), probe)
    return list(found.values())


def _of_reading(plan: Plan, depth: Depth, place: World, strategy: StrategyName, reading: Reading) -> Iterator[Probe]:
    make = partial(_probe, plan, place, strategy, reading)
    if plan.search == "given":
        yield from (make(budget, None) for budget in plan.budgets)
    elif plan.search == "launch":
        yield make(launch_of(place, strategy), None)
    elif plan.says(reading, place, strategy, 10**6 * place.K, 0.1) is None:
        return
    elif plan.search == "level":
        for delta in depth.levels:
            first = _smallest(plan, reading, place, strategy, delta, 1.2)
            yield make(first, delta)
            yield make(4 * first, delta)
    else:
        yield from (make(_smallest(plan, reading, place, strategy, t, 1.0), None) for t in depth.targets)
        for target in depth.remote:
            budget = _smallest(plan, reading, place, strategy, target, 1.0)
            if plan.statistic in STORED and outcomes(place, strategy, budget) <= MOST_OUTCOMES:
                yield make(budget, None, method="exact")
            elif plan.statistic == "missed" and budget <= MOST_TILTED and place.best_count == 1:
                yield make(budget, None, method="rare")


def _probe(
    plan: Plan,
    place: World,
    strategy: StrategyName,
    reading: Reading,
    budget: int,
    delta: float | None,
    method: Method = "count",
) -> Probe:
    promise = plan.says(reading, place, strategy, budget, delta or 0.5)
    assert promise is not None
    event = plan.event(reading)
    holds = must_hold(get(plan.claim), reading)
    return Probe(plan.claim, reading, place.name, strategy, budget, event, promise, delta, method, holds)


def _smallest(plan: Plan, reading: Reading, place: World, strategy: StrategyName, target: float, factor: float) -> int:
    """Smallest budget from which the promised probability is at most factor times the target.

    At least so many rows per arm in the first round that a limit on a regret or deviation is not trivially large.
    """
    rows = LEAST_ROWS if plan.search == "level" else 1
    least = rows * place.K * (1 if strategy == "uniform" else math.ceil(math.log2(place.K)))

    def promised(B: int, *, strict: bool = False) -> float:
        promise = plan.says(reading, place, strategy, int(B), target) if least <= B else None
        return math.nan if promise is None else promise.probability

    return required_budget(promised, min(factor * target, 0.999))


def outcomes(place: World, strategy: StrategyName, budget: int) -> int:
    """Number of outcomes that enumeration visits: count vectors of all rows that decide."""
    if strategy == "uniform" or place.K == 2:
        return math.comb(budget // place.K + place.atoms - 1, place.atoms - 1)
    return MOST_OUTCOMES + 1
