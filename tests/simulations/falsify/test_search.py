"""The search: planted errors, confirmation, shrinking, repeatability, limits."""

import dataclasses
import math
from fractions import Fraction

import pytest

from simulations.falsify._target import (
    LOG_ZERO,
    Measured,
    Numbers,
    PoolSpace,
    Target,
    axis,
    box,
    format_log,
    judge_measured,
    unmet,
)
from simulations.falsify.search import MAX_CONFIRMATIONS, Limits, confirm, derive_seeds, search
from simulations.falsify.targets import all_targets, get
from simulations.falsify.targets._selection import UNIFORM, UNIFORM_FAILURE, _by, build_target
from tests.simulations.falsify.draws import draw
from theory import tighter, verdicts

F = Fraction
LINE = box(x=axis(0, 100), y=axis("1/10", 10, grid=10))


def a_target(measure, confirmed="refuted", **changes):
    def confirm(point, seed):
        return getattr(verdicts, confirmed)("A planted verdict.")

    return Target("planted", "x <= 90", LINE, measure, confirm, **{"holds": False, **changes})


def test_a_planted_wrong_bound_is_found_quickly():
    """Theorem 3 with the exponent five times too large, on the space where the true one is never violated."""
    planted = build_target(
        "planted", "", UNIFORM, UNIFORM_FAILURE, lambda pool: 5 * _by("tighter", "uniform")(pool), False
    )
    outcome = search(planted, limits=Limits(evaluations=600))
    assert outcome.violated
    assert outcome.evaluations < 600


@pytest.mark.parametrize("claim", ["tighter.delta_fail_uniform", "corrected.lemma_4", "eq-4-value/repaired"])
def test_a_true_claim_comes_back_with_the_largest_ratio(claim):
    outcome = search(get(claim), limits=Limits(evaluations=300))
    assert not outcome.violated
    assert 0 < outcome.measured.ratio <= 1 + 1e-9
    headline, instance = outcome.describe().splitlines()
    assert headline.startswith(f"{claim}: no violation")
    assert f"observed/bound = {outcome.measured.ratio:.6g} (300 evaluations" in headline
    assert outcome.best.describe() in instance


def test_luck_is_not_confirmed_on_the_numbers_that_brought_it():
    """A measure that violates under the search seed only: other random numbers do not confirm it."""
    seen, confirmed = [], []

    def measure(point, seed):
        seen.append(seed)
        return Measured(0.0, -1.0 - float(point["x"]) / 100)

    def on_other_numbers(point, seed):
        assert seed not in seen
        confirmed.append(point)
        return verdicts.consistent("No violation on these numbers.")

    lucky = dataclasses.replace(a_target(measure), confirm=on_other_numbers)
    outcome = search(lucky, seed=7, limits=Limits(evaluations=100))
    assert not outcome.violated
    assert outcome.undecided
    assert outcome.evaluations == 100
    assert outcome.verdict.outcome == "consistent"
    # Confirmations end, the search goes on, and the last one is of the largest violation.
    assert len(confirmed) <= 2 * MAX_CONFIRMATIONS
    assert outcome.best == confirmed[-1] == max(confirmed, key=lambda point: point["x"])
    headline, instance, confirmation = outcome.describe().splitlines()
    assert f"UNDECIDED, {outcome.unconfirmed} violations found, none confirmed, largest" in headline
    assert MAX_CONFIRMATIONS < outcome.unconfirmed <= 100
    assert instance.endswith(f": observed 1, bound {format_log(outcome.measured.log_bound)}")
    assert confirmation == "Confirmation: No violation on these numbers."


def test_seeds_of_search_and_confirmation_differ():
    for root in (0, 1, 12345, 2**40):
        search, confirmation = derive_seeds(root)
        assert search < 2**32 <= confirmation


def test_a_search_is_repeatable():
    point, two = (search(get("lemma-4-kappa"), seed=3, limits=Limits(evaluations=300)) for _ in range(2))
    assert (point.best, point.measured, point.evaluations) == (two.best, two.measured, two.evaluations)
    other = search(get("lemma-4-kappa"), seed=4, limits=Limits(evaluations=300))
    assert other.best != point.best


def test_the_limits_end_a_search():
    calls = []
    outcome = search(
        a_target(lambda point, seed: calls.append(point) or Measured(-1.0, 0.0)), limits=Limits(evaluations=37)
    )
    assert outcome.evaluations == len(calls) == 37
    quick = search(get("eq-2-upper-bound"), limits=Limits(evaluations=None, seconds=0.05))
    assert quick.evaluations > 0
    assert quick.seconds < 2
    with pytest.raises(ValueError, match="needs a limit"):
        Limits(evaluations=None)
    with pytest.raises(ValueError, match="evaluations must be positive, got 0"):
        Limits(evaluations=0)


def test_nothing_that_meets_the_premises_is_said_so():
    outcome = search(a_target(lambda point, seed: unmet(1.0)), limits=Limits(evaluations=20))
    assert outcome.best is None
    assert outcome.describe().startswith("planted: no instance meets the premises (20 evaluations")


