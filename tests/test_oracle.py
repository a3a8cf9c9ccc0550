"""Oracles and the buyer: pay first, ask then, keep what was bought, read nothing else."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from exml_sim.bandit.ledger import Overspend
from exml_sim.classifier._acquisition import AcquisitionManager
from exml_sim.oracle import ArrayOracle, CallableOracle, FrameOracle, Oracle

VALUES = {"ct": np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, np.nan]]), "blood": np.array([7.0, 8.0, 9.0])}
COSTS = {"ct": "5.0", "blood": 1.2}


def oracles():
    frame = pd.DataFrame({"ct1": [1.0, 3, np.nan], "ct2": [2, 4, np.nan], "b": [7, 8, 9]}, index=["u", "v", "w"])
    return [
        ArrayOracle(VALUES, COSTS),
        FrameOracle(frame, {"ct": ["ct1", "ct2"], "blood": "b"}, COSTS),
        CallableOracle({"ct": lambda rows: VALUES["ct"][rows], "blood": lambda rows: VALUES["blood"][rows]}, COSTS),
    ]


@pytest.mark.parametrize("oracle", oracles(), ids=lambda o: type(o).__name__)
def test_the_three_kinds_agree(oracle):
    assert isinstance(oracle, Oracle)
    assert oracle.names == ("ct", "blood")
    assert oracle.costs == (Fraction(5), Fraction(6, 5))
    np.testing.assert_array_equal(oracle.query("ct", [1, 0]), [[3, 4], [1, 2]])
    np.testing.assert_array_equal(np.ravel(oracle.query("blood", [2])), [9])
    buyer = AcquisitionManager(oracle, 3, 20)
    buyer.buy({0: np.array([1]), 1: np.array([0, 2])}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == Fraction(37, 5)
    np.testing.assert_array_equal(buyer.values(0, np.array([1])), [[3, 4]])
    assert buyer.bought.tolist() == [[False, True, False], [True, False, True]]
    assert buyer.widths == {"ct": 2, "blood": 1}
    with pytest.raises(ValueError, match="unknown candidate 'mri'"):
        oracle.query("mri", [0])


def test_what_was_never_measured_is_not_on_offer():
    for oracle in oracles()[:2]:
        assert oracle.available("ct").tolist() == [True, True, False]
    assert AcquisitionManager(oracles()[2], 3, 1).available(0).tolist() == [True] * 3


class Shy:
    """An oracle that counts questions."""

    names, costs = ("a", "b"), (Fraction(2), Fraction(3))

    def __init__(self, answer=None):
        self.questions = 0
        self.answer = answer

    def query(self, candidate, rows):
        self.questions += 1
        return np.zeros(len(rows)) if self.answer is None else self.answer


def test_what_cannot_be_paid_is_not_asked():
    shy = Shy()
    buyer = AcquisitionManager(shy, 10, 7)
    with pytest.raises(Overspend):
        buyer.buy({0: np.arange(2), 1: np.arange(2)}, layer=2, purpose="exploration")
    assert shy.questions == 0
    assert not buyer.bought.any()
    assert buyer.ledger.spent == 0


def test_unpaid_values_cannot_be_read_and_paid_ones_not_bought_again():
    buyer = AcquisitionManager(Shy(), 10, 100)
    buyer.buy({0: np.array([3])}, layer=2, purpose="exploration")
    with pytest.raises(ValueError, match="not been bought"):
        buyer.values(0, np.array([3, 4]))
    with pytest.raises(ValueError, match="not been bought"):
        buyer.values(1, np.array([3]))
    for rows in ([3], [5, 5]):
        with pytest.raises(ValueError, match="bought twice"):
            buyer.buy({0: np.array(rows)}, layer=2, purpose="exploration")
    assert buyer.ledger.spent == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1.0], "2 values of candidate 'a' were asked for, the oracle gave 1"),
        ([1.0, float("nan")], "value of candidate 'a' for row 1 is not finite"),
        (["x", "y"], "must be real numbers"),
        ([1.0, 1e308], r"values of candidate 'a' must be numbers of at most 1e\+38 in size; got 1e\+308"),
        (np.zeros((2, 0)), "shape"),
    ],
)
def test_bad_answers(answer, message):
    with pytest.raises(ValueError, match=message):
        AcquisitionManager(Shy(answer), 3, 100).buy({0: np.arange(2)}, layer=2, purpose="exploration")


def test_an_oracle_must_not_change_its_shape():
    shy = Shy(np.zeros((1, 2)))
    buyer = AcquisitionManager(shy, 3, 100)
    buyer.buy({0: np.array([0])}, layer=2, purpose="exploration")
    shy.answer = np.zeros((1, 3))
    with pytest.raises(ValueError, match="first gave 2 columns"):
        buyer.buy({0: np.array([1])}, layer=2, purpose="exploration")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ArrayOracle({}), "at least one candidate"),
        (lambda: ArrayOracle({"a": [1.0]}, {"b": 1}), "no candidate"),
        (lambda: ArrayOracle({"a": [1.0]}, {"a": 0}), "greater than 0"),
        (lambda: ArrayOracle({"a": [1.0], "b": [1.0, 2.0]}), "equally many rows"),
        (lambda: FrameOracle(pd.DataFrame({"a": [1]}), ["b"]), "no column 'b'"),
        (lambda: AcquisitionManager(ArrayOracle({"a": [1.0]}), 2, 1).available(0), "must have 2 rows like X, got 1"),
    ],
)
def test_bad_oracles(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_costs_by_name():
    """Not the protocol, but what people write: prices go by their names, whatever their order."""
    shy = Shy()
    shy.costs = {"b": 3, "a": "0.5"}
    assert AcquisitionManager(shy, 3, 1).costs == (Fraction(1, 2), Fraction(3))
    for costs, what in [({"a": 1}, "none for 'b'"), ({"a": 1, "b": 2, "c": 3}, "one for 'c', which is no candidate")]:
        shy.costs = costs
        with pytest.raises(ValueError, match=rf"one cost per candidate \(a, b\), its costs have {what}"):
            AcquisitionManager(shy, 3, 1)


def test_a_frame_is_looked_at_before_it_is_asked():
    oracle = FrameOracle(pd.DataFrame({"a": [1.0, np.inf]}), ["a"])
    with pytest.raises(
        ValueError, match=r"row 1: candidate 'a', column 'a' must be a number of at most 1e\+38 in size, got inf"
    ):
        AcquisitionManager(oracle, 2, 9).available(0)


def test_names_must_differ():
    shy = Shy()
    shy.names = ("a", "a")
    with pytest.raises(ValueError, match="must differ"):
        AcquisitionManager(shy, 3, 1)
