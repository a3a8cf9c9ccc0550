"""Evidence is counted once, however many claims use it."""

from __future__ import annotations

from simulations.verification._cells import CellEvidence, count_distinct
from theory.verdicts import judge, vacuous


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


def test_of_shared_trials_the_larger_number_counts():
    assert count_distinct([cell(trials=1500), cell(trials=2000, bound=0.2)]).trials == 2_000


def test_promises_that_differ_by_rounding_are_one_question():
    assert count_distinct([cell(bound=0.3), cell(bound=0.3 * (1 + 1e-14))]).cells == 1
    assert count_distinct([cell(bound=0.3), cell(bound=0.3 * (1 + 1e-6))]).cells == 2


def test_paired_trials_are_runs_of_two_strategies():
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
