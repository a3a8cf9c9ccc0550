"""The cascade: order of layers, who is asked for what, missing values. Models are stand-ins that read one column."""

import numpy as np
import pytest

from exml_sim.classifier._cascade import Cascade, Layer


class Above:
    """Accepts rows whose last column exceeds a limit; the class is the parity of the first column."""

    def __init__(self, limit):
        self.limit = limit

    n_outputs = 1

    def evaluate(self, X):
        return X[:, 0].astype(int) % 2, X[:, -1] > self.limit, self.limit + X[:, :1]


class Source:
    """An oracle of the row number, once and twice, that records every request."""

    names, costs = ("ct", "mri"), (1, 1)

    def __init__(self, missing=()):
        self.asked, self.missing = [], set(missing)

    def available(self, name):
        return np.array([(name, row) not in self.missing for row in range(8)])

    def query(self, name, rows):
        self.asked += [(name, int(row)) for row in rows]
        return {"ct": 1.0, "mri": 2.0}[name] * rows[:, None]


X = np.arange(8.0)[:, None]


def cascade(*limits):
    names = ((), ("ct",), ("ct", "mri"), ("ct", "mri"))
    return Cascade(tuple(Layer(Above(limit), names[k]) for k, limit in enumerate(limits)))


def test_every_layer_sees_what_the_one_before_gave_up():
    source = Source()
    result = cascade(5.5, 3.5, 2.5).decide(X, source)
    assert result.layer.tolist() == [0, 0, 3, 3, 2, 2, 1, 1]
    assert result.hidden.tolist() == [True, True] + [False] * 6
    assert result.seen.tolist() == [3, 3, 3, 3, 2, 2, 1, 1]
    assert result.winner.tolist() == [0, 1] * 4
    # The outputs are those of the last layer that saw the row.
    assert result.outputs[:, 0].tolist() == [2.5, 3.5, 4.5, 5.5, 7.5, 8.5, 11.5, 12.5]
    # Accepted rows cost nothing, and no value is asked for twice.
    assert source.asked == [("ct", r) for r in range(6)] + [("mri", r) for r in range(4)]
    assert {name: rows.tolist() for name, rows in result.asked.items()} == {"ct": [*range(6)], "mri": [*range(4)]}


@pytest.mark.parametrize(
    ("limits", "accepted"), [([6.5], [7]), ([6.5, 5.5], [6, 7]), ([6.5, 5.5, 8.5, 5.0], [3, 4, 5, 6, 7])]
)
def test_any_number_of_layers(limits, accepted):
    assert np.flatnonzero(cascade(*limits).decide(X, Source()).layer).tolist() == accepted


def test_a_layer_alone_asks_for_every_row_and_no_row_left_for_none():
    source = Source()
    Cascade((Layer(Above(3.5), ("ct",)),)).decide(X, source)
    assert source.asked == [("ct", r) for r in range(8)]
    source = Source()
    assert cascade(-1.0, 3.5).decide(X, source).layer.tolist() == [1] * 8
    assert source.asked == []


def test_a_missing_value_leaves_a_row_undecided_not_hidden():
    result = cascade(5.5, 3.5, 2.5).decide(X, Source(missing={("ct", 4), ("mri", 0)}))
    assert result.undecided.tolist() == [True, False, False, False, True, False, False, False]
    assert result.missing[[0, 4]].tolist() == ["mri", "ct"]
    assert result.seen[[0, 4]].tolist() == [2, 1]
    assert result.hidden.tolist() == [False, True] + [False] * 6


def test_all_missing_candidates_are_named_and_nothing_is_asked_for_such_rows():
    values = {"ct": np.where(np.arange(8) == 1, np.nan, 1.0), "mri": np.where(np.arange(8) < 2, np.nan, 1.0)}
    decisions = Cascade((Layer(Above(0.5), ("ct", "mri")),)).decide(X, values)
    assert decisions.missing[:3].tolist() == ["mri", "ct and mri", ""]
    assert decisions.count_lacking(("ct", "mri")) == {"ct": 1, "mri": 2}
    assert [decisions.asked[name].tolist() for name in ("ct", "mri")] == [[*range(2, 8)]] * 2


def test_candidates_in_order_of_first_use():
    assert cascade(1, 2, 3).candidates == ("ct", "mri")
    with pytest.raises(ValueError, match="at least one layer"):
        Cascade(())
