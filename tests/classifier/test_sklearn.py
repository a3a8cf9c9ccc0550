"""The classifier as scikit-learn expects it: one table, cross-validation, names of columns, probabilities, a file."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from exml_sim.classifier import BaseExMLClassifier, ExMLClassifier
from exml_sim.oracle import ArrayOracle, FrameOracle
from tests.classifier.tasks import synthetic

CANDIDATES = {"low": "a20", "high": ["a80", "a90"]}
COSTS = {"high": 2}


def frame(seed=0, per_class=40):
    rows, *_ = synthetic(seed, per_class=per_class, angles=[20, 80, 90])
    values = {f"a{name[:2]}": c.values[:, 0] for name, c in zip(rows.names, rows.candidates, strict=True)}
    labels = np.where(rows.y > 0, "ill", "well")
    return pd.DataFrame({"x1": rows.X[:, 0], "a20": values["a20"], "x2": rows.X[:, 1], **values}), labels


def one_table(**options):
    given = {"budget_ratio": "0.4", "explore": "always", "model": "kernel", "candidates": CANDIDATES, "costs": COSTS}
    return ExMLClassifier(**{**given, **options})


def test_one_table_is_the_run_with_an_oracle():
    X, y = frame()
    model = one_table().fit(X, y)
    oracle = FrameOracle(X, CANDIDATES, COSTS)
    apart = one_table(candidates=None, costs=None).fit(X[["x1", "x2"]], y, oracle)
    assert model.ledger_.to_csv() == apart.ledger_.to_csv()
    assert model.budget_ == apart.budget_ == 3 * 120 * 2 / 5
    new, _ = frame(seed=1)
    np.testing.assert_array_equal(model.predict(new), apart.predict(new[["x1", "x2"]], FrameOracle(new, CANDIDATES)))
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == ["x1", "a20", "x2", "a80", "a90"]
    numbered = one_table(candidates={"low": 1, "high": (3, 4)}).fit(X.to_numpy(), y)
    np.testing.assert_array_equal(numbered.predict(new.to_numpy()), model.predict(new))
    with pytest.raises(AttributeError):
        _ = numbered.feature_names_in_


def test_tables_of_other_makers():
    X, y = frame()
    plain = one_table().fit(X, y)
    new, _ = frame(seed=1)
    arrow = one_table().fit(pa.Table.from_pandas(X), y)
    np.testing.assert_array_equal(arrow.predict(pa.Table.from_pandas(new)), plain.predict(new))
    nullable = new.convert_dtypes().astype({"a20": "Float64"})
    nullable.loc[0, "a20"] = pd.NA
    halves = [plain.layout_.split(table)[1]["low"].cells[0].values for table in (nullable, new)]
    np.testing.assert_array_equal(halves[0][1:], halves[1][1:])
    assert np.isnan(halves[0][0])


def test_polars_frames_are_tables_like_others():
    polars = pytest.importorskip("polars")
    X, y = frame()
    new, _ = frame(seed=1)
    plain, polars_model = one_table().fit(X, y), one_table().fit(polars.from_pandas(X), polars.Series(y))
    assert polars_model.feature_names_in_.tolist() == plain.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(polars_model.predict(polars.from_pandas(new)), plain.predict(new))
    turned = polars.from_pandas(new).select(list(reversed(new.columns)))
    np.testing.assert_array_equal(polars_model.predict(turned), plain.predict(new))
    table = polars.from_pandas(X)
    table = table.with_columns(
        polars.when(polars.arange(0, len(X)) == 0).then(None).otherwise(polars.col("a20")).alias("a20")
    )
    source = FrameOracle(table, {"low": "a20"})
    assert source.available("low").tolist() == [False] + [True] * (len(X) - 1)
    np.testing.assert_array_equal(source.query("low", [3, 1])[:, 0], X["a20"].to_numpy()[[3, 1]])


def test_cross_validation_slices_candidates_with_the_rows():
    X, y = frame(per_class=50)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(one_table(), X, y, cv=folds)
    by_hand = []
    for train, test in folds.split(X, y):
        arrays = {name: X[cols].to_numpy().reshape(len(X), -1) for name, cols in CANDIDATES.items()}
        oracle = ArrayOracle({name: table[train] for name, table in arrays.items()}, COSTS)
        observed = X[["x1", "x2"]].to_numpy()
        model = one_table(candidates=None, costs=None).fit(observed[train], y[train], oracle)
        by_hand.append(model.score(observed[test], y[test], {name: table[test] for name, table in arrays.items()}))
    assert scores.tolist() == by_hand
    search = GridSearchCV(one_table(), {"budget_ratio": ["0.2", "0.4"]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["budget_ratio"] in ("0.2", "0.4")
    assert set(search.predict(X)) <= {"ill", "well", "hidden"}
    assert clone(one_table()).get_params() == one_table().get_params()


def test_columns_go_by_name_in_any_order():
    X, y = frame()
    model = one_table().fit(X, y)
    turned = X[["x2", "a20", "x1", "a80", "a90"]]
    np.testing.assert_array_equal(model.predict(turned), model.predict(X))
    with pytest.raises(ValueError, match="'x1', 'a90' missing"):
        model.predict(X.drop(columns=["a90", "x1"]))
    # Further columns have no role, as in exml predict.
    assert model.explain(X.assign(new=1.0)) == model.explain(X)
    with pytest.raises(ValueError, match="X must have 5 columns as in fit, got 4"):
        model.predict(X.to_numpy()[:, :4])
    apart = one_table(candidates=None, costs=None).fit(X[["x1", "x2"]], y, FrameOracle(X, CANDIDATES))
    turned = apart.predict(X[["x2", "x1"]], FrameOracle(X, CANDIDATES))
    np.testing.assert_array_equal(turned, apart.predict(X[["x1", "x2"]], FrameOracle(X, CANDIDATES)))


@pytest.mark.parametrize("kind", ["kernel", "rejection"])
@pytest.mark.parametrize("classes", [2, 3])
def test_decision_function_and_probabilities(kind, classes):
    X, y = frame()
    if classes == 3:
        y = np.where((y == "ill") & (X["x2"] > 0.5), "worse", y)
    model = one_table(model=kind).fit(X, y)
    values = model.decision_function(X)
    decided = model.decide(X)
    assert values.shape == ((120,) if classes == 2 else (120, 3))
    winner = (values > 0).astype(int) if classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(winner, decided.winner)
    if kind == "rejection":
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError):
            _ = model.predict_proba
        return
    p = model.predict_proba(X)
    assert p.shape == (120, classes + 1)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p[:, :classes].argmax(axis=1), decided.winner)
    # Who lacks a value has no probabilities.
    X.loc[:, ["a20", "a80", "a90"]] = np.nan
    if any(decided.seen > 1):
        with pytest.raises(ValueError, match="rows need a value of candidate"):
            model.predict_proba(X)


@pytest.mark.parametrize("hidden", ["flag", "never"])
def test_ensembles_and_scores_of_probabilities(hidden):
    X, y = frame()
    model, forest = one_table(hidden=hidden), RandomForestClassifier(5, random_state=0)
    for ensemble in (VotingClassifier, StackingClassifier):
        options = {"voting": "soft"} if ensemble is VotingClassifier else {"cv": 2}
        fitted = ensemble([("exml", model), ("forest", forest)], **options).fit(X, y)
        assert fitted.predict_proba(X).shape == (120, 2)
    loss = cross_val_score(model, X, y, scoring="neg_log_loss", cv=2)
    assert np.all(loss < 0.0)
    assert np.all(np.isfinite(loss))


@pytest.mark.parametrize("kind", ["auto", "forest", "kernel", "rejection"])
def test_save_and_load(tmp_path, kind):
    X, y = frame()
    new, _ = frame(seed=1)
    model = one_table(model=kind).fit(X, y)
    model.save(tmp_path / "m.npz")
    again = ExMLClassifier.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert again.explain(new) == model.explain(new)
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    np.testing.assert_array_equal(again.predict(new[["x2", "a20", "x1", "a80", "a90"]]), model.predict(new))
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "m.npz")
    apart = one_table(candidates=None, costs=None, model=kind)
    apart.fit(X[["x1", "x2"]].to_numpy(), y, FrameOracle(X, CANDIDATES, COSTS)).save(str(tmp_path / "apart.npz"))
    values = FrameOracle(new, CANDIDATES)
    observed = new[["x1", "x2"]].to_numpy()
    loaded = ExMLClassifier.load(str(tmp_path / "apart.npz"))
    np.testing.assert_array_equal(loaded.predict(observed, values), apart.predict(observed, values))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"candidates": {"c": ["zz", "a20"], "d": "yy", "e": 9}},
            r"there are no columns 'zz' \(candidate 'c'\), 'yy' \(candidate 'd'\), 9 \(candidate 'e'\); X has x1, a20",
        ),
        ({"candidates": {"c": 9}}, r"there is no column 9 \(candidate 'c'\); X has"),
        ({"candidates": {"c": "a20", "d": ["a20"]}, "costs": None}, "column 'a20' belongs to more than one candidate"),
        ({"candidates": {"c": ["x1", "x2", "a20", "a80", "a90"]}}, "at least one must be observed"),
        ({"candidates": None, "costs": None}, "from an oracle or, with candidates=, from columns of X: give one"),
        ({"costs": {"mri": 1}}, "a cost is given for 'mri'"),
    ],
)
def test_bad_tables(options, message):
    X, y = frame()
    with pytest.raises(ValueError, match=message):
        one_table(**options).fit(X, y)


def test_blank_labels_and_columns():
    X, y = frame()
    with pytest.raises(ValueError, match="1 of 120 labels are blank"):
        one_table().fit(X, np.where(np.arange(120) == 3, None, y))
    with pytest.raises(ValueError, match="120 different labels in 120 rows: this looks like a measurement"):
        one_table().fit(X, X["a90"])
    with pytest.raises(ValueError, match=r"all labels are 1.0: at least 2 classes"):
        one_table().fit(X, np.ones(120))
    with pytest.raises(ValueError, match="column 'x1' has no value in any row"):
        one_table().fit(X.assign(x1=np.nan), y)
    with pytest.raises(ValueError, match="column 'x1' must be real numbers"):
        one_table().fit(X.assign(x1=[(1, 2)] * len(X)), y)
    with pytest.raises(ValueError, match="more than one column 'x1'"):
        one_table().fit(pd.concat([X, X[["x1"]]], axis=1), y)
    with pytest.raises(ValueError, match="give one"):
        one_table().fit(X, y, FrameOracle(X, CANDIDATES))


def test_a_table_without_candidate_columns_is_explained_as_far_as_it_goes():
    X, y = frame()
    model = one_table().fit(X, y)
    plain = X[["x1", "x2"]]
    decisions = model.decide(plain)
    nothing = X.assign(a20=np.nan, a80=np.nan, a90=np.nan)
    assert decisions.undecided.any()
    assert model.explain(plain) == model.explain(nothing)
    with pytest.raises(ValueError, match=f"{decisions.undecided.sum()} rows need a value of candidate"):
        model.predict(plain)
    with pytest.raises(ValueError, match="a90"):
        model.explain(X.drop(columns="a90"))
    with pytest.raises(ValueError, match="x2"):
        model.explain(X[["x1"]])


def test_scorers_take_a_hidden_label_of_the_labels_kind():
    X, y = frame()
    numbers = np.where(y == "ill", 1, 0)
    model = one_table(hidden_label=-1)
    folds = StratifiedKFold(2)
    with warnings.catch_warnings():
        # Whether a hidden row is predicted, and scikit-learn warns of a class that y does not have, is up to the data.
        warnings.simplefilter("ignore")
        scores = cross_val_score(model, X, numbers, cv=folds, scoring="balanced_accuracy", error_score="raise")
    for (train, test), score in zip(folds.split(X, numbers), scores, strict=True):
        prediction = clone(model).fit(X.iloc[train], numbers[train]).predict(X.iloc[test])
        assert prediction.dtype.kind == "i"
        right = [np.mean(prediction[numbers[test] == label] == label) for label in (0, 1)]
        assert score == pytest.approx(np.mean(right))


@pytest.mark.parametrize("kind", [ExMLClassifier, BaseExMLClassifier])
def test_nothing_is_predicted_before_a_fit(kind):
    model = kind(budget=3)
    for ask in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted yet"):
            ask(np.zeros((2, 2)))


def test_rows_with_blank_bought_cells_are_predicted_by_the_observed_columns():
    """Blank cells of candidates in X are no error: no score is nan, and such rows ignore the candidate."""
    rows, oracle, *_ = synthetic(per_class=50, angles=[10, 90])
    table = pd.DataFrame(rows.X, columns=["x1", "x2"])
    table["low"], table["high"] = (oracle.query(name, np.arange(150))[:, 0] for name in oracle.names)
    table.loc[::4, "high"] = np.nan
    options = {"explore": "always", "model": "kernel", "random_state": 1}
    model = ExMLClassifier(budget_ratio=0.5, candidates={"low": "low", "high": "high"}, **options)
    assert np.isfinite(cross_val_score(model, table, rows.y, cv=3)).all()
    model.fit(table, rows.y)
    assert "high" in model.selected_
    stuck = model.decide(table).undecided
    assert 0 < stuck.sum() <= 38
    layer = model.cascade_.layers[-1].model
    slow = layer.probabilities.first.predict(rows.X[stuck])
    slow = np.clip(slow, 1e-3, None) * [1.0, 1.0, layer.odds * layer.probabilities.odds[0]]
    expected = np.array([*model.classes_, model.hidden_label], dtype=object)[slow.argmax(axis=1)]
    assert (np.asarray(model.predict(table), dtype=object)[stuck] == expected).all()
    np.testing.assert_allclose(model.predict_proba(table)[stuck].sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="need a value of candidate"):
        ExMLClassifier(budget=60, **options).fit(rows.X, rows.y, oracle).predict(rows.X)
