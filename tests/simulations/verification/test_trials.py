"""From plans to cells, from cells to counts, from counts to verdicts; with planted errors that must be caught."""

from __future__ import annotations

import dataclasses

import pytest

from simulations.verification import _claim_trials as trials
from simulations.verification import _guarantees as guarantees
from simulations.verification._cells import (
    ALPHA,
    DEPTHS,
    FACTOR,
    PLANS,
    CellEvidence,
    ClaimCell,
    ClaimPlan,
    count_distinct,
    count_needed_trials,
    list_tested_claims,
    make_cells,
)
from simulations.verification._claim_trials import make_context, run_claim
from simulations.verification._guarantees import READINGS, Case, Guarantee, get_pool
from theory.claims import all_claims, get
from theory.claims._instances import failure_uniform
from theory.verdicts import judge, vacuous

QUICK = DEPTHS["quick"]


@pytest.fixture
def context():
    return make_context(0, 1)


def plan_of(claim, statistic=None):
    return next(p for p in PLANS if p.claim == claim and statistic in (None, p.statistic))


def test_every_experiment_of_the_registry_is_tested():
    assert {claim.id for claim in all_claims() if claim.experiment is not None} <= set(list_tested_claims())
    assert all(get(claim) for claim in list_tested_claims())


def test_cells_are_where_the_guarantee_is_as_wanted():
    cells = make_cells(plan_of("lemma-1-i"), QUICK)
    for cell in cells:
        below = Case(cell.reading, get_pool(cell.pool), cell.strategy, cell.budget - 1, 0.5).failure_probability
        assert cell.bound <= max(QUICK.targets)
        assert any(not below <= target and cell.bound <= target for target in QUICK.targets)
    assert {cell.reading for cell in cells} == set(READINGS)


