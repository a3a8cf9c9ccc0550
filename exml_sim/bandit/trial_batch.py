"""Run N trials of one strategy together, round by round; define the protocols of strategies and arms; check budgets.

A strategy sees a `TrialBatch` only: it buys rounds (the ledger pays, the arms are pulled), asks for scores, keeps
arms. Every array has one line per trial, and no line depends on another, so N trials together are exactly N
trials alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
from exml_sim._internal.validation import check_choice, check_count, shown
from exml_sim.bandit._ranking import (
    TIES,
    Scores,
    TieBreaker,
    any_arm,
    count_fewest,
    cut_unclear,
    group_equal,
    lowest,
    mark_arms,
)
from exml_sim.bandit.ledger import Ledger, count_pulls, share_among, share_money
from exml_sim.money import ALIGNMENTS, LARGEST_UNITS, Money, Prices, allot, exact, show
from exml_sim.seeds import Seeds

if TYPE_CHECKING:
    from exml_sim.bandit._evidence import Evidence
    from exml_sim.bandit.selection_report import ComparisonData

OBJECTIVES: Sequence[str] = ("risk", "risk_per_cost")

# The zero model has surrogate loss 1 on every row, so quality is what an arm saves against 1.
BASELINE_RISK = 1.0

#: Pays for a round: takes the pulled pulls and those of them that cost money, both of shape (trials, K).
Payment = Callable[[IntArray, IntArray], None]


class ArmState(Protocol):
    """The arms of one pool during N trials: what has been pulled, and its scores.

    `levels` is the number of accuracies that `score` knows: level 0 first, each next one tighter. `has_exact_scores`
    says that scores are exact numbers, equal or different without doubt.
    """

    levels: int
    has_exact_scores: bool
    #: Score of an arm that is worth nothing, see the objective "risk_per_cost".
    baseline: float = BASELINE_RISK
    #: -1 where scores are rewards with the opposite sign, 1 where they are losses.
    sign: int = 1

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        """Pull every arm as often as wanted, or as far as its rows go.

        Parameters
        ----------
        pulls
            Wanted pulls, shape (trials, K).
        fresh
            Whether the round shares no rows with earlier ones.
        pay
            Must be called once, with the pulled pulls and those that are not paid for yet, before any value is read.

        Returns
        -------
        The pulled pulls, shape (trials, K); `pulls` itself where nothing is missing.
        """
        ...

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Score the wanted arms on all their pulls, or on the latest fresh round alone."""
        ...

    def pulls_left(self) -> IntArray | None:
        """Pulls of every arm that its rows still allow, shape (trials, K); None without a limit."""
        return None

    def pull_some(self, arms: IntArray, number: IntArray, pay: Callable[[], bool]) -> bool:
        """Pull few arms of every trial if they can be paid; False, with nothing done, if this kind of arms cannot.

        Parameters
        ----------
        arms, number
            Arms and how often each is pulled, shape (trials, number of arms).
        """
        return False

    def counts(self) -> CountArray | None:
        """Rows bought per trial and arm, shape (trials, K, m); None for arms that have no rows."""
        return None

    def means(self) -> tuple[float, ...]:
        """Return the true means, for loops that draw their own rewards."""
        raise ValueError(f"the means of {type(self).__name__} are not known: write a loop (pull, budget, rng)")

    def reveal(self) -> tuple[list[float], list[float] | None]:
        """Return the true risks and deviations (None for Bernoulli arms), for strategies that know the pool."""
        raise ValueError(f"the distributions of {type(self).__name__} are not known: choose another strategy")

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """Compute the evidence for the leader of each trial against each other arm.

        Parameters
        ----------
        leader
            One arm per trial.
        asked
            Trials to analyse, shape (trials,).
        threshold
            Log of the e-value that gives confidence; the limits are those of this level.
        epsilon
            How much worse than an arm the leader may be.
        limits
            Whether the limits are wanted, too.
        """
        raise ValueError(
            f"a fixed-confidence strategy has no guarantee on {type(self).__name__}: choose a fixed-budget strategy"
        )

    def comparison_data(self, trial: int, rounds: int, anytime: bool) -> ComparisonData | None:
        """Return what a report on one trial needs after so many rounds; None for arms that have no rows."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class RoundRecord:
    """What happened in one scored round of N trials (arrays have one line per trial)."""

    active: BoolArray
    pulls: IntArray
    scores: Scores
    survivors: BoolArray
    certified: BoolArray


def mark_nothing(scores: Scores) -> BoolArray:
    """Mark no arm as unclear: the caller needs no certified order."""
    return np.zeros((1, scores.value.shape[1]), dtype=np.bool_)


class TrialBatch:
    """N trials of one pool with one budget.

    Parameters
    ----------
    arms
        The arms, opened for N seeds.
    ledger
        The empty ledger of the N trials.
    alignment, objective
        How money becomes pulls, and what "better" means.
    record
        Keep every round for reading; without it only the result stays.
    ties
        How equal arms are ordered; the lowest index first if it is not given.

    Attributes
    ----------
    active
        Arms that have not been dropped, shape (trials, K).
    memory
        Whole numbers that a strategy keeps from step to step, with one line per trial.
    confident
        Set by a fixed-confidence strategy: trials that reached its confidence, shape (trials,).
    uncertain
        Trials in which certificates left a decision open, which values within their reach took, shape (trials,).
    """

    def __init__(
        self,
        arms: ArmState,
        ledger: Ledger,
        *,
        alignment: str,
        objective: str,
        record: bool = False,
        ties: TieBreaker | None = None,
    ) -> None:
        self.arms = arms
        self.ties = TieBreaker() if ties is None else ties
        self.ledger = ledger
        self.alignment = alignment
        self.objective = objective
        self.active = np.ones((ledger.trials, ledger.prices.size), dtype=np.bool_)
        self.pulls = np.zeros((ledger.trials, ledger.prices.size), dtype=np.int64)
        self.memory = np.zeros((0, 0, 0), dtype=np.int64)
        self.confident: BoolArray | None = None
        self.uncertain = np.zeros(ledger.trials, dtype=np.bool_)
        self.rounds: list[RoundRecord] = []
        self._record = record
        self._round_pulls = np.zeros_like(self.pulls)
        self._stale = np.ones_like(self.active)
        self._known: Scores | None = None
        self._fresh = False
        self._quality_price = 1.0 / np.array([float(cost) for cost in ledger.prices.exact_costs])

    @property
    def budget(self) -> Fraction:
        """The exact budget of one trial."""
        return self.ledger.budget

    @property
    def prices(self) -> Prices:
        """The price list."""
        return self.ledger.prices

    @cached_property
    def total_pulls(self) -> float:
        """Pulls that the budget pays for at the mean cost."""
        return float(self.budget * self.n_arms / sum(self.prices.exact_costs))

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return self.prices.size

    def buy(self, money: Money | IntArray, *, fresh: bool = False, among: BoolArray | None = None) -> None:
        """Turn money into pulls of the active arms (or of those in `among`), pay, and pull.

        Parameters
        ----------
        money
            The round's money: one exact amount, or whole units of the price list per trial.
        fresh
            Draw rows that no earlier round has seen, to be scored alone.
        among
            The arms that share the money, shape (trials, K); by default all active ones.
        """
        sharing = self.active if among is None else among
        if not isinstance(money, np.ndarray):
            money = exact(money, "the money of a round")
            units = np.full(self.ledger.trials, self.prices.units(money))
        elif money.shape != (self.ledger.trials,) or money.dtype.kind not in "iu":
            raise ValueError(
                f"the money of a round must be one amount, or whole units of shape ({self.ledger.trials},), "
                f"got {money.dtype} of shape {money.shape}"
            )
        else:
            units = money
        pulls = np.empty_like(self.pulls)
        share_money(units, self.prices.costs, sharing, self.alignment == "budget", pulls)
        self._pull(pulls, money, sharing, fresh)

    def buy_among(self, units: IntArray, arms: IntArray) -> None:
        """Share money among few arms of every trial, as `buy` does; faster, because no other arm is looked at.

        Parameters
        ----------
        units
            Whole units of the price list, shape (trials,).
        arms
            Different arms, shape (trials, number); -1 in a whole line for none.
        """
        number, spent = np.empty_like(arms), np.empty_like(units)
        share_among(units, self.prices.costs, arms, self.alignment == "budget", number, spent)
        if not self._record and self.arms.pull_some(arms, number, lambda: self.ledger.charge(spent)):
            count_pulls(arms, number, self.pulls)
            return
        pulls = np.zeros_like(self.pulls)
        count_pulls(arms, number, pulls)
        self._pull(pulls, units, mark_arms(arms, self.n_arms), False)

    def buy_pulls(self, pulls: IntArray, *, fresh: bool = False) -> None:
        """Buy the given numbers of pulls of every arm, shape (trials, K)."""
        if pulls.shape != self.pulls.shape or pulls.dtype.kind not in "iu" or pulls.min() < 0:
            raise ValueError(f"pulls must be whole numbers of shape {self.pulls.shape} that are not negative")
        self._pull(pulls, np.asarray(pulls @ self.prices.costs, dtype=np.int64), pulls > 0, fresh)

    def _pull(self, wanted: IntArray, money: Fraction | IntArray, sharing: BoolArray, fresh: bool) -> None:
        def pay(pulled: IntArray, due: IntArray) -> None:
            short = None if pulled is wanted else wanted - pulled
            self.ledger.buy(due, money=money, active=sharing, alignment=self.alignment, short=short)

        pulled = self.arms.pull(wanted, fresh, pay)
        self.pulls += pulled
        if not self.arms.has_exact_scores:
            self._stale |= pulled > 0
        self._fresh = fresh
        if self._record:
            self._round_pulls += pulled

    def score(
        self, unclear: Callable[[Scores], BoolArray] = mark_nothing, *, fresh: bool = False
    ) -> tuple[Scores, BoolArray]:
        """Score the active arms; refine what `unclear` marks until it marks nothing or no accuracy is left.

        By default the first accuracy is enough.

        Returns
        -------
        The scores, and the arms that stayed unclear, shape (trials, K).
        """
        if fresh and not self._fresh:
            raise ValueError("there are no fresh rows to score: the round before must be bought with fresh=True")
        if self.arms.has_exact_scores:
            scores = self._score_arms(self.active, fresh, 0)
            # Nothing can be refined; what is open is only recorded.
            return scores, unclear(scores) if self._record else mark_nothing(scores)
        scores = self._start_scores(fresh)
        doubtful = unclear(scores)
        for level in range(1, self.arms.levels):
            if not doubtful.any():
                break
            scores = scores.replaced(doubtful, self._score_arms(doubtful, fresh, level))
            doubtful = unclear(scores)
        self.uncertain |= any_arm(doubtful)
        if not fresh:
            self._known, self._stale = scores, np.zeros_like(self._stale)
        return scores, doubtful

    def _start_scores(self, fresh: bool) -> Scores:
        """Take what is known of arms that bought nothing since, and level 0 for the others."""
        if fresh or self._known is None or bool((self._stale | ~self.active).all()):
            return self._score_arms(self.active, fresh, 0)
        known = self._known.only(self.active)
        due = self.active & self._stale
        return known.replaced(due, self._score_arms(due, fresh, 0)) if due.any() else known

    def _score_arms(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        scores = self.arms.score(wanted, fresh, level)
        return scores if self.objective == "risk" else scores.scaled(self.arms.baseline, self._quality_price)

    def keep_best(self, number: int, *, fresh: bool = False) -> IntArray:
        """Score the active arms and keep the best ones.

        Returns
        -------
        The kept arms, best first, shape (trials, number).
        """
        active = self.active
        most = count_fewest(active)
        if not 1 <= check_count(number, "the number of arms to keep") <= most:
            raise ValueError(f"the number of arms to keep must be at most {most}, the active ones; got {number}")

        def cut(scores: Scores) -> BoolArray:
            return cut_unclear(scores, active, mark_arms(lowest(scores, number), self.n_arms))

        scores, doubtful = self.score(cut, fresh=fresh)
        tied = any_arm(doubtful)
        best = lowest(scores, number, tied, self.ties)
        self.close_round(scores, mark_arms(best, self.n_arms), ~tied)
        return best

    def drop_worst(self) -> None:
        """Score the active arms and drop the worst one of every trial."""
        if self._record or not self.arms.has_exact_scores:
            self.keep_best(count_fewest(self.active) - 1)
            return
        scores, _ = self.score()
        worst = self.ties.pick_highest(np.where(self.active, scores.value, -np.inf))
        survivors = self.active.copy()
        survivors[np.arange(self.ledger.trials), worst] = False
        self.close_round(scores, survivors)

    def last_arm(self) -> IntArray:
        """Return the first active arm of every trial, the only one at the end of an elimination, shape (trials, 1)."""
        return np.asarray(self.active.argmax(axis=1)[:, None], dtype=np.int64)

    def lowest(self, scores: Scores, tied: BoolArray | None = None) -> IntArray:
        """Return the arm with the lowest score of every trial, ties broken by the strategy's option, shape (trials,).

        Parameters
        ----------
        tied
            Trials in which scores within the resolution count as equal, shape (trials,).
        """
        return lowest(scores, 1, tied, self.ties)[:, 0]

    def pick_lowest(self, values: FloatArray) -> IntArray:
        """Return the arm with the lowest of any values, shape (trials, K), ties broken by the strategy's option."""
        return self.ties.pick_lowest(values)

    def rank(self, scores: Scores, tied: BoolArray | None = None) -> IntArray:
        """Order the arms from best to worst, ties broken by the strategy's option, shape (trials, K)."""
        return self.ties.order(*group_equal(scores, tied), self.n_arms)

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """Compute the evidence for the leader against each arm, see `ArmState.evidence`."""
        if self.objective != "risk":
            raise ValueError(
                f"a fixed-confidence strategy compares risks: objective must be 'risk', got {self.objective!r}"
            )
        return self.arms.evidence(leader, asked, threshold, epsilon, limits)

    def close_round(self, scores: Scores, survivors: BoolArray, certified: BoolArray | bool = True) -> None:
        """Continue with the survivors, and record the round with the trials whose certificates prove its decision."""
        if self._record:
            certified = np.broadcast_to(np.asarray(certified), self.ledger.trials)
            self.rounds.append(RoundRecord(self.active, self._round_pulls, scores, survivors, certified))
            self._round_pulls = np.zeros_like(self.pulls)
        self.active = survivors


