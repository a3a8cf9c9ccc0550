"""From plans to cells, from cells to counts, from counts to verdicts; with planted errors that must be caught."""

from __future__ import annotations

import dataclasses
import math

import pytest

from simulations.cache import Cache
from simulations.verification import promises, trials
from simulations.verification.depths import ALARM, DEPTHS, FACTOR, enough_trials
from simulations.verification.plans import PLANS, Plan, tried
from simulations.verification.probes import Probe, outcomes, probes
from simulations.verification.promises import READINGS, Promise, failure_probability
from simulations.verification.trials import make_study, run_claim
from simulations.verification.workbench import Workbench, workbench
from simulations.verification.worlds import world
from theory.claims import all_claims, get
from theory.claims.instances import POOLS, failure_uniform
from theory.verdicts import judge

QUICK = DEPTHS["quick"]


@pytest.fixture
def bench():
    with workbench(0, 1) as bench:
        yield bench


def plan_of(claim, statistic=None):
    return next(p for p in PLANS if p.claim == claim and statistic in (None, p.statistic))


def test_every_experiment_of_the_ledger_is_tried():
    assert {claim.id for claim in all_claims() if claim.experiment is not None} <= set(tried())
    assert all(get(claim) for claim in tried())


def test_a_world_begins_with_a_best_arm():
    with pytest.raises(ValueError, match="first arm of 'best-last' is not a best arm"):
        world("best-last")


@pytest.mark.parametrize("name", sorted(POOLS.keys() - {"best-last"}))
def test_worlds_have_the_gaps_of_their_pools(name):
    place = world(name)
    pool = make_pool(place)
    assert pool.gaps.tolist() == pytest.approx([float(gap) for gap in place.pool.gaps()], abs=1e-12)
    assert len(pool.best_arms()) == place.best_count


def make_pool(place):
    from exml_sim.engine.specs import Sampling, build_pool

    return build_pool(place.spec(), place.score(), Sampling())


def test_cells_are_where_the_promise_is_as_wanted():
    cells = probes(plan_of("lemma-1-i"), QUICK)
    for probe in cells:
        below = failure_probability(probe.reading, world(probe.pool), probe.strategy, probe.budget - 1)
        assert probe.promise.probability <= max(QUICK.targets)
        assert any(not below <= target and probe.promise.probability <= target for target in QUICK.targets)
    assert {probe.reading for probe in cells} == set(READINGS)