def test_enough_trials_decide_and_fewer_do_not():
    for bound in (0.3, 0.05, 0.004):
        number = count_needed_trials(bound, 1e-8, 10**6)
        assert judge(0, number, bound, alpha=1e-8, factor=FACTOR).outcome == "consistent"
        assert judge(0, number * 2 // 3, bound, alpha=1e-8, factor=FACTOR).outcome == "undecided"
    assert count_needed_trials(1e-9, 1e-8, 5000) == 5000


def test_stored_counts_match_the_exact_distribution(context):
    """Rates of the engine against the theory's enumeration; false alarm 1e-6 on either side of each."""
    cells = [
        ClaimCell("lemma-1-i", "tighter", pool, "uniform", budget, "missed", 0.5)
        for pool, budget in (("opposed", 8), ("star-3", 24))
    ]
    depth = dataclasses.replace(QUICK, least=4000)
    for cell, evidence in zip(cells, run_claim(cells, depth, context), strict=True):
        truth = failure_uniform(cell.pool, cell.budget)
        assert evidence.verdict.trials == 4000
        assert judge(evidence.verdict.failures, 4000, truth, alpha=1e-6).outcome != "refuted"
        assert judge(4000 - evidence.verdict.failures, 4000, 1 - truth, alpha=1e-6).outcome != "refuted"


def test_measured_counts_match_stored_ones(context):
    """A gap that is exceeded by a positive regret: the measured statistic is the stored event."""
    common = ("lemma-1-ii", "tighter", "star-3", "uniform", 24)
    measured = ClaimCell(*common, "selection regret", 0.5, 0.1, 0.2)
    stored = ClaimCell(*common, "missed", 0.5, delta=0.2)
    first, second = run_claim([measured, stored], QUICK, context)
    assert first.verdict.failures == second.verdict.failures > 0


def test_ties_refute_the_printed_lemma_and_not_the_corrected_one(context):
    plan = dataclasses.replace(plan_of("lemma-1-i"), pools=("tied-3",))
    evidence = run_claim(make_cells(plan, QUICK), QUICK, context)
    assert {entry.verdict.outcome for entry in evidence if entry.reading == "paper"} == {"refuted"}
    assert {entry.verdict.outcome for entry in evidence if entry.reading != "paper"} == {"consistent"}
    assert all(entry.verdict.alpha <= ALPHA / len(evidence) * (1 + 1e-9) for entry in evidence)


def wrong_exponent(case):
    """Planted: the bound of 32 times the rows that were bought."""
    return guarantees.identification(dataclasses.replace(case, budget=32 * case.budget))


def wrong_limit(case):
    """Planted: a bound on a deviation that is fifty times too small."""
    right = guarantees.fixed_deviation(case)
    return None if right is None else Guarantee(right.probability, right.limit / 50)


@pytest.mark.parametrize(
    ("claim", "statistic", "guarantee"), [("lemma-4", "missed", wrong_exponent), ("a4-term-c", None, wrong_limit)]
)
def test_planted_errors_are_refuted(context, claim, statistic, guarantee):
    depth = dataclasses.replace(QUICK, targets=(0.01,))
    right = plan_of(claim, statistic)
    reading = "tighter" if guarantee is wrong_exponent else "corrected"
    wrong = dataclasses.replace(right, guarantee=guarantee, readings=(reading,), pools=("opposed",))
    assert "refuted" in {entry.verdict.outcome for entry in run_claim(make_cells(wrong, depth), depth, context)}
    sound = dataclasses.replace(right, readings=(reading,), pools=("opposed",))
    assert {entry.verdict.outcome for entry in run_claim(make_cells(sound, QUICK), QUICK, context)} == {"consistent"}


def test_an_empty_guarantee_is_vacuous_and_costs_no_trials(context):
    plan = dataclasses.replace(plan_of("lemma-1-i"), budgets=(8,), readings=("paper",))
    cells = make_cells(plan, QUICK)
    evidence = run_claim(cells, QUICK, context)
    assert {entry.verdict.outcome for entry in evidence} == {"vacuous"}
    assert all(entry.verdict.trials is None and not entry.bound < 1 for entry in evidence)


def test_counts_do_not_depend_on_workers_or_blocks(context):
    plan = ClaimPlan("lemma-1-ii", ("star-3",), ("uniform",), "selection regret", lambda case: Guarantee(0.5, 0.1))
    plan = dataclasses.replace(plan, budgets=(24,), readings=("tighter",))
    cells = make_cells(plan, QUICK)
    plain = [entry.verdict.failures for entry in run_claim(cells, QUICK, context)]
    small = dataclasses.replace(make_context(0, 2), chunk=170)
    assert [entry.verdict.failures for entry in run_claim(cells, QUICK, small)] == plain
    assert any(plain)


def test_recorded_blocks_are_not_run_again(context, monkeypatch):
    cells = make_cells(dataclasses.replace(plan_of("lemma-3"), pools=("opposed",)), QUICK)
    first = run_claim(cells, QUICK, context)
    monkeypatch.setattr(trials, "count_block", lambda *_: pytest.fail("run again"))
    assert run_claim(cells, QUICK, context) == first


def test_bad_plans_and_pools_are_refused():
    with pytest.raises(ValueError, match="there is no pool"):
        get_pool("moon")
    with pytest.raises(ValueError, match="not a best arm"):
        get_pool("star-3#1,0")
    with pytest.raises(ValueError, match="first arm of 'best-last' is not a best arm"):
        get_pool("best-last")


# --- evidence is counted once, however many claims use it ------------------------------------------------------------


def cell(failures=0, trials=2000, bound=0.3, **changes):
    common = {"claim": "lemma-3", "reading": "corrected", "pool": "opposed", "strategy": "uniform", "budget": 40}
    verdict = changes.pop("verdict", None) or judge(failures, trials, bound, alpha=1e-7, factor=2.0)
    return CellEvidence(**(common | {"event": "missed"} | changes), bound=bound, verdict=verdict)


def test_the_same_question_of_the_same_trials_counts_once():
    cells = [cell(), cell(claim="term-d", reading="paper"), cell(limit=0.1), cell(bound=0.2), cell(budget=48)]
    once = count_distinct(cells)
    assert (once.cells, once.informative, once.decided) == (4, 4, 4)
    # Three questions are about the trials of budget 40, one about those of budget 48.
    assert once.trials == 4_000


def test_promises_that_differ_by_rounding_are_one_question():
    assert count_distinct([cell(bound=0.3), cell(bound=0.3 * (1 + 1e-14))]).cells == 1
    assert count_distinct([cell(bound=0.3), cell(bound=0.3 * (1 + 1e-6))]).cells == 2


def test_of_shared_trials_the_larger_number_counts_and_pairs_are_runs_of_two_strategies():
    assert count_distinct([cell(trials=1500), cell(trials=2000, bound=0.2)]).trials == 2_000
    pair = cell(method="paired", strategy="uniform against median-accumulated", extra={"trials": 700})
    assert count_distinct([pair]).trials == 1_400
    assert count_distinct([pair, cell(trials=2000)]).trials == 2_700


def test_vacuous_and_undecided_cells_do_not_count_as_decided():
    empty = cell(bound=1.5, verdict=vacuous("Says nothing.", bound=1.5))
    short = cell(trials=3)
    count = count_distinct([empty, short, cell(bound=0.2)])
    assert (count.cells, count.informative, count.decided) == (3, 2, 1)
    assert count.share == 0.5
    assert count_distinct([]).share == 1.0
