"""Rare failures: weights without bias, and intervals that cover exact probabilities down to 1e-12."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import binom, t

from exml_sim.engine import Study, run
from exml_sim.engine._statistics import bounded_interval
from exml_sim.engine._trials import outcomes
from exml_sim.engine.modes import _importance_sampling as rare_module
from exml_sim.engine.modes import _tilting as tilting
from exml_sim.engine.modes._importance_sampling import tilted_trials, tilts
from exml_sim.engine.modes._tilting import PLAIN
from tests.engine.modes.test_exact import RULES, atoms
from tests.engine.studies import features, known

#: One arm is clearly better on the frequent atom.
VALUES = [[1, 0.75, 0.5], [0.5, 1, 0.75], [0.25, 0.5, 1]]


def curve(mode: str, trials: int = 4000, **options) -> Study:
    """Failure probabilities from 1e-1 to 1e-5, under all strategies."""
    given = {"budgets": {"per_arm": [6, 24]}} | options
    return atoms(VALUES, (1, 1, 1), (30, 6, 6), mode=mode, trials=trials, **given)


def deep(mode: str, trials: int = 4000, **options) -> Study:
    """Failure probabilities down to 1e-12 and far beyond, with independent rows and with the same rows."""
    given = {"strategies": RULES[:2], "budgets": {"per_arm": [6, 20, 40]}} | options
    return atoms([[1, 0.5], [0.25, 0.75]], (1, 1), (30, 10), mode=mode, trials=trials, **given)


def distance(study: Study, truth: Study) -> list[tuple[float, float, float]]:
    """Exact probability, distance in standard errors, and relative standard error of every cell."""
    seen = []
    for entry, exact in zip(run(study).summary(0.6826894921), run(truth).summary(), strict=True):
        error = (entry.upper - entry.lower) / 2
        seen.append(
            (exact.failure_rate, abs(entry.failure_rate - exact.failure_rate) / error, error / entry.failure_rate)
        )
    return seen


@pytest.mark.parametrize("rows", ["same", "independent"])
def test_against_exact_probabilities_down_to_1e_12(rows):
    """At most 5.5 standard errors off, each: false alarm below 1e-6 in all. The weight of 4000 trials is enough."""
    options = {"sampling": {"rows": rows}}
    if rows == "same":
        options["budgets"] = {"per_arm": [12, 40, 100]}
    result = distance(deep("importance_sampling", **options), deep("exact", **options))
    assert min(p for p, _, _ in result) < 1e-12 < 1e-6 < max(p for p, _, _ in result)
    for _, z, relative in result:
        assert z < 5.5
        assert relative < 0.1


def test_weights_have_mean_one_and_are_bounded():
    """The weights are a likelihood ratio: within 5.5 standard errors of mean 1 in each of six cells."""
    study = curve("importance_sampling", trials=4000)
    for cell in study.cells():
        _, weights = tilted_trials(study, cell, range(4000))
        assert weights.max() <= 1 / PLAIN + 1e-9
        assert abs(weights.mean() - 1) < 5.5 * weights.std() / np.sqrt(4000)


@pytest.fixture
def fresh_tables() -> Iterator[None]:
    """Keep planted tables out of other tests."""
    rare_module.find_tables.cache_clear()
    yield
    rare_module.find_tables.cache_clear()


@pytest.mark.usefixtures("fresh_tables")
def test_a_wrong_likelihood_ratio_is_caught(monkeypatch):
    """Ratios that are off by two parts in a hundred fail the comparison with exact probabilities."""
    original = rare_module.Tables

    def wrong(mixture):
        tables = original(mixture)
        tables.log_ratio *= 1.02
        return tables

    monkeypatch.setattr(rare_module, "Tables", wrong)
    options = {"sampling": {"rows": "independent"}}
    assert max(z for _, z, _ in distance(deep("importance_sampling", **options), deep("exact", **options))) > 5.5


def test_intervals_cover():
    """Of 40 intervals at 95 % at least 29 cover; fewer have probability below 1e-6."""
    assert binom.cdf(28, 40, 0.95) < 1e-6
    options = {"strategies": RULES[:1], "budgets": {"per_arm": [40]}, "sampling": {"rows": "independent"}}
    (truth,) = run(deep("exact", **options)).summary()
    hits = 0
    for seed in range(40):
        (entry,) = run(deep("importance_sampling", trials=500, seed=seed, **options), n_jobs=1).summary()
        hits += entry.lower <= truth.failure_rate <= entry.upper
    assert hits >= 29


#: Best arms of the crowds win ties.
UNIFORM = {"name": "uniform_allocation", "ties": "lowest"}
#: One best arm and one rival of the crowds below; both atoms are drawn in the proportion 3 : 1.
BEST, RIVAL = (1.0, 0.5), (0.25, 0.75)


def crowd(best: int, rivals: int, per_arm: int, strategy=None, **options) -> Study:
    """Tied best arms against equal rivals, every arm on rows of its own."""
    given = {
        "strategies": [strategy or UNIFORM],
        "budgets": {"per_arm": [per_arm]},
        "sampling": {"rows": "independent"},
    }
    values = [BEST] * best + [RIVAL] * rivals
    return atoms(values, (1, 1), (30, 10), **({"mode": "importance_sampling", "trials": 10**6} | given | options))


def sums(pulls: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probability of every number of draws of the first atom, and the sum of values of a best arm and of a rival."""
    k = np.arange(pulls + 1)
    return binom.pmf(k, pulls, 0.75), k + 0.5 * (pulls - k), 0.25 * k + 0.75 * (pulls - k)