def test_enough_trials_decide_and_fewer_do_not():
    for bound in (0.3, 0.05, 0.004):
        number = enough_trials(bound, 1e-8, 10**6)
        assert judge(0, number, bound, alpha=1e-8, factor=FACTOR).outcome == "consistent"
        assert judge(0, number * 2 // 3, bound, alpha=1e-8, factor=FACTOR).outcome == "undecided"
    assert enough_trials(1e-9, 1e-8, 5000) == 5000


def test_stored_counts_match_the_exact_law(bench):
    """Rates of the engine against the theory's enumeration; false alarm 1e-6 on either side of each."""
    cells = [
        Probe("lemma-1-i", "tighter", pool, "uniform", budget, "missed", Promise(0.5))
        for pool, budget in (("opposed", 8), ("star-3", 24))
    ]
    depth = dataclasses.replace(QUICK, least=4000)
    for probe, found in zip(cells, run_claim(cells, depth, bench), strict=True):
        truth = failure_uniform(probe.pool, probe.budget)
        assert found.verdict.trials == 4000
        assert judge(found.verdict.failures, 4000, truth, alpha=1e-6).outcome != "refuted"
        assert judge(4000 - found.verdict.failures, 4000, 1 - truth, alpha=1e-6).outcome != "refuted"


def test_measured_counts_match_stored_ones(bench):
    """A gap that is exceeded by a positive regret: the measured statistic is the stored event."""
    common = ("lemma-1-ii", "tighter", "star-3", "uniform", 24)
    measured = Probe(*common, "selection regret", Promise(0.5, 0.1), 0.2)
    stored = Probe(*common, "missed", Promise(0.5), 0.2)
    first, second = run_claim([measured, stored], QUICK, bench)
    assert first.verdict.failures == second.verdict.failures > 0


def test_exact_cells_are_the_theorys_enumeration(bench):
    probe = Probe("lemma-4", "tighter", "opposed", "uniform", 60, "missed", Promise(1e-3), method="exact")
    (found,) = run_claim([probe], QUICK, bench)
    assert found.verdict.rate == pytest.approx(failure_uniform("opposed", 60), rel=1e-9)
    assert found.verdict.outcome == "consistent"


def test_remote_cells_are_decided_where_counting_cannot(bench, monkeypatch):
    # With 300 trials too few failures carry the estimate, and the engine grants no narrow interval.
    monkeypatch.setattr(trials, "TILTED", 1000)
    depth = dataclasses.replace(QUICK, targets=(), remote=(1e-6,))
    plan = dataclasses.replace(plan_of("lemma-1-i"), pools=("opposed", "star-3#0,1"), readings=("tighter",))
    found = run_claim(probes(plan, depth), depth, bench)
    assert [one.method for one in found] == ["exact", "rare"]
    for one in found:
        assert one.verdict.outcome == "consistent"
        assert 0 < one.verdict.rate < one.bound <= 1e-6


def test_tilted_estimates_are_judged_by_their_interval():
    assert trials.judge_tilted(1e-9, 8e-10, 1.2e-9, 1e-8).outcome == "consistent"
    assert trials.judge_tilted(1e-9, 8e-10, 1.2e-9, 1e-9).outcome == "undecided"
    assert trials.judge_tilted(1e-9, 8e-10, 1.2e-9, 5e-10).outcome == "refuted"


def test_ties_refute_the_printed_lemma_and_not_the_corrected_one(bench):
    plan = dataclasses.replace(plan_of("lemma-1-i"), pools=("tied-3",))
    found = run_claim(probes(plan, QUICK), QUICK, bench)
    assert {one.verdict.outcome for one in found if one.reading == "paper"} == {"refuted"}
    assert {one.verdict.outcome for one in found if one.reading != "paper"} == {"consistent"}
    assert all(one.verdict.alpha <= ALARM / len(found) * (1 + 1e-9) for one in found)


def wrong_exponent(reading, place, strategy, budget, delta):
    """Planted: the bound of 32 times the rows that were bought."""
    return Promise(failure_probability(reading, place, strategy, 32 * budget))


def wrong_limit(reading, place, strategy, budget, delta):
    """Planted: a regret bound that is fifty times too small."""
    found = promises.fixed_deviation(reading, place, strategy, budget, delta)
    return None if found is None else Promise(found.probability, found.limit / 50)


@pytest.mark.parametrize(
    ("claim", "statistic", "says"), [("lemma-4", "missed", wrong_exponent), ("a4-term-c", None, wrong_limit)]
)
def test_planted_errors_are_refuted(bench, claim, statistic, says):
    depth = dataclasses.replace(QUICK, targets=(0.01,))
    right = plan_of(claim, statistic)
    reading = "tighter" if says is wrong_exponent else "corrected"
    wrong = dataclasses.replace(right, says=says, readings=(reading,), pools=("opposed",))
    assert "refuted" in {one.verdict.outcome for one in run_claim(probes(wrong, depth), depth, bench)}
    sound = dataclasses.replace(right, readings=(reading,), pools=("opposed",))
    assert {one.verdict.outcome for one in run_claim(probes(sound, QUICK), QUICK, bench)} == {"consistent"}


def test_an_empty_promise_is_vacuous_and_costs_no_trials(bench):
    cells = probes(plan_of("lemma-1-condition"), QUICK)
    found = run_claim(cells, QUICK, bench)
    assert {one.verdict.outcome for one in found} == {"vacuous"}
    assert all(one.verdict.trials is None and one.bound >= 1 for one in found)


def test_counts_do_not_depend_on_workers_or_blocks(bench, monkeypatch):
    cells = probes(dataclasses.replace(plan_of("a6-term-b"), pools=("opposed",)), QUICK)
    plain = [one.verdict.failures for one in run_claim(cells, QUICK, bench)]
    monkeypatch.setattr(trials, "CHUNK", 170)
    with Cache() as cache:
        assert [one.verdict.failures for one in run_claim(cells, QUICK, Workbench(0, 2, cache))] == plain
        assert len(cache) > 1
    assert any(plain)


def test_recorded_blocks_are_not_run_again(bench, monkeypatch):
    cells = probes(dataclasses.replace(plan_of("lemma-3"), pools=("opposed",)), QUICK)
    first = run_claim(cells, QUICK, bench)
    monkeypatch.setattr(trials, "count_block", lambda *_: pytest.fail("run again"))
    assert run_claim(cells, QUICK, bench) == first


def test_a_study_has_the_budgets_of_its_cells():
    cells = [probe for probe in probes(plan_of("lemma-1-i"), QUICK) if probe.pool == "star-3"]
    study = make_study(cells, 10, 5)
    assert {int(cell.budget) for cell in study.cells()} == {probe.budget for probe in cells}
    assert study.seed == 5


def test_bad_plans_and_pools_are_refused():
    with pytest.raises(ValueError, match="own budgets"):
        Plan("lemma-4", ("opposed",), ("uniform",), "missed", promises.pairwise, search="given")
    with pytest.raises(ValueError, match="there is no pool"):
        world("moon")
    with pytest.raises(ValueError, match="not a best arm"):
        world("star-3#1,0")


def test_outcomes_of_an_enumeration_are_counted():
    assert outcomes(world("opposed"), "uniform", 20) == math.comb(12, 2)
