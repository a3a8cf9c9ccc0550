"""No unpaid value is ever read: what was not bought may be anything, and the result is the same to the last bit."""

import csv

import numpy as np
import pandas as pd
import pytest

from exml_sim import oracle as oracles
from exml_sim.classifier import ExMLClassifier, _acquisition
from exml_sim.classifier import _bought_arms as bought_arms
from exml_sim.cli import main
from exml_sim.datasets import make_synthetic
from exml_sim.money import exact
from exml_sim.oracle import ArrayOracle, CallableOracle
from tests.classifier.tasks import Recording, synthetic

RUNS = [
    {"strategy": "median_elimination"},
    {"strategy": "uniform_allocation", "alignment": "budget"},
    {"strategy": "successive_accepts_rejects", "max_candidates": 2},
    {"strategy": "top_two", "theta": 0.3},
    {"max_stages": 3, "tolerated_rejection": 0.0},
]


def fit_paper(oracle, rows, **options):
    return ExMLClassifier.paper(budget=200, random_state=1, **options).fit(rows.X, rows.y, oracle)


def poison_unbought(oracle, bought, poison):
    """The same oracle, except that every value that was not bought is replaced."""
    return ArrayOracle(
        {
            name: np.where(paid[:, None], oracle.query(name, np.arange(len(paid))), poison(len(paid)))
            for name, paid in zip(oracle.names, bought, strict=True)
        },
        dict(zip(oracle.names, oracle.costs, strict=True)),
    )


def assert_same(first, second):
    assert first.selected_ == second.selected_
    assert first.ledger_.to_csv() == second.ledger_.to_csv()
    assert len(first.cascade_.layers) == len(second.cascade_.layers)
    for entry, other in zip(first.cascade_.layers, second.cascade_.layers, strict=True):
        np.testing.assert_array_equal(entry.model.anchors, other.model.anchors)
        np.testing.assert_array_equal(entry.model.u, other.model.u)
        np.testing.assert_array_equal(entry.model.w, other.model.w)
        assert entry.model.theta == other.model.theta


@pytest.mark.parametrize("options", RUNS, ids=lambda o: ", ".join(map(str, o.values())))
def test_unpaid_values_do_not_matter(options):
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90], costs=["1", "0.95", "1.2", "2"])
    record = Recording(oracle)
    first = fit_paper(record, rows, **options)
    # Every question is in the ledger, no question was asked twice, and all were paid for.
    assert len(record.asked) == len(set(record.asked)) == first.ledger_.pulls.sum()
    prices = dict(zip(oracle.names, oracle.costs, strict=True))
    assert sum(prices[name] for name, _ in record.asked) == first.ledger_.spent <= exact(200)
    assert {(p.candidate, int(row)) for p in first.purchases_ for row in p.rows} == set(record.asked)
    assert 0 < len(record.asked) < 4 * 180
    rng = np.random.default_rng(0)
    for poison in (lambda n: np.full((n, 1), 1e6), lambda n: rng.normal(size=(n, 1))):
        changed = hide_availability(poison_unbought(oracle, first.bought_, poison))
        assert_same(first, fit_paper(changed, rows, **options))


def hide_availability(oracle):
    """Without `available`, which a NaN pattern could otherwise change."""
    functions = {name: (lambda rows, name=name: oracle.query(name, rows)) for name in oracle.names}
    return CallableOracle(functions, dict(zip(oracle.names, oracle.costs, strict=True)))


def test_a_peeking_learner_is_caught(monkeypatch):
    """Planted error: scale and bandwidth from the whole column instead of the bought rows."""
    rows, oracle, *_ = synthetic(per_class=60, angles=[10, 50, 70, 90])

    def peek(self, i, bought):
        values = self._acquisition._oracle.query(
            self._acquisition.names[self._arms[i]], np.arange(self._acquisition.n_rows)
        )
        frame = bought_arms.Frame.of(np.hstack([self._data.X, values]), self._options)
        points = frame.points(np.hstack([self._data.X[bought], values[bought]]))
        return frame.cross(points)

    monkeypatch.setattr(bought_arms.OracleArms, "_gram", peek)
    record = Recording(oracle)
    first = fit_paper(record, rows)
    assert len(record.asked) > first.ledger_.pulls.sum()
    bad = poison_unbought(oracle, first.bought_, lambda n: np.full((n, 1), 1e6))
    second = fit_paper(bad, rows)
    scores = [[r.scores.tolist() for r in model.records_[1].selection.exploration.rounds] for model in (first, second)]
    assert scores[0] != scores[1]