def uniform_truth(best: int, rivals: int, pulls: int) -> float:
    """Uniform allocation fails iff the largest sum of a rival exceeds those of all best arms, which win ties."""
    mass, best_sum, rival_sum = sums(pulls)
    total = before = 0.0
    for value in np.unique(rival_sum):
        reached = float(mass[rival_sum <= value].sum()) ** rivals
        total += (reached - before) * float(mass[best_sum < value].sum()) ** best
        before = reached
    return total


def halving_truth(pulls: int) -> float:
    """Median elimination on fresh rows, one best arm against three rivals: lost in round 1, or else in round 2."""

    def passing(n: int) -> tuple[np.ndarray, np.ndarray]:
        mass, best_sum, rival_sum = sums(n)
        return mass, np.array([mass[rival_sum > value].sum() for value in best_sum])

    (mass, p), (mass_2, p_2) = passing(pulls // 2), passing(pulls)
    first = float((mass * (3 * p**2 * (1 - p) + p**3)).sum())
    return first + (1 - first) * float((mass_2 * p_2).sum())


FRESH_ROWS = {"name": "median_elimination", "accumulate": False, "ties": "lowest"}
CROWDS = {
    "two arms, 1e-5": (crowd(1, 1, 8), uniform_truth(1, 1, 8)),
    "eight arms, 1e-11": (crowd(1, 7, 20), uniform_truth(1, 7, 20)),
    "two best arms, 1e-11": (crowd(2, 1, 12), uniform_truth(2, 1, 12)),
    "two best arms and three rivals, 1e-9": (crowd(2, 3, 10), uniform_truth(2, 3, 10)),
    "halving against three equal rivals, 1e-10": (crowd(1, 3, 24, FRESH_ROWS), halving_truth(24)),
}


def weighted(study: Study, trials: int) -> np.ndarray:
    """The weight of every failure, 0 for a success."""
    (cell,) = study.cells()
    result, weights = tilted_trials(study, cell, range(trials))
    success, _ = outcomes(study.pool(cell), result.selected, "risk")
    return np.where(success, 0.0, weights)


def test_own_truths_against_exact_mode():
    for study, truth in ((crowd(2, 1, 6), uniform_truth(2, 1, 6)), (crowd(1, 3, 4, FRESH_ROWS), halving_truth(4))):
        (entry,) = run(Study.from_table(study.table() | {"mode": "exact"})).summary()
        assert entry.failure_rate == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("name", CROWDS)
def test_equal_rivals_and_tied_best_arms(name):
    """The mean of 60,000 trials is within 5.5 standard errors, and 60 intervals of 1000 trials each cover.

    Student's interval, which is valid for many trials only, is asked for 90 % where it promises 95 %: fewer than 41 of
    60 have probability below 1e-6. The proven interval is asked for its 95 %: fewer than 46 have probability below
    1e-6.
    """
    assert binom.cdf(40, 60, 0.9) < 1e-6 > binom.cdf(45, 60, 0.95)
    study, truth = CROWDS[name]
    result = weighted(study, 60_000)
    assert abs(result.mean() - truth) < 5.5 * result.std() / np.sqrt(result.size)
    known = tilts(study, study.cells()[0])
    assert known.complete
    # The theorem: no failure weighs more than the bound, which is far below that of the plain component.
    assert result.max() <= known.weight_bound < 1000 * truth < 1 / PLAIN
    parts = result.reshape(60, 1000)
    reach = t.isf(0.025, 999) * parts.std(axis=1, ddof=1) / np.sqrt(1000)
    assert (abs(parts.mean(axis=1) - truth) <= reach).sum() >= 41
    ends = [bounded_interval(p.mean(), p.std(ddof=1), 1000, known.weight_bound) for p in parts]
    assert sum(low <= truth <= high for low, high in ends) >= 46


@pytest.mark.parametrize(
    "strategy",
    ["median_elimination", FRESH_ROWS, "successive_rejects", {"name": "uniform_allocation", "top": 2}],
    ids=str,
)
@pytest.mark.parametrize("rows", ["same", "independent"])
def test_every_rule_against_exact_probabilities(strategy, rows):
    """Unequal arms with a tie for the first place: within 5.5 standard errors, every weight within its bound."""
    values = [[1, 0.75], [1, 0.75], [0.5, 0.8], [0.45, 0.9]] if rows == "same" else [BEST, BEST, RIVAL, (0.25, 0.5)]
    pulls = 6 if rows == "same" else 4
    options = {"strategies": [strategy], "sampling": {"rows": rows}, "budgets": {"per_arm": [pulls]}}
    study = atoms(values, (1, 1), (30, 10), mode="importance_sampling", trials=20_000, **options)
    (truth,) = run(atoms(values, (1, 1), (30, 10), mode="exact", **options)).summary()
    result = weighted(study, 20_000)
    assert 0 < truth.failure_rate < 0.05
    assert abs(result.mean() - truth.failure_rate) < 5.5 * result.std() / np.sqrt(result.size)
    known = tilts(study, study.cells()[0])
    assert known.complete
    assert result.max() <= known.weight_bound


@pytest.mark.usefixtures("fresh_tables")
def test_a_missing_way_is_noticed(monkeypatch):
    """Without the sets of rivals that leave out the nearest, a failure comes by that weighs more than is proven."""
    study, _ = CROWDS["halving against three equal rivals, 1e-10"]
    complete = tilting.list_paths
    monkeypatch.setattr(
        tilting, "list_paths", lambda *given: (path for path in complete(*given) if any(s.rival == 1 for s in path))
    )
    assert weighted(study, 60_000).max() > tilts(study, study.cells()[0]).weight_bound


def test_no_failure_seen_is_no_zero():
    """Two trials without a failure: the upper end is honest, and says where it comes from."""
    truth = uniform_truth(1, 1, 8)
    summaries = (run(crowd(1, 1, 8, trials=2, seed=seed), n_jobs=1).summary()[0] for seed in range(30))
    result = next(result for result in summaries if result.failures == 0)
    assert result.interval == result.regret_interval == "bounded weights"
    assert result.lower == 0 < truth <= result.upper
    assert result.regret_lower == 0 < result.regret_upper
    assert result.effective_failures == 0


def test_few_effective_failures_are_flagged():
    """With 60 trials the weights do not carry Student's interval; with 2000 they do."""
    (few,) = run(crowd(2, 1, 12, trials=60)).summary()
    (many,) = run(crowd(2, 1, 12, trials=2000)).summary()
    assert (few.interval, many.interval) == ("bounded weights", "student")
    assert few.effective_failures < 50 < many.effective_failures <= many.failures
    assert 0 < many.largest_share < 0.1
    truth = uniform_truth(2, 1, 12)
    assert few.lower <= truth <= few.upper
    assert "effective_failures" in many.row()


def test_rules_without_a_fixed_schedule_get_the_proven_interval_only():
    """Top-two reads other rows in every trial, so that no list of paths is known to be complete."""
    options = {"strategies": ["top_two"], "budgets": {"per_arm": [12]}}
    study = atoms(VALUES, (1, 1, 1), (30, 6, 6), mode="importance_sampling", trials=2000, **options)
    (entry,) = run(study).summary()
    assert entry.interval == "bounded weights"
    assert not tilts(study, study.cells()[0]).complete
    (counted,) = run(atoms(VALUES, (1, 1, 1), (30, 6, 6), mode="monte_carlo", trials=2000, **options)).summary(1 - 1e-6)
    assert counted.lower <= entry.failure_rate <= counted.upper


def test_replay_is_the_stored_trial():
    study = curve("importance_sampling", trials=30)
    result = run(study, n_jobs=1)
    for row in result.rows():
        if row["trial"] % 10 == 0:
            again = result.replay(row["cell"], row["trial"])
            assert again.selected_name == row["selected"]
            assert str(again.ledger.spent) == row["spent"]
            assert again.rounds


def test_results_do_not_depend_on_blocks_or_workers():
    study = curve("importance_sampling", trials=300)
    digests = {run(study, n_jobs=n, block=b).store.digest() for n, b in ((1, None), (2, 40), (2, 7))}
    assert len(digests) == 1


@pytest.mark.parametrize(
    "score",
    [{"score": "ball", "theta": 0.3, "ball": 3.0}, {"score": "objective", "theta": 0.3, "penalty": [1, 1]}],
    ids=str,
)
def test_features_beyond_the_affine_regime(score):
    """Counting and weighting agree within 5.5 standard errors of their difference."""
    options = {"scores": [score], "budgets": {"per_arm": [10]}, "strategies": RULES[:1]}
    (counted,) = run(features(trials=200, **options)).summary()
    (weighted,) = run(features(trials=200, mode="importance_sampling", **options)).summary(0.6826894921)
    variance = counted.failure_rate * (1 - counted.failure_rate) / 200 + ((weighted.upper - weighted.lower) / 2) ** 2
    assert abs(counted.failure_rate - weighted.failure_rate) < 5.5 * np.sqrt(variance)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (known(mode="importance_sampling"), "tilts the rows of a feature pool"),
        (curve("importance_sampling", sampling={"replacement": "never"}), "needs independent draws"),
        (atoms([[1, 1], [1, 1]], (1, 1), (3, 3), mode="importance_sampling"), "equally good"),
        (
            curve("importance_sampling", strategies=[{"name": "uniform_allocation", "objective": "risk_per_cost"}]),
            "select by risk",
        ),
    ],
)
def test_bad_input(study, message):
    with pytest.raises(ValueError, match=message):
        run(study)