def test_shrinking_goes_to_the_smallest_violation():
    target = a_target(lambda point, seed: Measured(math.log(1 + point["x"]), math.log(20)))
    outcome = search(target, limits=Limits(evaluations=100))
    assert outcome.measured.violates
    assert (outcome.best["x"], outcome.best["y"]) == (20, Fraction(1, 10))
    assert target.measure(outcome.raw, 0).violates


def test_shrinking_a_pool_drops_arms_and_kinds_of_rows_that_do_not_matter():
    outcome = search(get("me-fails-more"), seed=1, limits=Limits(evaluations=200))
    assert outcome.violated
    assert outcome.best.arms == 3
    assert len(outcome.best.weights) <= 3


@pytest.mark.parametrize("target", all_targets(), ids=lambda target: target.id)
def test_drawn_instances_are_inside_their_space(target):
    """Instances can be written and read, which checks their limits."""
    for instance in draw(target.space, 30):
        assert target.space.read(instance.to_table()) == instance
        assert instance.describe()


def test_fitness_leads_to_premises_then_to_something_observed_then_to_the_excess():
    steps = [
        unmet(5.0),
        unmet(1.0),
        Measured(LOG_ZERO, -1.0, hint=-3.0),
        Measured(LOG_ZERO, -1.0, hint=2.0),
        Measured(-900.0, -1.0),
        Measured(-2.0, -1.0),
        Measured(-1.0, -2.0),
        Measured(-1.0, -math.inf),
    ]
    for relative in (False, True):
        values = [point.fitness(relative) for point in steps]
        assert values == sorted(values)
        assert len(set(values)) == len(values)
    assert [point.violates for point in steps] == [False] * 6 + [True] * 2
    assert not Measured(LOG_ZERO, LOG_ZERO).violates


def test_verdicts_in_logarithms():
    assert judge_measured(Measured(-5000.0, -5001.0), how="x").outcome == "refuted"
    assert judge_measured(Measured(-5001.0, -5000.0), how="x").outcome == "consistent"
    assert judge_measured(Measured(-0.1, 0.2), how="x").outcome == "vacuous"
    assert judge_measured(Measured(0.5, 0.2), how="x", probability=False).outcome == "refuted"
    assert judge_measured(Measured(0.5, math.nan), how="x").outcome == "vacuous"
    assert format_log(-5000.0) == "3.370e-2172"
    assert format_log(LOG_ZERO) == "0"


def test_confirmation_uses_other_means_than_the_search():
    """A bug planted into the fast measure is not confirmed by the exact one."""
    honest = get("tighter.lemma_4")

    def measure(pool, seed):
        return Measured(0.0, honest.measure(pool, seed).log_bound)

    broken = dataclasses.replace(honest, measure=measure)
    pools = [pool for pool in draw(honest.space, 300, seed=1) if honest.measure(pool, 0).admissible]
    violating = sorted((pool for pool in pools if broken.measure(pool, 0).violates), key=lambda pool: pool.rows)
    assert violating
    assert all(confirm(broken, pool, 0).outcome != "refuted" for pool in violating[:5])


def test_a_wrong_variance_form_is_refuted(monkeypatch):
    """Theorem 7 with sixteen times the rows."""
    target, right = get("tighter.lemma_4_variance"), tighter.lemma_4_variance
    small = (dataclasses.replace(pool, budget=min(pool.budget, 80)) for pool in draw(target.space, 600))
    instances = [pool for pool in dict.fromkeys(small) if target.measure(pool, 0).admissible][-12:]
    assert all(target.measure(pool_instance, 0).excess <= 0 for pool_instance in instances)
    monkeypatch.setattr(tighter, "lemma_4_variance", lambda n, *rest, **options: right(16 * n, *rest, **options))
    worst = max(instances, key=lambda pool_instance: target.measure(pool_instance, 0).excess)
    assert target.measure(worst, 0).excess > math.log(10)
    assert target.confirm(worst, 0).outcome == "refuted"


def test_bad_input_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"did you mean lemma-1-i"):
        get("lemma-1")
    with pytest.raises(ValueError, match=r"'eq-8' has no search space; `exml claims eq-8`"):
        get("eq-8")
    with pytest.raises(ValueError, match="exactly x, y"):
        LINE.read({"x": 1})
    with pytest.raises(ValueError, match="x must lie between 0 and 100, got 101"):
        LINE.read({"x": 101, "y": 1})
    with pytest.raises(ValueError, match="y must be a whole number or a fraction in quotes"):
        LINE.read({"x": 1, "y": 0.5})
    with pytest.raises(ValueError, match="low < high"):
        axis(2, 1)
    with pytest.raises(ValueError, match="needs low > 0"):
        axis(0, 1, grid=None)
    with pytest.raises(ValueError, match="does not contain the pool"):
        PoolSpace((2, 3), (2, 2), (4, 9)).read(
            {"weights": [1, 1], "labels": [1, 1], "features": [[1, 0]], "theta": "1/10", "fill": 1, "budget": 4}
        )
    assert isinstance(LINE.read({"x": 1, "y": "1/2"}), Numbers)
