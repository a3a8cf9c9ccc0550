"""The targets of Theorems 7 and 8: the law behind them, and that they would see a wrong bound."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from exml_sim.engine import AtomPool, Sampling, Score, build_pool
from simulations.falsify.targets import _selection as selection
from simulations.falsify.targets import get
from tests.simulations.falsify.draws import draw
from theory import tighter

TARGET = get("tighter.delta_fail_uniform_regularised")
VARIANCE = get("tighter.lemma_4_variance")


def sampled(target, count, seed=0):
    """Instances of a target's space on which its bound speaks, with few rows."""
    small = (replace(pool, budget=min(pool.budget, 40 * pool.arms)) for pool in draw(target.space, 600, seed))
    admissible = [pool for pool in dict.fromkeys(small) if target.measure(pool, 0).admissible]
    assert len(admissible) >= count
    return admissible[-count:]


@pytest.mark.parametrize("one", sampled(TARGET, 6), ids=range(6))
def test_the_fast_law_is_the_slow_one(one):
    fast, slow = selection.log_penalised_failure(one), selection.slow_log_penalised_failure(one)
    assert fast == pytest.approx(slow, rel=1e-9)
    assert TARGET.confirm(one, 0).outcome in ("consistent", "vacuous")


@pytest.mark.parametrize("one", sampled(TARGET, 4, seed=1), ids=range(4))
def test_the_closed_form_is_what_the_solver_minimises(one):
    atoms = AtomPool(
        values=tuple(tuple(float(value) for value in arm) for arm in one.features),
        y=tuple(float(label) for label in one.labels),
        copies=one.weights,
    )
    C = float(selection.compute_penalty(one))
    score = Score(score="objective", theta=float(one.theta), penalty=(C, C), loss="mean")
    pool = build_pool(atoms, score, Sampling())
    np.testing.assert_allclose(pool.gaps, [float(gap) for gap in selection.penalised_gaps(one)], atol=1e-7)


def test_a_wrong_bound_is_refuted(monkeypatch):
    """exp(-n), which the paper prints for uniform allocation, in the place of Theorem 8."""
    monkeypatch.setattr(selection, "log_penalised_bound", lambda one: -float(one.rows))
    outcomes = [TARGET.confirm(one, 0).outcome for one in sampled(TARGET, 4)]
    assert "refuted" in outcomes


def test_a_wrong_variance_form_is_refuted(monkeypatch):
    """Theorem 7 with sixteen times the rows."""
    right = tighter.lemma_4_variance
    instances = sampled(VARIANCE, 12)
    assert all(VARIANCE.measure(one, 0).excess <= 0 for one in instances)
    monkeypatch.setattr(tighter, "lemma_4_variance", lambda n, *rest, **options: right(16 * n, *rest, **options))
    wrong = [VARIANCE.measure(one, 0) for one in instances]
    worst = max(range(12), key=lambda i: wrong[i].excess)
    assert wrong[worst].excess > math.log(10)
    assert VARIANCE.confirm(instances[worst], 0).outcome == "refuted"
