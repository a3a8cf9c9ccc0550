"""The machinery: what the hunt must not do, planted errors, shrinking, repeatability."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from simulations.falsify.axes import Numbers, axis, box
from simulations.falsify.judging import in_digits, judge_measured
from simulations.falsify.pools import PoolInstance, PoolSpace
from simulations.falsify.search import ATTEMPTS, Limits, confirm, hunt, seeds_of
from simulations.falsify.shrink import shrink
from simulations.falsify.target import LOG_ZERO, Measured, Target, unmet
from simulations.falsify.targets import all_targets, get
from simulations.falsify.targets.by_trials import MANY_ROWS, rate_target
from simulations.falsify.targets.selection import UNIFORM, UNIFORM_FAILURE, _by, target
from theory import tighter, verdicts

F = Fraction
LINE = box(x=axis(0, 100), y=axis("1/10", 10, grid=10))


def a_target(measure, confirmed="refuted", **changes):
    def confirm(one, seed):
        return getattr(verdicts, confirmed)("A planted verdict.")

    return Target("planted", "x <= 90", LINE, measure, confirm, **{"holds": False, **changes})


def test_a_planted_wrong_bound_is_found_quickly():
    """Theorem 3 with the exponent five times too large, on the space where the true one is never violated."""
    planted = target(
        "planted", "", UNIFORM, UNIFORM_FAILURE, lambda one: 5 * _by("tighter", "uniform")(one), False,
        first=False,
    )  # fmt: skip
    outcome = hunt(planted, limits=Limits(evaluations=600))
    assert outcome.found
    assert outcome.evaluations < 600


def test_a_planted_wrong_bound_is_found_by_trials():
    """A bound of a hundredth of Theorem 3's, refuted by fresh trials at 1e-6."""

    def hundredth(one, pool):
        gap, theta, r = pool.gap, float(one.theta), float(one.kappa_lambda)
        options = {"best_count": len(pool.best_arms()), "strict": False}
        return float(tighter.delta_fail_uniform(one.budget, one.arms, gap, theta, r, **options)) / 100

    outcome = hunt(rate_target("planted", hundredth, False, MANY_ROWS), limits=Limits(evaluations=200))
    assert outcome.found
    assert outcome.verdict.alpha <= 1e-6


@pytest.mark.parametrize("claim", ["tighter.delta_fail_uniform", "corrected.lemma_4", "eq-4-value/repaired"])
def test_a_true_claim_comes_back_with_the_largest_ratio(claim):
    outcome = hunt(get(claim), limits=Limits(evaluations=300))
    assert not outcome.found
    assert 0 < outcome.measured.ratio <= 1 + 1e-9
    said = outcome.sentence()
    assert said.startswith(f"No violation of {claim} found in 300 evaluations")
    assert f"largest observed/bound = {outcome.measured.ratio:.6g} at " in said


def test_luck_is_not_confirmed_on_the_numbers_that_brought_it():
    """A measure that violates under the search seed only: every find is handed to other random numbers and falls."""
    seen = []

    def measure(one, seed):
        seen.append(seed)
        return Measured(0.0, -1.0)

    def on_other_numbers(one, seed):
        assert seed not in seen
        return verdicts.consistent("No violation on these numbers.")

    lucky = dataclasses.replace(a_target(measure), confirm=on_other_numbers, sampled=True)
    outcome = hunt(lucky, seed=7, limits=Limits(evaluations=100))
    assert not outcome.found
    assert outcome.rejected == ATTEMPTS
    assert "10 not confirmed" in outcome.sentence()


@pytest.mark.parametrize("root", [0, 1, 2, 12345, 2**40])
def test_search_and_confirmation_never_share_a_seed(root):
    search, confirmation = seeds_of(root)
    assert search < 2**32 <= confirmation


def test_trials_of_search_and_confirmation_differ():
    from exml_sim.strategies import UniformAllocation
    from simulations.falsify.targets.by_trials import failures

    pool = PoolInstance((3, 2, 2), (1, 1, -1), ((1, 2, 0), (2, 0, 1)), F(1, 10), F(1), 12)
    first, second = (failures(pool, UniformAllocation(), 200, seed) for seed in seeds_of(0))
    assert (first != second).any()


def test_a_hunt_is_repeatable():
    one, two = (hunt(get("lemma-4-kappa"), seed=3, limits=Limits(evaluations=300)) for _ in range(2))
    assert (one.best, one.measured, one.evaluations) == (two.best, two.measured, two.evaluations)
    other = hunt(get("lemma-4-kappa"), seed=4, limits=Limits(evaluations=300))
    assert other.best != one.best


