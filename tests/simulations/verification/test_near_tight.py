"""Near-tight instances: right bounds pass, and moderately wrong bounds are a problem of a verification."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest

from simulations.verification import run
from simulations.verification._claim_trials import judge_between, judge_near_tight
from tests.simulations.verification.test_run import SMALL, recorded
from theory import formulas, tighter
from theory.claims import _near_tight as instances
from theory.versions import VERSIONS

CLAIMS = ("lemma-1-i", "lemma-2-i", "lemma-4")


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_right_bounds_pass_and_come_close(claim):
    evidence = judge_near_tight(claim)
    assert {entry.verdict.outcome for entry in evidence} == {"consistent", "vacuous"}
    assert all(entry.must_hold and entry.method == "exact" for entry in evidence)
    ratios = [entry.verdict.rate / entry.bound for entry in evidence if entry.informative]
    assert max(ratios) > 0.2
    # Far out, where the exponent shows, too: both readings have a cell with a bound below 1e-20.
    assert {entry.reading for entry in evidence if entry.bound < 1e-20} == {"corrected", "tighter"}


def plant(monkeypatch, wrong):
    """Put a wrong function into the table of versions."""
    right = VERSIONS["tighter"]
    entry = dataclasses.replace(right, functions={**right.functions, "uniform": wrong})
    monkeypatch.setitem(VERSIONS, "tighter", entry)


def halved_optimism(monkeypatch):
    """theory/formulas: 0.5 * dual_constant."""
    right = formulas.dual_constant
    monkeypatch.setattr(formulas, "dual_constant", lambda theta, xp=formulas.FLOATS: 0.5 * right(theta, xp))


def arms_dropped(monkeypatch):
    """tighter.delta_fail_uniform: log_count = 0, the factor K - 1 is gone."""

    def wrong(B, K, gap, **options):
        return tighter.delta_fail_uniform(B, K, gap, **(options if gap is None else options | {"best_count": K - 1}))

    plant(monkeypatch, wrong)


def sum_over_arms_dropped(monkeypatch):
    """The same where all gaps are given: only the closest rival counts."""

    def wrong(B, K, gap, gaps=None, **options):
        if gaps is None:
            return tighter.delta_fail_uniform(B, K, gap, **options)
        return tighter.delta_fail_uniform(B, K, min(gaps), **options | {"best_count": K - 1})

    plant(monkeypatch, wrong)


def doubled_exponent(monkeypatch):
    """theory/formulas: twice the exponent of log_tail_corrected."""
    right = formulas.log_tail_corrected
    monkeypatch.setattr(formulas, "log_tail_corrected", lambda *arguments: 2 * right(*arguments))


MUTANTS = [
    (halved_optimism, "lemma-1-i", "tighter"),
    (halved_optimism, "lemma-2-i", "tighter"),
    (halved_optimism, "lemma-4", "tighter"),
    (arms_dropped, "lemma-1-i", "tighter"),
    (sum_over_arms_dropped, "lemma-1-i", "tighter"),
    (doubled_exponent, "lemma-1-i", "corrected"),
    (doubled_exponent, "lemma-2-i", "corrected"),
    (doubled_exponent, "lemma-4", "corrected"),
]


@pytest.mark.parametrize(("plant", "claim", "reading"), MUTANTS, ids=lambda value: getattr(value, "__name__", value))
def test_a_moderate_error_is_refuted(monkeypatch, plant, claim, reading):
    plant(monkeypatch)
    assert {entry.reading for entry in judge_near_tight(claim) if entry.verdict.outcome == "refuted"} == {reading}


@pytest.mark.parametrize("plant", [None, halved_optimism, arms_dropped, doubled_exponent])
def test_a_verification_has_a_problem(monkeypatch, plant):
    """Without counted cells, which are not what catches these errors."""
    monkeypatch.setattr(run, "run_checks", recorded)
    if plant is not None:
        plant(monkeypatch)
    problems = run.verify(CLAIMS, dataclasses.replace(SMALL, targets=()), n_jobs=1, plans=()).problems
    assert bool(problems) == (plant is not None)
    assert all("statement is refuted on" in text for _, text in problems)


def test_the_walk_against_whole_numbers():
    """P[(N_B - N_A) N_C >= 0] summed over all outcomes in fractions, deep in the tail."""
    n, tilt, third = 120, Fraction(2, 5), Fraction(1, 2)
    a, b = (1 - third + tilt) / 2, (1 - third - tilt) / 2
    total = Fraction(0)
    for c in range(n + 1):
        for k in range(n - c + 1):
            if (k - (n - c - k)) * c >= 0:
                total += math.comb(n, c) * math.comb(n - c, k) * third**c * b**k * a ** (n - c - k)
    assert instances.passed(n, float(tilt), float(third)) == pytest.approx(float(total), rel=1e-11)
    assert total < 1e-10


def test_a_bound_inside_the_bracket_is_undecided():
    assert [judge_between(0.1, 0.3, bound).outcome for bound in (0.05, 0.2, 0.3, 1.0, math.nan)] == [
        "refuted",
        "undecided",
        "consistent",
        "vacuous",
        "vacuous",
    ]