COLUMNS = {"scan": ["s1", "s2"], "blood": ["blood"]}


def sparse_table():
    """Return a table of which 40 % of the candidate cells are blank."""
    rows, rng = make_synthetic(60, angles=[90], rng=0), np.random.default_rng(0)
    good = rows.candidates[0].values[:, 0]
    table = pd.DataFrame({"a": rows.X[:, 0], "b": rows.X[:, 1], "y": np.where(rows.y > 0, "ill", "well")})
    table["s1"], table["s2"], table["blood"] = 50.0 + good, 7.0 - good, rng.normal(9.0, 1.0, len(good))
    return table.mask((rng.random(table.shape) < 0.4) & ~table.columns.isin(["a", "b", "y"]))


def replace_unbought(table, bought):
    """Return the table with 1000 in all cells that were not bought; blanks stay."""
    changed = table.copy()
    for columns, paid in zip(COLUMNS.values(), bought, strict=True):
        for column in columns:
            changed.loc[~paid & table[column].notna(), column] = 1000.0
    assert (changed != table).to_numpy()[table.notna().to_numpy()].sum() > 50
    return changed


def fit_sparse(table):
    model = ExMLClassifier(candidates=COLUMNS, costs={"scan": 2}, budget=150, model="kernel", random_state=0)
    return model.fit(table.drop(columns="y"), table.y.to_numpy())


def test_medians_for_blank_cells_are_those_of_bought_values():
    table = sparse_table()
    model = fit_sparse(table)
    other = fit_sparse(replace_unbought(table, model.bought_))
    X = table.drop(columns="y")
    assert [p.rows.tolist() for p in other.purchases_] == [p.rows.tolist() for p in model.purchases_]
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert other.report() == model.report()
    # The slow path: medians of the first purchase, straight from the table.
    for name, columns in COLUMNS.items():
        rows = next(purchase.rows for purchase in model.purchases_ if purchase.candidate == name)
        medians = table.loc[rows, columns].median().tolist()
        assert [encoding.fill for encoding in model.encodings_[name]] == medians


def test_medians_of_whole_columns_are_caught(monkeypatch):
    """Planted error: blank cells get the median of all rows."""
    monkeypatch.setattr(oracles, "fit_fills", lambda encodings, table: encodings)
    monkeypatch.setattr(_acquisition, "fit_fills", lambda encodings, table: encodings)
    table = sparse_table()
    model = fit_sparse(table)
    other = fit_sparse(replace_unbought(table, model.bought_))
    X = table.drop(columns="y")
    assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))


def test_the_command_line_reads_no_unbought_value(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sparse_table()
    roles = "--label y --observed a,b --candidate scan=s1,s2:2 --candidate blood=blood:1 --budget 150 --model kernel"

    def explore(content, folder):
        content.to_csv("t.csv", index=False)
        with pytest.raises(SystemExit) as stop:
            main(["explore", "t.csv", *roles.split(), "--out", folder, "--quiet"])
        assert stop.value.code == 0
        return [
            (tmp_path / folder / name).read_bytes()
            for name in ("purchases.csv", "predictions.csv", "report.md", "journal.jsonl")
        ]

    first = explore(table, "first")
    bought = np.zeros((len(COLUMNS), len(table)), dtype=np.bool_)
    for purchase in csv.DictReader((tmp_path / "first/purchases.csv").open()):
        bought[list(COLUMNS).index(purchase["candidate"]), int(purchase["line"]) - 2] = True
    assert explore(replace_unbought(table, bought), "second") == first
