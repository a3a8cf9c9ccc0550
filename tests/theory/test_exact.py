"""Exact enumeration against a slow path that lists every ordered sample, with its own scores and halving."""

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from theory.claims._exact_losses import surrogate
from theory.exact import (
    make_pool,
    median_selection,
    score,
    uniform_selection,
)

F = Fraction


def slow_score(pool, arm, rows):
    """V of the sampled rows by minimising the true surrogate over the corners of the box [−Λ, Λ]²."""
    corners = product((-pool.radius, pool.radius), repeat=2)
    return min(
        sum(surrogate(u * pool.features[arm][x], w * pool.features[arm][x], pool.labels[x], pool.theta) for x in rows)
        for u, w in corners
    ) / len(rows)


def best(scores, kept, last=False):
    """The kept arms: smallest scores, ties to the lowest (or, as a planted error, the highest) index."""
    return sorted(sorted(scores, key=lambda arm: (scores[arm], -arm if last else arm))[:kept])


def ordered_samples(pool, n, population=None):
    """Every ordered sample of n atoms with its probability."""
    if population is None:
        for rows in product(range(len(pool.weights)), repeat=n):
            yield rows, math.prod(pool.weights[x] for x in rows)
        return
    everyone = [x for x, w in enumerate(pool.weights) for _ in range(int(w * population))]
    total = math.perm(population, n)
    for chosen in permutations(range(population), n):
        yield tuple(everyone[i] for i in chosen), F(1, total)


def slow_uniform(pool, n, *, rows="shared", population=None, last=False):
    selection = [F(0)] * pool.arms
    if rows == "shared":
        for sample, p in ordered_samples(pool, n, population):
            scores = {arm: slow_score(pool, arm, sample) for arm in range(pool.arms)}
            selection[best(scores, 1, last)[0]] += p
        return tuple(selection)
    for joint in product(list(ordered_samples(pool, n, population)), repeat=pool.arms):
        scores = {arm: slow_score(pool, arm, sample) for arm, (sample, _) in enumerate(joint)}
        selection[best(scores, 1, last)[0]] += math.prod(p for _, p in joint)
    return tuple(selection)


def slow_median(pool, budget, *, accumulate):
    rounds = math.ceil(math.log2(pool.arms))
    selection = [F(0)] * pool.arms

    def play(active, seen, probability, t):
        if t == rounds:
            (winner,) = active
            selection[winner] += probability
            return
        n = budget // (rounds * len(active))
        for sample, p in ordered_samples(pool, n):
            rows = seen + sample if accumulate else sample
            scores = {arm: slow_score(pool, arm, rows) for arm in active}
            play(best(scores, math.ceil(len(active) / 2)), rows, probability * p, t + 1)

    play(list(range(pool.arms)), (), F(1), 0)
    return tuple(selection)


@st.composite
def pools(draw, arms=(2, 3), atoms=(2, 3)):
    n_atoms = draw(st.integers(*atoms))
    weights = [draw(st.integers(1, 4)) for _ in range(n_atoms)]
    features = [[draw(st.integers(-2, 2)) for _ in range(n_atoms)] for _ in range(draw(st.integers(*arms)))]
    labels = [draw(st.sampled_from((-1, 1))) for _ in range(n_atoms)]
    return make_pool([F(w, sum(weights)) for w in weights], features, labels=labels, radius=F(1, 4), theta=F(1, 5))


@given(pool=pools(), n=st.integers(1, 4))
@settings(max_examples=40)
def test_uniform_allocation_on_shared_rows(pool, n):
    assert uniform_selection(pool, pool.arms * n) == slow_uniform(pool, n)


@given(pool=pools(arms=(2, 2)), n=st.integers(1, 2))
@settings(max_examples=25)
def test_uniform_allocation_on_independent_rows(pool, n):
    assert uniform_selection(pool, 2 * n, rows="independent") == slow_uniform(pool, n, rows="independent")


@given(pool=pools(atoms=(2, 3)), n=st.integers(1, 3))
@settings(max_examples=25)
def test_uniform_allocation_without_replacement(pool, n):
    population = math.lcm(*(w.denominator for w in pool.weights))
    assume(population <= 6 and n <= population)
    fast = uniform_selection(pool, pool.arms * n, population=population)
    assert fast == slow_uniform(pool, n, population=population)


@given(pool=pools(arms=(3, 4), atoms=(2, 2)), budget=st.integers(8, 16), accumulate=st.booleans())
@settings(max_examples=25)
def test_median_elimination(pool, budget, accumulate):
    fast = median_selection(pool, budget, accumulate=accumulate)
    assert fast == slow_median(pool, budget, accumulate=accumulate)
    assert sum(fast) == 1


@given(pool=pools(arms=(2, 5)), budget=st.integers(40, 90))
@settings(max_examples=25)
def test_floats_agree_with_fractions(pool, budget):
    for strategy in (uniform_selection, median_selection):
        exact = [float(p) for p in strategy(pool, budget)]
        np.testing.assert_allclose(strategy(pool, budget, exact=False), exact, rtol=1e-11, atol=1e-15)


@given(pool=pools(), data=st.data())
def test_score_is_the_minimum_of_the_surrogate_over_the_ball(pool, data):
    counts = [data.draw(st.integers(0, 5)) for _ in pool.weights]
    assume(sum(counts) > 0)
    rows = [x for x, k in enumerate(counts) for _ in range(k)]
    for arm in range(pool.arms):
        value = score(pool, arm, counts)
        assert value == slow_score(pool, arm, rows)
        for u, w in product([pool.radius * F(i, 3) for i in range(-3, 4)], repeat=2):
            features = pool.features[arm]
            risk = sum(surrogate(u * features[x], w * features[x], pool.labels[x], pool.theta) for x in rows)
            assert risk / len(rows) >= value


def test_ties_go_to_the_lowest_index_and_the_difference_is_seen():
    twins = make_pool([F(1, 2), F(1, 2)], [[1, 0], [1, 0]], radius=F(1, 2), theta=F(1, 10))
    assert uniform_selection(twins, 6) == (1, 0)
    assert slow_uniform(twins, 3, last=True) == (0, 1)
    assert median_selection(twins, 6) == (1, 0)


def test_large_samples_match_the_binomial_distribution():
    # An arm of signs against an arm without a feature: the latter wins only the tie, by its lower index.
    pool = make_pool([F(3, 5), F(2, 5)], [[0, 0], [1, -1]], radius=F(1, 2), theta=F(1, 10))
    n = 40
    tie = math.comb(n, n // 2) * F(3, 5) ** 20 * F(2, 5) ** 20
    assert uniform_selection(pool, 2 * n) == (tie, 1 - tie)
