"""Mutants of a rule: the same rule with one small error, made by standing between it and its trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.parametric import BernoulliArm
from exml_sim.bandit.trial_batch import Strategy, TrialBatch, smallest_budget
from exml_sim.money import ALIGNMENTS, Prices
from exml_sim.testing import first_finding
from tests.bandit.losses import LossPool


@dataclass(frozen=True)
class Plant:
    """A planted error and what became of it.

    Attributes
    ----------
    error
        What is wrong.
    mutant
        The rule or bound with the error.
    message
        The first sentence of the check that caught it; empty if none did.
    equivalent
        Whether the error changes nothing that the rule does.
    """

    error: str
    mutant: Any
    message: str
    equivalent: bool = False

    @property
    def caught(self) -> bool:
        """Whether a check caught it."""
        return bool(self.message)


@dataclass(frozen=True)
class Mutant:
    """A rule with an error: `before` changes its trials, `after` its selection."""

    rule: Strategy
    error: str
    before: Callable[[TrialBatch], None] | None = None
    after: Callable[[TrialBatch, IntArray], IntArray] | None = None
    swapped: bool = False

    @property
    def alignment(self) -> str:
        """That of the rule, or the other one."""
        if not self.swapped:
            return self.rule.alignment
        return next(entry for entry in ALIGNMENTS if entry != self.rule.alignment)

    @property
    def objective(self) -> str:
        """That of the rule."""
        return self.rule.objective

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """That of the rule."""
        return self.rule.first_round_cost(budget, prices)

    def explore(self, batch: TrialBatch) -> IntArray:
        """Run the rule with the error in its way."""
        if self.before is not None:
            self.before(batch)
        selected = self.rule.explore(batch)
        return selected if self.after is None else self.after(batch, np.array(selected))


class _Session:
    """A session whose scores are changed on their way."""

    def __init__(self, session: Any, change: Callable[[Scores, Any], Scores]) -> None:
        self._session, self._change = session, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def score(self, wanted: Any, fresh_rows: bool, level: int) -> Scores:
        return self._change(self._session.score(wanted, fresh_rows, level), wanted)


def _scores(change: Callable[[Any, Any], Any]) -> Callable[[TrialBatch], None]:
    """Put `change(values, wanted)` in place of the scores."""

    def changed(scores: Scores, wanted: Any) -> Scores:
        value = np.where(wanted, change(np.where(wanted, scores.value, 0.0), wanted), np.inf)
        return Scores(value, value, value)

    def before(batch: TrialBatch) -> None:
        batch.arms = _Session(batch.arms, changed)

    return before


def _once(batch: TrialBatch) -> None:
    """The first scores are used for ever."""
    seen: list[Scores] = []

    def changed(scores: Scores, wanted: Any) -> Scores:
        if not seen:
            seen.append(scores)
        value = np.where(wanted, np.where(np.isfinite(seen[0].value), seen[0].value, scores.value), np.inf)
        return Scores(value, value, value)

    batch.arms = _Session(batch.arms, changed)


def _buying(change: Callable[[TrialBatch, int, Any, dict[str, Any]], tuple[Any, dict[str, Any]] | None]) -> Any:
    """Put something between the rule and the until; None leaves a round out."""

    def before(batch: TrialBatch) -> None:
        buy, calls = batch.buy, [0]

        def bought(money: Any, **options: Any) -> None:
            calls[0] += 1
            wanted = change(batch, calls[0], money, options)
            if wanted is not None:
                buy(wanted[0], **wanted[1])

        batch.buy = bought  # type: ignore[method-assign]

    return before


def _unpaid(batch: TrialBatch, call: int, money: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    extra = np.where(batch.active, 1, 0)
    batch.arms.pull(extra, False, lambda pulled, due: None)
    batch.pulls += extra
    return money, options


def _keeping(change: Callable[[int], int]) -> Callable[[TrialBatch], None]:
    """Keep another number of arms."""

    def before(batch: TrialBatch) -> None:
        keep = batch.keep_best

        def kept(number: int, **options: Any) -> IntArray:
            active = int(batch.active.sum(axis=1).min())
            return keep(min(max(change(number), 1), active), **options)

        batch.keep_best = kept  # type: ignore[method-assign]

    return before


def _fresh_confused(batch: TrialBatch) -> None:
    buy, keep = batch.buy, batch.keep_best

    def turn(options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "fresh": not options.get("fresh", False)}

    batch.buy = lambda money, **options: buy(money, **turn(options))  # type: ignore[method-assign]
    batch.keep_best = lambda number, **options: keep(number, **turn(options))  # type: ignore[method-assign]


def _own_dice() -> Callable[[TrialBatch, IntArray], IntArray]:
    """Other random numbers in every call, the same ones for every mutant: a check of a mutant can be repeated."""
    calls = count()

    def after(batch: TrialBatch, selected: IntArray) -> IntArray:
        lost = np.random.default_rng(next(calls)).random(len(selected)) < 0.2
        selected[lost] = 0
        return selected

    return after


def mutants(rule: Strategy) -> tuple[Mutant, ...]:
    """The rule with one error each."""

    def favour(values: Any, wanted: Any) -> Any:
        return values - 0.05 * (np.arange(values.shape[1]) == 0)

    def spend_half(batch: TrialBatch, call: int, money: Any, options: dict[str, Any]) -> Any:
        less = money // 2 if isinstance(money, np.ndarray) else Fraction(money) / 2
        return (money if call == 1 else less), options

    befores: dict[str, Any] = {
        "takes the worst for the best": _scores(lambda values, wanted: -values),
        "favours the first arm": _scores(favour),
        "rounds the scores": _scores(lambda values, wanted: np.round(values, 1)),
        "looks at the scores once": _once,
        "spends half of every later round": _buying(spend_half),
        "leaves out the second round": _buying(lambda batch, call, *given: None if call == 2 else given),
        "takes a pull that nobody paid for": _buying(_unpaid),
        "confuses fresh rows with all rows": _fresh_confused,
        "keeps one arm too few": _keeping(lambda number: number - 1),
        "keeps one arm too many": _keeping(lambda number: number + 1 if number > 1 else 1),
    }
    afters: dict[str, Any] = {
        "reports the neighbouring trial": lambda batch, selected: np.roll(selected, 1, axis=0),
        "throws dice of its own": _own_dice(),
        "never selects the last arm": lambda batch, selected: np.where(selected == batch.n_arms - 1, 0, selected),
        "counts arms from 1": lambda batch, selected: selected + 1,
    }
    return (
        *(Mutant(rule, error, before=before) for error, before in befores.items()),
        *(Mutant(rule, error, after=after) for error, after in afters.items()),
        Mutant(rule, "swaps the alignment", swapped=True),
    )


def planted_rule(rule: Strategy, **options: Any) -> tuple[Plant, ...]:
    """Every mutant, and the sentence that catches it; `like` is the rule itself unless something else is given."""
    options = {"like": rule, **options}
    seen = []
    for mutant in mutants(rule):
        sentence = first_finding(mutant, **options)
        seen.append(Plant(mutant.error, mutant, sentence, not sentence and _same(rule, mutant)))
    return tuple(seen)


def _same(rule: Strategy, mutant: Mutant) -> bool:
    """Whether the mutant does what the rule does, in some hundred trials on several pools."""
    for means, costs in (((0.4, 0.5, 0.6), (1, 1, 1)), ((0.5, 0.4, 0.6, 0.55, 0.45), (1, 2, 3, 1, 1))):
        pool = LossPool([BernoulliArm(mean, cost) for mean, cost in zip(means, costs, strict=True)])
        budget = 7 * smallest_budget(rule, pool.prices)
        entry, other = (pool.explore_many(each, budget, 300) for each in (rule, mutant))
        if not (np.array_equal(entry.selected, other.selected) and np.array_equal(entry.pulls, other.pulls)):
            return False
    return True