def test_the_limits_end_a_hunt():
    calls = []
    outcome = hunt(a_target(lambda one, seed: calls.append(one) or Measured(-1.0, 0.0)), limits=Limits(evaluations=37))
    assert outcome.evaluations == len(calls) == 37
    quick = hunt(get("eq-2-upper-bound"), limits=Limits(evaluations=None, seconds=0.05))
    assert quick.evaluations > 0
    assert quick.seconds < 2
    with pytest.raises(ValueError, match="needs an end"):
        Limits(evaluations=None)
    with pytest.raises(ValueError, match="evaluations must be positive, got 0"):
        Limits(evaluations=0)


def test_nothing_that_meets_the_premises_is_said_so():
    outcome = hunt(a_target(lambda one, seed: unmet(1.0)), limits=Limits(evaluations=20))
    assert outcome.best is None
    assert outcome.sentence().startswith("No instance that meets the premises of planted in 20 evaluations")


def test_shrinking_goes_to_the_smallest_violation_and_keeps_it_violated():
    target = a_target(lambda one, seed: Measured(math.log(1 + one["x"]), math.log(20)))
    small, measured = shrink(target, LINE.read({"x": 97, "y": "73/10"}), 0)
    assert measured.violates
    assert small["x"] == 20
    assert small["y"] == 1
    with pytest.raises(ValueError, match="only a violation can be shrunk"):
        shrink(target, LINE.read({"x": 3, "y": 1}), 0)


def test_shrinking_a_pool_drops_arms_and_kinds_of_rows_that_do_not_matter():
    target = get("me-fails-more")
    pool = PoolInstance(
        (11, 13, 15), (1, 1, 1), ((-1, -2, -2), (-1, 2, 2), (2, 0, -2), (-1, 0, 0), (2, -1, 2)), F(2, 5), F(1, 5), 24
    )
    pool = target.space.mutate(pool, np.random.default_rng(0)) if not target.measure(pool, 0).violates else pool
    assert target.measure(pool, 0).violates
    small, measured = shrink(target, pool, 0)
    assert measured.violates
    assert small.size() < pool.size()
    assert small.arms < pool.arms


@pytest.mark.parametrize("target", all_targets(), ids=lambda target: target.id)
def test_spaces_stay_inside_themselves(target):
    """Samples, mutants and simpler instances can all be written and read, which checks their limits."""
    rng = np.random.default_rng(5)
    instance = target.space.sample(rng)
    for _ in range(30):
        assert target.space.read(instance.table()) == instance
        assert instance.words()
        instance = target.space.mutate(instance, rng)
    for simpler, _ in zip(target.space.simpler(instance), range(20), strict=False):
        assert target.space.read(simpler.table()) == simpler


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
        values = [one.fitness(relative) for one in steps]
        assert values == sorted(values)
        assert len(set(values)) == len(values)
    assert [one.violates for one in steps] == [False] * 6 + [True] * 2
    assert not Measured(LOG_ZERO, LOG_ZERO).violates


def test_verdicts_in_logarithms():
    assert judge_measured(Measured(-5000.0, -5001.0), how="x").outcome == "refuted"
    assert judge_measured(Measured(-5001.0, -5000.0), how="x").outcome == "consistent"
    assert judge_measured(Measured(-0.1, 0.2), how="x").outcome == "vacuous"
    assert judge_measured(Measured(0.5, 0.2), how="x", probability=False).outcome == "refuted"
    assert judge_measured(Measured(0.5, math.nan), how="x").outcome == "vacuous"
    assert in_digits(-5000.0) == "3.370e-2172"
    assert in_digits(LOG_ZERO) == "0"


def test_confirmation_uses_other_means_than_the_search():
    """A bug planted into the fast law is not confirmed by the exact one."""
    honest = get("tighter.lemma_4")
    broken = dataclasses.replace(honest, measure=lambda one, seed: Measured(0.0, honest.measure(one, seed).log_bound))
    rng = np.random.default_rng(1)
    pools = [one for one in (honest.space.sample(rng) for _ in range(300)) if honest.measure(one, 0).admissible]
    violating = [one for one in pools if broken.measure(one, 0).violates]
    assert violating
    assert all(confirm(broken, one, 0).outcome != "refuted" for one in sorted(violating, key=lambda one: one.rows)[:5])


def test_bad_input_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"did you mean lemma-1-i"):
        get("lemma-1")
    with pytest.raises(ValueError, match=r"'eq-8' has no search space yet; `exml claims eq-8`"):
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
    with pytest.raises(ValueError, match="does not hold the pool"):
        PoolSpace((2, 3), (2, 2), (4, 9)).read(
            {"weights": [1, 1], "labels": [1, 1], "features": [[1, 0]], "theta": "1/10", "fill": 1, "budget": 4}
        )
    assert isinstance(LINE.read({"x": 1, "y": "1/2"}), Numbers)
