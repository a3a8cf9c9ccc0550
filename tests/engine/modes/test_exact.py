"""Exact mode: against theory's own enumeration, a brute force over all sequences of rows, and counting."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from exml_sim.bandit._sampling import RowOptions, RowSampler
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.rows import RowState
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.engine import Study, run
from exml_sim.engine._trials import outcomes
from exml_sim.engine.modes._exact import MAX_OUTCOMES, enumerate_cell
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from tests.bandit.exact_distributions import uniform_selection_probabilities
from tests.engine.studies import known
from theory.exact import failure, make_pool, median_selection, uniform_selection

VALUES = [[1, 0.5, -0.5], [0.5, 0.75, -1], [0.25, 1, 0.5], [0.5, 0.5, 0.25]]
RULES = ["uniform_allocation", "median_elimination", {"name": "median_elimination", "accumulate": False}]
#: The enumeration of theory breaks ties by the lowest index.
LOWEST = [{**({"name": rule} if isinstance(rule, str) else rule), "ties": "lowest"} for rule in RULES]


def atoms(values=VALUES, y=(1, -1, 1), copies=(30, 20, 10), costs=None, **options) -> Study:
    """A few atoms in the affine regime."""
    pool = {"kind": "finite_support", "values": values, "y": y, "copies": copies}
    table = {
        "pools": [pool if costs is None else pool | {"costs": costs}],
        "scores": [{"ball": 0.3, "theta": 0.3}],
        "strategies": RULES,
        "budgets": {"per_arm": [6, 9]},
        "mode": "exact",
    }
    return Study.from_table(table | options)


def theirs(strategy: str, budget: str, values, weights, labels, **options) -> float:
    """The failure probability by `theory.exact`."""
    pool = make_pool(weights, values, labels=labels, radius=F(3, 10), theta=F(3, 10))
    if strategy.startswith("uniform_allocation"):
        distribution = uniform_selection(pool, int(budget), exact=False, **options)
    else:
        distribution = median_selection(pool, int(budget), accumulate="False" not in strategy, exact=False, **options)
    return float(failure(pool, distribution))


def test_against_the_enumeration_of_theory():
    weights = [F(1, 2), F(1, 3), F(1, 6)]
    for entry in run(atoms(strategies=LOWEST)).summary():
        assert entry.failure_rate == pytest.approx(
            theirs(entry.strategy, entry.budget, VALUES, weights, (1, -1, 1)), rel=1e-11
        )
        assert (entry.interval, entry.lower, entry.upper) == ("exact", entry.failure_rate, entry.failure_rate)


def test_independent_rows_and_draws_without_replacement():
    values = [[1, 0.5], [0.25, 0.75]]
    study = atoms(values, (1, -1), (30, 10), strategies=LOWEST, sampling={"rows": "independent"})
    for entry in run(study).summary():
        expected = theirs(entry.strategy, entry.budget, values, [F(3, 4), F(1, 4)], (1, -1), rows="independent")
        assert entry.failure_rate == pytest.approx(expected, rel=1e-11)
    for replacement in ("never", "across"):
        study = atoms(strategies=LOWEST[:1], sampling={"replacement": replacement})
        for entry in run(study).summary():
            expected = theirs(
                entry.strategy, entry.budget, VALUES, [F(1, 2), F(1, 3), F(1, 6)], (1, -1, 1), population=60
            )
            assert entry.failure_rate == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("ties", ["lowest", "random"])
def test_known_arms(ties):
    study = known(strategies=[{"name": "uniform_allocation", "ties": ties}], mode="exact")
    for entry, pulls in zip(run(study).summary(), (10, 20), strict=True):
        expected = uniform_selection_probabilities([0.4, 0.5, 0.6], pulls, ties)
        assert entry.failure_rate == pytest.approx(float(expected[1:].sum()), rel=1e-11)
        assert entry.mean_regret == pytest.approx(float(0.1 * expected[1] + 0.2 * expected[2]), rel=1e-11)
        assert entry.mean_spend == pytest.approx(3 * pulls)


class FixedSampler(RowSampler):
    """Orders that are given row by row: the slow path."""

    def __init__(self, orders, n_arms: int, n_rows: int) -> None:
        super().__init__(Seeds.of(0, range(len(orders))), n_arms, n_rows, RowOptions())
        self._given = orders

    def draw(self, pulls, fresh_rows):
        start = self._start(fresh_rows).copy()
        self._fresh = np.zeros_like(self.counts)
        for t, k in np.argwhere(pulls > 0):
            for j in range(start[t, k], start[t, k] + pulls[t, k]):
                self._fresh[t, k, self._given[t][j]] += 1
        self.counts += self._fresh
        self._next = np.where(pulls > 0, start + pulls, self._next)


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "uniform_allocation", "alignment": "budget"},
        {"name": "median_elimination", "alignment": "budget"},
        {"name": "median_elimination", "alignment": "sample", "accumulate": False},
        {"name": "median_elimination", "objective": "risk_per_cost"},
        {"name": "successive_rejects"},
        {"name": "top_two", "rounds": 2, "first_round_share": "1/2"},
        {"name": "uniform_allocation", "top": 2},
    ],
    ids=str,
)
def test_against_all_sequences_of_rows(rule):
    """Unequal costs make the rounds of different outcomes differ; all 3^9 sequences of rows are run one by one."""
    study = atoms(
        VALUES[:3],
        (1, -1, 1),
        (1, 1, 1),
        costs=["0.5", "1", "1.5"],
        strategies=[rule | {"ties": "lowest"}],
        budgets={"absolute": [9]},
    )
    (cell,) = study.cells()
    pool, strategy = study.pool(cell), study.strategy(cell)
    orders = list(product(range(3), repeat=9))
    session = RowState(pool.arms, FixedSampler(orders, 3, 3))
    ledger = Ledger(exact(cell.budget), pool.prices, pool.names, trials=len(orders))
    trials = TrialBatch(session, ledger, alignment=strategy.alignment, objective=strategy.objective)
    selected = strategy.explore(trials)
    assert trials.pulls.max() <= 9
    success, regret = outcomes(pool, selected, strategy.objective)
    distribution = enumerate_cell(study, cell)
    assert distribution.selected == pytest.approx(np.bincount(selected[:, 0], minlength=3) / len(orders), abs=1e-12)
    assert sum(distribution.failure) == pytest.approx(1 - success.mean(), abs=1e-12)
    assert sum(distribution.regret) == pytest.approx(regret.mean(), abs=1e-12)
    assert distribution.pulls == pytest.approx(trials.pulls.mean(axis=0), abs=1e-12)


def test_counting_agrees():
    """Each of six rates within 5.5 standard errors: false alarm below 1e-7 in all."""
    truth = run(atoms()).summary()
    for exact_one, entry in zip(truth, run(atoms(mode="monte_carlo", trials=4000)).summary(), strict=True):
        p = exact_one.failure_rate
        assert abs(entry.failure_rate - p) < 5.5 * np.sqrt(p * (1 - p) / 4000)
        assert entry.mean_spend == pytest.approx(exact_one.mean_spend)


def test_distributions_are_stored_once_and_resumed(tmp_path):
    path = tmp_path / "study.sqlite"
    with run(atoms(), store=path) as first:
        assert first.complete
        digest = first.store.digest()
    with run(atoms(), store=path) as again:
        assert again.store.digest() == digest


def test_what_cannot_be_enumerated_is_said():
    gaussian = known(pools=[{"kind": "parametric", "direction": "minimise", "means": [0, 1], "sd": 1.0}], mode="exact")
    with pytest.raises(ValueError, match="finitely many values"):
        run(gaussian)
    with pytest.raises(ValueError, match=r"cell 0 .*outcomes to enumerate, at most 2000000"):
        run(atoms(budgets={"per_arm": [5000]}))
    with pytest.raises(ValueError, match="32768 of them into more than 262144 branches"):
        run(known(mode="exact", strategies=["top_two"], budgets={"per_arm": [4]}))
    with pytest.raises(ValueError, match="of the 60 rows are left"):
        run(atoms(budgets={"per_arm": [61]}, sampling={"replacement": "never"}))


def test_tiny_failure_probabilities_are_not_rounded_away():
    """1 - success would be off by 1e-16; the failures themselves are added up."""
    pool = [{"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [30, 10]}]
    study = atoms(
        pools=pool, strategies=["uniform_allocation"], sampling={"rows": "independent"}, budgets={"per_arm": [40]}
    )
    (entry,) = run(study).summary()
    k = np.arange(41)
    mass = binom.pmf(k, 40, 0.75)
    best, rival = k + 0.5 * (40 - k), 0.25 * k + 0.75 * (40 - k)
    truth = sum(m * mass[best < value].sum() for m, value in zip(mass, rival, strict=True))
    assert truth < 1e-20
    assert entry.failure_rate == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(("atoms", "rows"), [(4, 226), (8, 22), (80, 4)])
def test_the_border_that_the_guide_states(atoms: int, rows: int) -> None:
    assert comb(rows + atoms - 1, atoms - 1) <= MAX_OUTCOMES < comb(rows + atoms, atoms - 1)
