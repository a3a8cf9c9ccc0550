"""Bounds against the engine on generated pools: none is ever refuted, and most of the evidence could have done so."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from math import ceil, log2

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from tests.statistical.bounds import BOUNDS, STRATEGIES
from tests.statistical.worlds import World, hold_counted, hold_exactly

#: Scores that one example may compute by enumeration, in closed form and by the solver. Beyond, trials are cheaper.
MOST_SCORES, MOST_SOLVED = 60_000, 3_000
#: Rows that one example may draw, and trials times b that decide a bound b at the factor 2 among three bounds.
MOST_ROWS, TRIALS = 4_000_000, 85
#: False-alarm probability of the bounds of one example; the sweep judges at most 500 and 250 of them.
ALPHA = 2e-8
#: Examples in CI and in the sweep.
EXAMPLES = {"ci": 80, "sweep": 500}[os.environ.get("HYPOTHESIS_PROFILE", "ci")]
PROFILES = ("equal", "graded", "one rival", "ties", "duplicated", "opposed")
#: What the aimed bound shall be; 1 stands for the launch budget, where it starts to speak.
LEVELS = (0.3, 0.1, 0.7, 0.05, 0.2, 0.02, 0.5, 1.0)


@dataclass(frozen=True)
class Example:
    """A world, a strategy and what the budget aims at."""

    world: World
    strategy: str
    aim: str
    level: float
    seed: int


@st.composite
def features(draw, arms, atoms, profile):
    """One tuple of values in eighths per arm; the best arm is strong, where it is in the list is drawn."""
    eighths = st.integers(-8, 8).map(lambda k: k / 8)
    patterns = st.lists(eighths, min_size=atoms, max_size=atoms)
    best = draw(st.sampled_from([(1.0,) * atoms, (1.0,) * (atoms - 1) + (0.75,), (1.0,) * (atoms - 1) + (-0.25,)]))
    weak = [draw(patterns.map(lambda v: [x / 2 for x in v])) for _ in range(2)]
    if profile == "equal":
        rivals = [np.roll(weak[0], shift) for shift in range(arms - 1)]
    elif profile == "graded":
        shrink = draw(st.sampled_from([0.5, 0.75]))
        rivals = [np.array(best) * (shrink ** (1 + i)) * (-1) ** i for i in range(arms - 1)]
    elif profile == "one rival":
        rivals = [np.array(draw(patterns)) * 0.75, *(np.array(weak[0]) / 4 for _ in range(arms - 2))]
    elif profile == "opposed":
        # Two arms that err in opposite directions fail most often for their gap.
        best = (1.0, -1.0, 1.0, 1.0)[:atoms]
        rivals = [np.array((-1.0, 1.0, 1.0, 1.0)[:atoms]), *(np.array(weak[0]) / 4 for _ in range(arms - 2))]
    elif profile == "ties":
        rivals = [-np.array(best), *(np.array(weak[i % 2]) for i in range(arms - 2))]
    else:
        rivals = [np.array(weak[0]) for _ in range(arms - 1)]
    where = draw(st.integers(0, arms - 1))
    values = [*rivals[:where], best, *rivals[where:]]
    return tuple(tuple(float(x) for x in value) for value in values)


@st.composite
def affine_examples(draw, rows="same"):
    """kappa Lambda up to 1 - 2 theta, with and without replacement, all three strategies."""
    arms, atoms = draw(st.integers(2, 16)), draw(st.integers(2, 4))
    profile = draw(st.sampled_from(PROFILES))
    labels = draw(st.sampled_from(["clean", "clean", "noisy", "both classes"]))
    values = draw(features(arms, atoms, profile))
    strategy = draw(st.sampled_from(sorted(STRATEGIES)))
    theta = draw(st.sampled_from([0.05, 0.2, 0.3, 0.4]))
    scale = draw(st.sampled_from([1.0, 0.5, 2.0]))
    ball = draw(st.sampled_from([0.25, 0.8, 1.0])) * (1 - 2 * theta) / scale
    sizes = draw(st.lists(st.integers(1, 5), min_size=atoms, max_size=atoms))
    y = [1] * (atoms - 1) + [-1 if labels == "both classes" else 1]
    if labels == "noisy":
        # One row that looks like the first atom carries the other label.
        values, sizes, y = tuple((*value, value[0]) for value in values), [*sizes, 1], [*y, -1]
    # Rounds that share rows without replacement are covered by no bound on fresh rows, so each round shuffles anew.
    without = "across" if strategy == "fresh" else "never"
    replacement = draw(st.sampled_from(["always", "always", without])) if rows == "same" else "always"
    times = draw(st.sampled_from([40, 20])) if replacement != "always" else 1
    event(f"{profile}, {strategy}, {labels} labels, replacement {replacement}")
    world = World(
        tuple(tuple(scale * x for x in value) for value in values),
        tuple(size * times for size in sizes),
        theta,
        ball,
        tuple(y),
        rows,
        replacement,
    )
    return draw(aimed(world, strategy))


@st.composite
def curved_examples(draw):
    """kappa Lambda beyond 1 - 2 theta, linear or Gaussian kernel, two atoms: every probability is enumerated."""
    profile, strategy = (
        draw(st.sampled_from(PROFILES)),
        draw(st.sampled_from(["uniform", "uniform", "fresh", "accumulate"])),
    )
    arms = draw(st.integers(2, 8 if strategy == "uniform" else 3))
    kernel = draw(st.sampled_from(["linear", "linear", "gaussian"]))
    # A Gaussian kernel tells values apart that differ by a few bandwidths.
    reach = 4.0 if kernel == "gaussian" else 1.0
    values = tuple(tuple(reach * x for x in entry) for entry in draw(features(arms, 2, profile)))
    theta = draw(st.sampled_from([0.1, 0.25, 0.4]))
    ball = draw(st.sampled_from([1.2, 1.6, 2.5])) * (1 - 2 * theta)
    copies = tuple(draw(st.lists(st.integers(2, 5), min_size=2, max_size=2)))
    labels = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (1, -1)]))
    event(f"{profile}, {strategy}, {kernel}, kappa Lambda {ball:g}")
    return draw(aimed(World(values, copies, theta, ball, labels, kernel=kernel), strategy))


def aimed(world, strategy):
    """What the budget aims at: the place where some bound starts to speak, or a level of it."""
    return st.builds(
        Example,
        st.just(world),
        st.just(strategy),
        st.sampled_from(["tighter", "tighter, per-arm gaps", "corrected"]),
        st.sampled_from(LEVELS),
        st.integers(0, 2**32),
    )


def pieces(strategy, arms, budget):
    """Rows that the rounds draw one after another."""
    if strategy == "uniform":
        return (budget // arms,)
    active, rounds, result = arms, ceil(log2(arms)), []
    for _ in range(rounds):
        result.append(budget // (rounds * active))
        active = (active + 1) // 2
    return tuple(result)


def sum_of_pulls(strategy, arms, rounds):
    """Rows that one trial buys: n_t of the a_t arms of round t."""
    total = 0
    for rows in rounds:
        total += rows * arms
        arms = (arms + 1) // 2
    return total


def aim(example, most):
    """The smallest budget at which the wanted bound is at most the wanted level; None if the largest does not do."""
    point, bound = example.world.point, BOUNDS[example.strategy][example.aim]
    least = point.K * max(1, ceil(log2(point.K)))
    low, high = least - 1, least

    def works(budget):
        value = bound(point, budget)
        return value <= example.level if example.level < 1 else value == value

    while not works(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return max(high, least)


def largest_budget(example, fits):
    """The largest budget, up to a tenth, whose rounds fit."""
    arms = example.world.point.K
    budget = arms * max(1, ceil(log2(arms)))
    while fits(pieces(example.strategy, arms, budget + 1 + budget // 10)) and budget < 10**6:
        budget += 1 + budget // 10
    return budget


def room(example):
    """Whether rounds of that many rows can be drawn at all."""
    world = example.world
    if world.replacement == "always":
        return lambda rounds: True
    size = sum(world.copies)
    return lambda rounds: (sum(rounds) if world.replacement == "never" else max(rounds)) <= size


def affordable(example, by_trials):
    """A budget, and trials (None for enumeration), that decide the wanted level, or a more modest one."""
    world, enough = example.world, room(example)
    point, limit = world.point, (MOST_SCORES if world.affine else MOST_SOLVED) / world.point.K
    most = largest_budget(example, lambda rounds: enough(rounds) and (by_trials or world.outcomes(rounds) <= limit))
    modest = [replace(example, level=0.5), replace(example, level=0.7, aim="tighter, per-arm gaps")]
    for entry in [example, *(modest if example.level < 1 else [])]:
        budget = aim(entry, most)
        if budget is None:
            continue
        rounds = pieces(entry.strategy, point.K, budget)
        if world.rows == "same" and world.outcomes(rounds) <= limit:
            return budget, None
        value = BOUNDS[entry.strategy][entry.aim](point, budget)
        trials = ceil(TRIALS / value) if value < 1 else 100
        if by_trials and trials * sum_of_pulls(entry.strategy, point.K, rounds) <= MOST_ROWS:
            return budget, trials
    # Nothing is affordable: a little evidence on what may be a vacuous bound.
    return point.K * max(1, ceil(log2(point.K))), 100 if by_trials else None


def judged(example, alpha=None, wrong=None):
    """Verdicts of all bounds of the example's strategy, by enumeration or, with an alpha, by trials.

    With ``wrong``, a function of point and budget, that bound is held against the same evidence instead.
    """
    world = example.world
    # Far smaller gaps need more rows than an example may draw.
    assume(any(gap > 0 for gap in world.gaps))
    assume(world.point.gap > (0.12 if world.affine else 0.2) * min(1.0, world.point.kappa_lambda))
    budget, trials = affordable(example, by_trials=alpha is not None)
    given_bounds = BOUNDS[example.strategy] if wrong is None else {"wrong": wrong}
    bounds = {name: bound(world.point, budget) for name, bound in given_bounds.items()}
    strategy = STRATEGIES[example.strategy]
    if trials is None:
        return hold_exactly(world.exact_failure(strategy, budget), bounds)
    failures = world.count(strategy, budget, trials, seed=example.seed)
    return hold_counted(failures, trials, bounds, alpha=alpha)


def tally(result, verdicts):
    """Count outcomes of single bounds, and examples in which some bound spoke and was decided."""
    result["examples"] += 1
    for name, verdict in verdicts.items():
        assert verdict.outcome != "refuted", f"{name}: {verdict.sentence}"
        result[verdict.outcome] += 1
        result[f"{name.split(',')[0]} decided"] += verdict.decided
    result["decided examples"] += any(verdict.decided for verdict in verdicts.values())
    result["trials"] += any(verdict.trials is not None for verdict in verdicts.values())


def test_bounds_hold_in_the_affine_regime():
    """At least half of the examples decide a bound that speaks at the factor 2, and 30 % of all bounds are decided."""
    result = Counter()

    @settings(max_examples=EXAMPLES)
    @given(affine_examples())
    def check(example):
        tally(result, judged(example, ALPHA))

    check()
    bounds = result["consistent"] + result["undecided"] + result["vacuous"]
    assert result["examples"] >= EXAMPLES // 2
    assert result["decided examples"] >= 0.5 * result["examples"], result
    assert result["consistent"] >= 0.3 * bounds, result
    assert result["corrected decided"] >= 0.05 * result["examples"], result
    assert result["trials"] >= 0.1 * result["examples"], result


def test_bounds_hold_with_independent_rows():
    """Every arm reads rows of its own; nothing is enumerated, and at least 40 % of the examples are decided."""
    result = Counter()

    @settings(max_examples=EXAMPLES // 2)
    @given(affine_examples(rows="independent"))
    def check(example):
        tally(result, judged(example, ALPHA))

    check()
    assert result["trials"] == result["examples"] >= EXAMPLES // 4
    assert result["decided examples"] >= 0.4 * result["examples"], result


def test_bounds_hold_beyond_the_affine_regime():
    """All exact, so no alpha is spent; at least 40 % of the examples decide a bound that speaks."""
    values = Counter()

    @settings(max_examples=EXAMPLES // 2)
    @given(curved_examples())
    def check(example):
        assert not example.world.affine
        tally(values, judged(example))

    check()
    assert values["trials"] == 0
    assert values["decided examples"] >= 0.4 * values["examples"], values


@st.composite
def opposed_examples(draw):
    """Two arms that err in opposite directions on the same rows, and nothing else."""
    lead, least = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    copies = (least + lead, least, draw(st.integers(lead, 4)))
    world = World(((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0)), copies, 0.05, 0.9)
    return Example(world, "uniform", "tighter", draw(st.sampled_from([0.3, 0.2, 0.1])), 0)


def test_the_same_check_refutes_a_bound_with_four_times_the_rows():
    """What keeps the tests above honest: where arms fail often for their gap, a wrong bound is refuted, exactly."""
    right, result = BOUNDS["uniform"]["tighter"], Counter()

    @settings(max_examples=EXAMPLES // 2)
    @given(opposed_examples())
    def check(example):
        tally(result, judged(example))
        wrong = judged(example, wrong=lambda point, budget: right(point, 4 * budget))["wrong"]
        result["wrong refuted"] += wrong.outcome == "refuted"

    check()
    assert result["decided examples"] == result["examples"], result
    assert result["wrong refuted"] >= 0.5 * result["examples"], result
