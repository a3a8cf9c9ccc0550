"""No silent shortfall: the random families of the benchmark, all of them at 1e-8."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.solver import FAMILIES, draw_family
from exml_sim.rejection._ball import EITHER, SEARCH, TOGETHER
from exml_sim.rejection._batch import ball_block, gather
from exml_sim.rejection._proximal import pace

# Draws with a problem that a solver stopped short of which counted rising steps as stalled, kept steps that sank, or
# certified in plain precision only.
ONCE_SHORT = [
    ("theta near 0", 68),
    ("theta near 0", 132),
    ("synthetic", 73),
    ("theta near 1/2", 9),
    ("uneven penalties", 38),
    ("linear", 1),
    ("uneven penalties", 11168),
    ("theta near 1/2", 10727),
]


@pytest.mark.parametrize(("name", "seed"), ONCE_SHORT)
def test_problems_that_once_stopped_short(name: str, seed: int) -> None:
    assert draw_family(name, seed).shortfall().max() <= 1e-8


@pytest.mark.parametrize("name", FAMILIES)
def test_a_few_of_every_family(name: str) -> None:
    gaps = np.concatenate([draw_family(name, seed, 5).shortfall() for seed in range(1000, 1008)])
    assert gaps.max() <= 1e-8


def test_a_rising_value_is_no_stall_and_a_sunk_step_is_taken_back() -> None:
    """The rule itself, on made-up steps: gap, value, best gap, last value, inner steps, count, sigma, cap."""
    back, stalled, sigma, _ = pace(2.0e-6, 10.0 + 1e-9, 1.0e-6, 10.0, 1, 4, 1.0, 1e9)
    assert (back, stalled) == (False, 4)
    assert sigma > 1.0
    back, stalled, sigma, cap = pace(50.0, 3.0, 1.0, 10.0, 30, 0, 1e6, 1e9)
    assert (back, stalled) == (True, 1)
    assert sigma < 1e6
    assert cap == 1e9
    # At the floor of rounding the value stands still: that is what a stall is.
    _, stalled, _, _ = pace(1e-7, 10.0, 1e-7, 10.0, 1, 2, 1.0, 1e9)
    assert stalled == 3


def test_both_ways_over_the_ball_agree() -> None:
    """Multipliers together with the dual point, against the search that solves a penalised problem for each of them.

    Their bounds must not contradict each other, and the first way must finish where both balls bind: else the second,
    which is slow, would hide that it is broken.
    """
    binding = 0
    for seed in range(40):
        draw = draw_family("ball", seed, 1)
        gram, y, p = gather(draw.gram, draw.y, draw.counts[0].astype(float))
        radius = draw.form["ball"]
        models, (upper, objective, lower), steps = np.empty((3, 4, len(p))), np.empty((3, 3)), np.empty(3, np.int64)
        counts = np.array([p, p, p])
        for way in (EITHER, TOGETHER, SEARCH):
            scores = (upper, objective, lower, steps)
            ball_block(gram, y, draw.theta, counts, radius, 1e-8, 5000, way, models, way, way + 1, *scores)
        assert max(lower) <= min(upper) + 1e-12, seed
        assert upper[EITHER] - lower[EITHER] <= 1e-8, seed
        if all(c @ gram @ c >= (0.999 * radius) ** 2 for c in models[EITHER, :2]):
            binding += 1
            assert upper[TOGETHER] - lower[TOGETHER] <= 1e-8, seed
    assert binding >= 25


@pytest.mark.long
@pytest.mark.parametrize("block", range(50))
@pytest.mark.parametrize("name", FAMILIES)
def test_a_hundred_thousand_problems(name: str, block: int) -> None:
    """8 families, 50 blocks, 250 problems each: 100,000 in all, not one short."""
    for seed in range(10_000 + 25 * block, 10_025 + 25 * block):
        gaps = draw_family(name, seed, 10).shortfall()
        assert gaps.max() <= 1e-8, (name, seed, int(np.argmax(gaps)))
