"""Rankings by certified scores, at their boundaries: near ties, what certificates leave open, and equal scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exml_sim.bandit._ranking import (
    Scores,
    TieBreaker,
    count_fewest,
    cut_unclear,
    group_equal,
    lowest,
    mark_arms,
    ranking,
)
from exml_sim.seeds import Seeds

INF = np.inf


def scores(values: list[Any], half_width: float = 0.0, resolution: float = 0.0, unit: Any = 1.0) -> Scores:
    value = np.array(values, dtype=float)
    return Scores(value, value - half_width, value + half_width, resolution, unit)


def test_best_arms_are_within_the_resolution() -> None:
    """Values on a binary grid, so that a difference of exactly the resolution is one."""
    marks = scores([[0.5, 0.5625, 0.625, INF]], resolution=0.0625).best()
    assert marks.tolist() == [[True, True, False, False]]
    # The larger unit of the two arms counts, or the size of the lowest value.
    units = np.array([[1.0, 2.0, 0.5, 4.0]])
    assert scores([[0.0, 0.125, 0.125, 0.25]], resolution=0.0625, unit=units).best().tolist() == [
        [True, True, False, True]
    ]
    assert scores([[-4.0, -3.75, -3.5]], resolution=0.0625).best().tolist() == [[True, True, False]]
    assert scores([[1.0, 1.0], [0.0, 1.0]]).best().tolist() == [[True, True], [True, False]]
    three = scores([[2.0, 0.0, 0.125]], resolution=0.0625, unit=np.array([[1.0, 2.0, 1.0]]))
    assert three.best().tolist() == [[False, True, True]]


def test_chains_of_near_ties() -> None:
    tied = np.array([True])
    step = 0.0625
    for values, unit, groups in (
        ([0.0, step, 2 * step, 3.5 * step, INF, INF], 1.0, [0, 0, 0, 1, 2, 3]),
        ([0.0, step, 2 * step, 3 * step], np.array([[1.0, 1.0, 0.5, 0.5]]), [0, 0, 0, 1]),
        ([0.0, 2 * step, 4 * step, 7 * step], np.array([[1.0, 2.0, 1.0, 2.0]]), [0, 0, 0, 1]),
        ([-8.0, -8.0 + 8 * step, -8.0 + 15.75 * step], 1.0, [0, 0, 1]),
    ):
        order, group = group_equal(scores([values], resolution=step, unit=unit), tied)
        assert group[0].tolist() == groups
        assert order[0].tolist() == list(range(len(values)))
        shuffled = [values[::-1]]
        back = unit if isinstance(unit, float) else unit[:, ::-1]
        order, group = group_equal(scores(shuffled, resolution=step, unit=back), tied)
        assert group[0].tolist() == groups
        # Members of a group by index; groups in the order of their values.
        places = {arm: groups[len(values) - 1 - arm] for arm in range(len(values))}
        finite = [arm for arm in order[0].tolist() if shuffled[0][arm] < INF]
        assert finite == sorted(finite, key=lambda arm: (places[arm], arm))
        assert (ranking(scores(shuffled, resolution=step, unit=back), tied) == order).all()


def test_ties_within_the_resolution_need_both_a_mark_and_a_resolution() -> None:
    values = [[0.25, 0.125, 0.0]]
    for resolution, tied, order in ((0.5, [True], [0, 1, 2]), (0.5, [False], [2, 1, 0]), (0.0, [True], [2, 1, 0])):
        marked = scores(values, resolution=resolution)
        assert lowest(marked, 3, np.array(tied)).tolist() == [order]
        assert lowest(marked, 1, np.array(tied)).tolist() == [order[:1]]
        assert ranking(marked, np.array(tied)).tolist() == [order]
    assert lowest(scores(values, resolution=0.5), 2).tolist() == [[2, 1]]
    assert ranking(scores(values, resolution=0.5)).tolist() == [[2, 1, 0]]
    both = scores([values[0], values[0]], resolution=0.5)
    assert lowest(both, 2, np.array([False, True])).tolist() == [[2, 1], [0, 1]]


def test_widths_and_replaced_scores() -> None:
    original = Scores(np.array([[1.0, 2.0, INF]]), np.array([[0.5, 1.0, -INF]]), np.array([[1.5, 4.0, INF]]), 0.25, 2.0)
    assert original.width().tolist() == [3.0]
    both = Scores(
        original.value.repeat(2, axis=0), np.array([[0.5, 2.0, -INF]] * 2), np.array([[1, 2, INF], [0.5, 2.25, INF]])
    )
    assert both.width().tolist() == [0.5, 0.25]
    new = scores([[7.0, 8.0, 9.0]], 1.0)
    mask = np.array([[True, False, True]])
    mixed = original.replaced(mask, new)
    assert [part[0].tolist() for part in (mixed.value, mixed.lower, mixed.upper)] == [[7, 2, 9], [6, 1, 8], [8, 4, 10]]
    only = original.only(mask)
    assert [part[0].tolist() for part in (only.value, only.lower, only.upper)] == [
        [1, INF, INF],
        [0.5, INF, -INF],
        [1.5, INF, INF],
    ]
    assert {(s.resolution, s.unit) for s in (mixed, only)} == {(0.25, 2.0)}
    scaled = original.scaled(1.0, np.array([2.0, 3.0, 1.0]))
    assert (scaled.value[0].tolist(), scaled.resolution) == ([0, 3, INF], 0.25)
    assert np.asarray(scaled.unit).tolist() == [4, 6, 2]


@pytest.mark.parametrize(
    ("worst_kept", "best_dropped", "marked"),
    [
        # Upper end of the worst kept arm, lower end of the best dropped arm; touching is unclear.
        (0.5, 0.625, []),
        (0.5, 0.5, [1, 2]),
        (0.625, 0.5, [1, 2]),
        (0.875, 0.5, [1, 2, 3]),
        (0.625, 0.125, [0, 1, 2]),
    ],
)
def test_arms_whose_intervals_reach_the_other_side(worst_kept: float, best_dropped: float, marked: list[int]) -> None:
    lower = np.array([[0.0, 0.25, best_dropped, 0.875, 0.0]])
    upper = np.array([[0.125, worst_kept, 0.75, 1.0, 0.0]])
    active, kept = np.array([[True] * 4 + [False]]), np.array([[True, True, False, False, False]])
    unclear = cut_unclear(Scores(lower, lower, upper), active, kept)
    assert np.flatnonzero(unclear).tolist() == marked
    assert not cut_unclear(Scores(lower, lower, upper), active, active).any()


def test_marks_and_counts() -> None:
    assert mark_arms(np.array([[2, 0], [-1, -1]]), 3).tolist() == [[True, False, True], [False] * 3]
    masks = [[[True, True, False], [True, False, False]], [[True] * 3] * 2, [[False] * 3, [True] * 3], [[True] * 3]]
    assert [count_fewest(np.array(mask)) for mask in masks] == [1, 3, 0, 3]


@pytest.mark.parametrize("seeds", [None, Seeds.of(3, range(60))], ids=["lowest", "random"])
def test_every_way_to_break_ties_is_one_order(seeds: Seeds | None) -> None:
    """The lowest, several, the highest and the whole order, with ties at both ends, against a sort by words."""
    rng = np.random.default_rng(8)
    for n_arms in (1, 2, 5, 24, 25, 26):
        values = rng.integers(0, 3, (60, n_arms)).astype(float)
        values[rng.random(values.shape) < 0.2] = INF
        whole = TieBreaker(seeds).order(*group_equal(scores(values.tolist())), n_arms)
        finite = np.isfinite(values)
        assert (np.sort(whole, axis=1) == np.arange(n_arms)).all()
        assert (np.diff(np.take_along_axis(np.where(finite, values, 9.0), whole, axis=1)) >= 0).all()
        comparable = finite.any(axis=1)
        assert (TieBreaker(seeds).pick_lowest(values)[comparable] == whole[comparable, 0]).all()
        for number in range(1, n_arms + 1):
            several = TieBreaker(seeds).pick_several(values, number)
            enough = finite.sum(axis=1) >= number
            assert (several[enough] == whole[enough, :number]).all()
        highest = TieBreaker(seeds).pick_highest(np.where(finite, values, -INF))
        last = np.take_along_axis(whole, finite.sum(axis=1, keepdims=True) - 1, axis=1)[:, 0]
        assert (highest[comparable] == last[comparable]).all()
