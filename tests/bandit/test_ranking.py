"""Order by certified scores: ties, chains of near ties, and what the certificates leave open."""

import numpy as np

from exml_sim.bandit._purchases import mark_arms
from exml_sim.bandit._ranking import Scores, cut_unclear, lowest, ranking


def scores(values, half_width=0.0, resolution=0.0):
    value = np.array([values], dtype=float)
    return Scores(value, value - half_width, value + half_width, resolution)


def kept(found, number):
    return mark_arms(lowest(found, number), found.value.shape[1])


def test_the_lowest_is_the_head_of_the_ranking():
    near = scores([0.5 + 1e-12, 0.5, 0.5, 0.1], resolution=1e-9)
    for number in (1, 2, 3):
        for tied in (None, np.array([False]), np.array([True])):
            assert lowest(near, number, tied).tolist() == ranking(near, tied)[:, :number].tolist()
    twice = scores([0.5, 0.2, 0.2])
    assert lowest(twice, 1).tolist() == [[1]]
    assert mark_arms(lowest(twice, 2), 3).tolist() == [[False, True, True]]


def test_equal_values_go_by_index():
    assert ranking(scores([0.5, 0.2, 0.5, 0.2])).tolist() == [[1, 3, 0, 2]]


def test_near_ties_go_by_index_only_where_mark_arms():
    near = scores([0.5 + 1e-12, 0.5, 0.7], resolution=1e-9)
    assert ranking(near).tolist() == [[1, 0, 2]]
    assert ranking(near, np.array([False])).tolist() == [[1, 0, 2]]
    assert ranking(near, np.array([True])).tolist() == [[0, 1, 2]]


def test_near_ties_chain():
    step = 0.9e-9
    chain = scores([2 * step, step, 0.0, 5e-9], resolution=1e-9)
    assert ranking(chain, np.array([True])).tolist() == [[0, 1, 2, 3]]


def test_unscored_arms_come_last():
    assert ranking(scores([np.inf, 0.1, np.inf, 0.0], resolution=1e-9), np.array([True])).tolist() == [[3, 1, 0, 2]]


def test_cut_is_clear_when_intervals_are_apart():
    active = np.ones((1, 3), dtype=bool)
    apart = scores([0.1, 0.2, 0.5], half_width=0.1)
    assert not cut_unclear(apart, active, kept(apart, 2)).any()


def test_only_arms_that_reach_across_the_cut_are_unclear():
    active = np.ones((1, 4), dtype=bool)
    value = np.array([[0.1, 0.3, 0.35, 0.9]])
    tight = Scores(value, value - 0.04, value + 0.04)
    assert cut_unclear(tight, active, kept(tight, 2)).tolist() == [[False, True, True, False]]
    assert cut_unclear(tight, active, kept(tight, 4)).tolist() == [[False] * 4]


def test_touching_intervals_are_unclear():
    same = scores([0.5, 0.5])
    assert cut_unclear(same, np.ones((1, 2), dtype=bool), kept(same, 1)).all()