#: Pulls in one trial; with more, a strategy that pulls one by one would run for days.
MAX_PULLS = 10**8


@runtime_checkable
class Strategy(Protocol):
    """Any object with these members can be passed to `explore`; no subclassing is needed.

    A member `ties`, "random" or "lowest", says how equal scores are ordered; without it they are ordered at random.
    A member `skips_arms`, True, says that arms may stay without a pull. Then `first_round_cost` returns 0 for a budget
    that is too small.
    """

    @property
    def alignment(self) -> str:
        """How a round's money becomes pulls: "sample" or "budget"."""
        ...

    @property
    def objective(self) -> str:
        """What the best arm is: "risk" or "risk_per_cost"."""
        ...

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the money of the first round, which all arms share; budgets that are too small are refused by it."""
        ...

    def explore(self, batch: TrialBatch) -> IntArray:
        """Run the strategy to its end.

        Returns
        -------
        The selected arms, the first choice first, shape (trials, k).
        """
        ...


def check_strategy(strategy: object) -> Strategy:
    """Check that an object is a strategy, and say what is missing."""
    if isinstance(strategy, type):
        raise ValueError(
            f"a strategy must be an object, got the class {strategy.__name__}: call it, {strategy.__name__}(…)"
        )
    if not isinstance(strategy, Strategy):
        raise ValueError(f"a strategy needs alignment, objective, first_round_cost and explore, got {shown(strategy)}")
    check_choice(strategy.alignment, "alignment", ALIGNMENTS)
    check_choice(strategy.objective, "objective", OBJECTIVES)
    check_choice(getattr(strategy, "ties", "random"), "ties", TIES)
    return strategy


def break_ties(strategy: Strategy, seeds: Seeds) -> TieBreaker:
    """Build the tie breaker of a strategy for the trials of `seeds`: at random unless its `ties` is "lowest"."""
    return TieBreaker(seeds if getattr(strategy, "ties", "random") == "random" else None)


def smallest_budget(strategy: Strategy, prices: Prices) -> Fraction:
    """Find the smallest budget, in steps of a K-th of a unit, with which the first round pulls every arm once.

    The mean cost, by which some strategies plan, is a whole number of such steps. The money of the first round must not
    decrease with the budget.

    Raises
    ------
    ValueError
        If no budget that can be counted in 64 bits is enough.
    """
    step = prices.unit / prices.size
    high = int(prices.costs.sum()) * prices.size
    while not pays_first_round(high * step, strategy, prices):
        high *= 2
        if high > LARGEST_UNITS * prices.size:
            raise ValueError(
                f"no budget up to {show(LARGEST_UNITS * prices.unit)} lets the first round pull every arm once"
            )
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pays_first_round(middle * step, strategy, prices) else (middle, high)
    return high * step


def pays_first_round(budget: Fraction, strategy: Strategy, prices: Prices) -> bool:
    """Check that the first round pulls every arm at least once, or every arm that the strategy does not skip."""
    money = exact(strategy.first_round_cost(budget, prices), "the money of the first round")
    if getattr(strategy, "skips_arms", False):
        return money > 0
    all_arms = np.ones((1, prices.size), dtype=np.bool_)
    return bool(allot(prices.units(money), prices.costs, all_arms, strategy.alignment).min() >= 1)


def check_budget(budget: Fraction, strategy: Strategy, prices: Prices) -> None:
    """Refuse a budget whose first round leaves an arm without a pull, or that buys too many pulls for one trial."""
    pulls = budget / min(prices.exact_costs)
    if pulls > MAX_PULLS:
        size = f"{float(min(pulls, Fraction(10**300))):.3g}"
        raise ValueError(f"a budget of {show(budget):.40} buys {size} pulls, at most {MAX_PULLS:.0e} are allowed")
    if budget > 0 and pays_first_round(budget, strategy, prices):
        return
    need = smallest_budget(strategy, prices)
    what = "" if getattr(strategy, "skips_arms", False) else f"one pull of each of {prices.size} arms in "
    raise ValueError(
        f"a budget of {show(budget):.40} does not pay for {what}the first round of {type(strategy).__name__}; "
        f"the smallest budget that works, in steps of {show(prices.unit / prices.size)}, is {show(need)}"
    )
