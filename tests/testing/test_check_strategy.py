"""check_strategy passes what is right and catches what is planted: our nine bugs, and mutants of two foreign rules."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.money import Prices
from exml_sim.strategies import MedianElimination, SuccessiveRejects, UniformAllocation, by_name
from exml_sim.strategies.fixed_confidence import KlLucb
from exml_sim.testing import CheckError, check_strategy, examine, first_finding
from exml_sim.testing._properties import PoolBench, money
from simulations.testing import Assumes
from tests.quality.strategy_mutants import planted_rule
from tests.statistical.wrong_strategies import (
    MEDIAN,
    WORLD,
    BiasedPool,
    HalfTheMoney,
    RepeatedSeedsPool,
    turned_into,
)
from tests.testing.foreign import EqualRounds, TwoStage, equal_rounds, two_stage


class CostBlindPool(FeaturePool):
    """Declares its costs and charges 1 for everything."""

    @property
    def prices(self) -> Prices:  # type: ignore[override]
        return Prices.of([1] * self.n_arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleThirdRound(MedianElimination):
    """Buys nothing from its third round on, which pools of four arms and fewer do not have."""

    def halve(self, batch: Any, money: Fraction, width: int) -> None:
        if batch.ledger.rounds < 2:
            batch.buy(money)
        batch.keep_best(width)


ALPHA = 1e-7
BUGS: dict[str, dict[str, Any]] = {
    **{error: {"rule": wrong, "like": right} for error, (right, wrong, _) in MEDIAN.items()},
    "leaves half of the money": {"rule": HalfTheMoney(), "like": UniformAllocation()},
    "ignores a cost": {"rule": UniformAllocation(), "pools": [(WORLD[2].with_(costs=("1", "3")), CostBlindPool)]},
    "an idle third round": {"rule": IdleThirdRound(), "like": MedianElimination()},
    "biased sampling": {"rule": UniformAllocation(), "pools": [(WORLD[2], BiasedPool)]},
    "seeds repeated between trials": {
        "rule": UniformAllocation(),
        "pools": [(WORLD[2], RepeatedSeedsPool)],
    },
}


@pytest.mark.parametrize("error", BUGS)
def test_a_planted_bug_is_found(error: str) -> None:
    options = dict(BUGS[error])
    # Pools are scored when they are made, so they are made here: every worker loads this file.
    options["pools"] = [turned_into(world.pool, kind) for world, kind in options.get("pools", ())]
    with pytest.raises(CheckError) as caught:
        check_strategy(options.pop("rule"), **options)
    assert "seed" in str(caught.value) or "exactly" in str(caught.value)


@pytest.mark.parametrize("rule", [MedianElimination(), MedianElimination(accumulate=False), SuccessiveRejects()])
def test_ours_pass(rule: Any) -> None:
    check_strategy(rule, like=rule, pools=[WORLD[2].pool], alpha=ALPHA)


@pytest.mark.parametrize(("rule", "loop"), [(TwoStage(), two_stage), (EqualRounds(), equal_rounds)])
def test_foreign_rules_pass_against_their_loops(rule: Any, loop: Any) -> None:
    report = check_strategy(rule, like=loop, alpha=ALPHA)
    assert report.alpha == ALPHA


def test_a_loop_of_something_else_is_told_apart() -> None:
    report = examine(TwoStage(), like=lambda means, budget, rng: two_stage(means, budget // 4, rng))
    assert any("the loop" in finding for finding in report.findings)


def test_a_mutant_is_named_by_the_first_sentence_about_it() -> None:
    """What is planted stops at the first finding; it is that of the whole examination."""
    whole = examine(MEDIAN["keeps the worse half"][1], like=MedianElimination())
    assert len(whole.findings) > 1
    assert first_finding(MEDIAN["keeps the worse half"][1], like=MedianElimination()) == whole.findings[0]
    assert first_finding(TwoStage(), like=TwoStage()) == ""


@pytest.mark.parametrize("rule", [TwoStage(), EqualRounds()])
def test_mutants_of_foreign_rules_are_caught(rule: Any) -> None:
    """At least 10 mutants of each; what passes changes nothing that the rule does."""
    result = planted_rule(rule)
    missed = [entry.error for entry in result if not entry.caught and not entry.equivalent]
    assert not missed
    assert sum(entry.caught for entry in result) >= 10


def test_without_a_reference_many_mutants_are_still_caught() -> None:
    """Only the duties of every strategy are checked: money, bits, clear instances, names, distribution of trials."""
    result = planted_rule(TwoStage(), like=None)
    caught = {entry.error for entry in result if entry.caught}
    assert caught >= {
        "takes the worst for the best",
        "favours the first arm",
        "takes a pull that nobody paid for",
        "reports the neighbouring trial",
        "throws dice of its own",
        "never selects the last arm",
        "counts arms from 1",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfDeclared(TwoStage):
    """Planted error: the first round costs twice of what is declared."""

    def first_round_cost(self, budget: Fraction, prices: Any) -> Fraction:
        return budget / 4


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualCosts(TwoStage):
    """A strategy that refuses unequal costs."""

    def first_round_cost(self, budget: Fraction, prices: Any) -> Fraction:
        if len(set(prices.exact_costs)) > 1:
            raise ValueError("only equal costs")
        return budget / 2


def test_a_wrong_first_round_is_named_with_costs_and_alignment() -> None:
    finding = first_finding(HalfDeclared())
    assert "in the first round, but first_round_cost declares" in finding
    assert "costs 1, 1, sample alignment" in finding


@dataclass(frozen=True, slots=True, kw_only=True)
class StopsEarly(HalfTheMoney):
    """Leaves money over on purpose, and says so."""

    spends_all: ClassVar[bool] = False


def test_a_wrong_schedule_is_found_without_a_reference() -> None:
    """A round that buys nothing, and half of the money: the budget reveals both."""
    for rule in (IdleThirdRound(), HalfTheMoney()):
        finding = next(finding for finding in examine(rule).findings if "over at costs" in finding)
        assert "by rounding: a round is missing or too small" in finding
        assert "sample alignment" in finding
    assert "over at costs" not in str(examine(StopsEarly()))


OURS = ("doubling_rejects", "fc2fb", "ocba", "eb_tc_epsilon", "random_subset", "square_root_cost")


@pytest.mark.parametrize("name", [*OURS, "value_of_information_commit"])
def test_money_of_our_strategies(name: str) -> None:
    assert list(money(PoolBench(by_name(name), None, 0, ALPHA))) == []


def test_strategies_for_unit_costs_only() -> None:
    assert "only equal costs" in first_finding(EqualCosts())
    assert check_strategy(EqualCosts(), unit_costs_only=True).passed


@dataclass(frozen=True, slots=True, kw_only=True)
class FavoursFirst(KlLucb):
    """Planted error: selects the first arm."""

    def explore(self, batch: Any) -> Any:
        KlLucb.explore(self, batch)
        return np.zeros((batch.ledger.trials, 1), dtype=np.int64)


def test_a_strategy_that_stops_by_evidence_skips_the_exact_distribution() -> None:
    for rule in (KlLucb(), by_name("fc2fb")):
        report = check_strategy(rule, like=rule, alpha=ALPHA)
        assert report.skipped == ("exact distribution",)
        assert "skipped, since outcomes cannot be enumerated: exact distribution" in str(report)
        assert "exact distribution" not in report.checks
        assert "relabelling" in report.checks
    assert check_strategy(MedianElimination(), like=MedianElimination()).skipped == ()


def test_relabelled_arms_of_a_strategy_that_stops_by_evidence_are_compared_by_counts() -> None:
    report = examine(FavoursFirst())
    assert report.skipped
    assert any("by where it stands" in finding for finding in report.findings)
    assert "EnumeratedSession" not in str(report)


def try_all(pull, budget, rng):
    """Uniform allocation over the three or five arms of the check."""
    number = 3 if budget == 60 else 5
    means = [pull(arm, int(budget) // number) for arm in range(number)]
    return int(rng.choice([arm for arm in range(number) if means[arm] == max(means)]))


def try_some(pull, budget, rng):
    means = [pull(arm, int(budget) // 3) for arm in range(3)]
    return max(range(3), key=lambda arm: means[arm])


def test_a_loop_of_pulls_is_a_reference_and_no_strategy_object():
    assert examine(UniformAllocation(), like=try_all).passed
    assert "likeness: selects arm" in str(examine(UniformAllocation(), like=try_some))
    with pytest.raises(ValueError, match="compare a plain loop by like="):
        examine(try_all)
    with pytest.raises(ValueError, match="a strategy needs alignment"):
        Assumes(distribution="bernoulli", rule=try_all)
