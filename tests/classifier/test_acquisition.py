"""The buyer: an oracle that fails midway leaves no money without a value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.bandit.ledger import Ledger
from exml_sim.classifier._bought_arms import LayerInput, OutOfFoldPool
from exml_sim.classifier._kernel_regression import KernelFitter
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.classifier.acquisition import AcquisitionManager


class Breaking:
    """Gives the values of a, and fails at the n-th request for those of b."""

    names, costs = ("a", "b"), (1, 2)

    def __init__(self, fails: int = 1):
        self._left = fails

    def query(self, candidate, rows):
        if candidate == "b":
            self._left -= 1
            if self._left == 0:
                raise OSError("the instrument is off")
        return np.asarray(rows, dtype=np.float64)[:, None]


def test_money_of_what_was_not_delivered_is_taken_back():
    buyer = AcquisitionManager(Breaking(), 10, 30)
    with pytest.raises(OSError, match="instrument"):
        buyer.buy({0: np.arange(4), 1: np.arange(4)}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == 4
    assert buyer.ledger.pulls[0].tolist() == [4, 0]
    assert np.array_equal(buyer.ledger.pulls[0], buyer.bought.sum(axis=1))
    with pytest.raises(ValueError, match="0 are paid for"):
        buyer.receive({1: np.arange(4)}, layer=2, purpose="exploration")
    buyer.buy({1: np.arange(3)}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == 10


def test_an_exploration_that_breaks_off_leaves_an_exact_ledger():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    buyer = AcquisitionManager(Breaking(2), 40, 200)
    base = LayerInput(rng.normal(size=(40, 2)), y, 2, rng.permutation(40), 2)
    pool = OutOfFoldPool(buyer, [0, 1], base, 0.2, ModelOptions(), KernelFitter())
    with pytest.raises(OSError, match="instrument"):
        pool.explore("successive_elimination", 100)
    assert np.array_equal(buyer.ledger.pulls[0], buyer.bought.sum(axis=1))
    assert buyer.ledger.spent == sum(
        Fraction(len(one.rows)) * (1 if one.candidate == "a" else 2) for one in buyer.purchases
    )


def test_only_pulls_of_the_latest_round_can_be_taken_back():
    ledger = Ledger(10, [1, 2])
    with pytest.raises(ValueError, match="latest round"):
        ledger.take_back([1, 0])
    ledger.buy([2, 1])
    with pytest.raises(ValueError, match=r"has the pulls \[2, 1\]"):
        ledger.take_back([3, 0])
    ledger.take_back([1, 1])
    assert (ledger.spent, ledger.pulls[0].tolist()) == (1, [1, 0])
