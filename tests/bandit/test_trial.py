"""Reading one trial: text and figure show what the ledger says."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from exml_sim.strategies import MedianElimination, SuccessiveAcceptsRejects
from tests.bandit.losses import LossPool

POOL = LossPool.bernoulli([0.5, 0.2, 0.6, 0.55, 0.5])


def test_repr_and_table():
    result = POOL.explore(MedianElimination(), 300, 4)
    assert repr(result).startswith("<Exploration: selected 'arm 1' after 3 scored rounds, spent ")
    assert result.table().count("leaves") == 4
    several = POOL.explore(SuccessiveAcceptsRejects(k=2), 300, 4)
    assert "accepted: " in repr(several)
    fates = [line.rsplit(", ", 1)[1] for line in several.table().splitlines() if line.startswith("  ")]
    last = several.rounds[-1].survivors
    assert fates.count("accepted") == sum(arm not in last for arm in several.accepted) > 0
    assert fates.count("accepted") + fates.count("leaves") == 4
    assert repr(POOL.explore_many(MedianElimination(), 300, 5)).startswith("<Explorations: 5 trials, arm 1")


def test_plot_draws_the_allocation():
    result = POOL.explore(MedianElimination(), 300, 4)
    ax = result.plot()
    segments = [[bar.get_width() for bar in group] for group in ax.containers]
    assert np.array_equal(segments, [result.ledger.round_pulls(n)[0] for n in (1, 2, 3)])
    ends = [bar.get_x() + bar.get_width() for bar in ax.containers[-1]]
    assert ends == pytest.approx(result.ledger.pulls[0])
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["arm 0", "arm 1 *"]
    own = plt.figure().add_subplot()
    assert result.plot(own) is own
    plt.close("all")


def test_failures_count_selections_outside_the_best_arms():
    batch = POOL.explore_many(SuccessiveAcceptsRejects(k=2), 300, 50)
    inside = np.array([set(line) <= {1, 0, 4} for line in batch.selected.tolist()])
    assert np.array_equal(batch.failures((0, 1, 4)), ~inside)
    assert 0 < batch.failures((0, 1, 4)).sum() < 50


@pytest.mark.parametrize("best", [["arm 0"], [5], [-1], [0.5]])
def test_failures_needs_positions(best):
    batch = POOL.explore_many(MedianElimination(), 300, 2)
    with pytest.raises(ValueError, match="must be positions from 0 to 4, got"):
        batch.failures(best)
    assert batch.failures(np.arange(5)).tolist() == [False, False]
