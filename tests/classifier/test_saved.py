"""Saved models: the same predictions to the last bit, no pickle, and one clear line for anything else."""

import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._regression import KernelFitter
from exml_sim.classifier._saved_model import SavedModel, load, pack, save, unpack
from exml_sim.oracle import FrameOracle
from tests.classifier.tasks import soft_rows, synthetic


@pytest.fixture(scope="module")
def task():
    rows, oracle, test, _, values = synthetic(per_class=40, angles=[10, 50, 90])
    return (
        ExMLClassifier.paper(budget=100, max_stages=3, tolerated_rejection=0.0).fit(rows.X, rows.y, oracle),
        test,
        values,
    )


@pytest.fixture
def path(task, tmp_path):
    save(SavedModel.of(task[0]), tmp_path / "model.npz")
    return tmp_path / "model.npz"


def test_round_trip(task, path):
    model, test, values = task
    saved = load(path)
    decisions = saved.decide(test.X, values)
    np.testing.assert_array_equal(saved.labels(decisions), model.predict(test.X, values))
    names, cells = saved.tabulate(decisions)
    assert names == ["prediction", "best_known_label", "explanation"]
    assert [row[2] for row in cells] == model.explain(test.X, values)
    assert saved.layout.feature_names == ("column 0", "column 1")
    assert {name: own[0].name for name, own in saved.candidates.items()} == {name: name for name in model.selected_}
    for entry, other in zip(saved.cascade.layers, model.cascade_.layers, strict=True):
        np.testing.assert_array_equal(entry.model.u, other.model.u)
    with pytest.raises(ValueError, match="2 observed columns, got 1"):
        saved.decide(test.X[:, :1], {})


def test_text_labels_and_names(tmp_path):
    rows, oracle, *_ = synthetic(per_class=40, angles=[10, 90])
    y = np.where(rows.y > 0, "sick", "well")
    X = pd.DataFrame(rows.X, columns=["age", "dose"])
    frame = pd.DataFrame({name: oracle.query(name, np.arange(len(X)))[:, 0] for name in oracle.names})
    source = FrameOracle(frame.rename(columns={"10°": "p", "90°": "q"}), {"10°": "p", "90°": "q"})
    model = ExMLClassifier.paper(budget=80).fit(X, y, source)
    save(SavedModel.of(model), tmp_path / "m.npz")
    saved = load(tmp_path / "m.npz")
    assert saved.classes.tolist() == ["sick", "well"]
    assert saved.layout.observed_names == ("age", "dose")
    assert {name: [part.name for part in own] for name, own in saved.candidates.items()} == {"90°": ["q"]}


@pytest.mark.parametrize("hidden", ["class", "flag", "never"])
def test_predictions_have_the_best_known_label_and_probabilities(tmp_path, hidden):
    rows, oracle, test, _, values = synthetic(per_class=40, angles=[90])
    model = ExMLClassifier(budget="60%", explore="always", model="forest", hidden=hidden, hidden_label=9)
    model.fit(rows.X, rows.y, oracle).save(tmp_path / "m.npz")
    saved, loaded = load(tmp_path / "m.npz"), ExMLClassifier.load(tmp_path / "m.npz")
    names, cells = saved.tabulate(saved.decide(test.X, values))
    columns = dict(zip(names, zip(*cells, strict=True), strict=True))
    assert names == [
        "prediction",
        "best_known_label",
        *[f"P({label})" for label in [*model.classes_, 9][: 2 if hidden == "never" else 3]],
        "explanation",
    ]
    for fitted in (model, loaded):
        assert list(columns["prediction"]) == fitted.predict(test.X, values).tolist()
        proba, hidden_proba = fitted.predict_proba(test.X, values), fitted.predict_hidden(test.X, values)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        shown = np.transpose([columns[name] for name in names[2:-1]])
        if hidden == "flag":
            # Probabilities fit to the labels that `predict` returns; the file has both.
            assert proba.shape[1] == 2
            np.testing.assert_allclose(
                shown, np.column_stack([proba * (1 - hidden_proba[:, None]), hidden_proba]), atol=5e-5
            )
        else:
            np.testing.assert_allclose(shown, proba, atol=5e-5)
    assert set(columns["best_known_label"]) <= set(model.classes_)
    assert (9 in columns["prediction"]) == (hidden == "class")
    assert np.all(model.predict_hidden(test.X, values) == 0.0) == (hidden == "never")
    starts = {"class": "9: rejected", "flag": "looks hidden, rejected", "never": "not confident, rejected"}
    rejected = [row for row in cells if "rejected" in row[-1]]
    assert all(starts[hidden] in row[-1] and row[-1].startswith(str(row[0])) for row in rejected)
    known = [p == best for p, best in zip(columns["prediction"], columns["best_known_label"], strict=True) if p != 9]
    assert all(known)
    # Without the candidate, rows that the first layer rejects keep its probabilities, and have no prediction.
    _, cells = saved.tabulate(saved.decide(test.X, {}))
    stopped = [row for row in cells if row[0] is None]
    assert stopped
    assert all(row[1] in model.classes_ and abs(sum(row[2:-1]) - 1.0) < 1e-3 for row in stopped)


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (self.mark, "w"))


def test_a_file_from_a_stranger_cannot_run_code(path, tmp_path):
    mark = tmp_path / "mark"
    with np.load(path) as file:
        arrays = dict(file)
    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb(str(mark))
    np.savez(tmp_path / "bomb.npz", **{**arrays, "array_0": bomb})
    (tmp_path / "raw.npz").write_bytes(pickle.dumps(Bomb(str(mark))))
    for name in ("bomb.npz", "raw.npz"):
        with pytest.raises(ValueError, match="is not a model that exml explore saved"):
            load(tmp_path / name)
    assert not mark.exists()
    with pytest.raises(ValueError, match=r"saved: it is no archive of arrays$"):
        load(tmp_path / "raw.npz")
    # The same files do run code where pickle is allowed: the test would notice.
    np.load(tmp_path / "raw.npz", allow_pickle=True)
    assert mark.exists()


def alter(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    manifest = json.loads(str(arrays["manifest"]))
    for key, value in changes.items():
        if key in manifest:
            manifest[key] = value
        elif key in manifest["model"]:
            manifest["model"][key] = value
        else:
            arrays[key] = value
    arrays["manifest"] = np.array(json.dumps(manifest))
    other = path.with_name("other.npz")
    np.savez(other, **arrays)
    return other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not of the format"),
        ({"version": 99}, "not of the format"),
        ({"array_3": np.zeros((2, 2))}, "do not fit together"),
        ({"array_9": np.full((120, 2), np.nan)}, "finite"),
        ({"classes": {"kind": "labels", "values": ["a", "b", "c"]}}, "do not fit together"),
        ({"layout": ["a"]}, "is damaged"),
        ({"candidates": {"kind": "mapping", "items": []}}, "is damaged"),
        ({"hidden_label": {"kind": "os.system"}}, "unknown kind"),
        ({"cascade": {"kind": "Cascade", "layers": []}}, "at least one layer"),
    ],
)
def test_damaged_files(path, changes, message):
    with pytest.raises(ValueError, match=message):
        load(alter(path, **changes))


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a.txt", "x")
    np.save(tmp_path / "array.npy", np.zeros(3))
    for name in ("text", "empty", "zip", "array.npy"):
        with pytest.raises(ValueError, match="is not a model that exml explore saved"):
            load(tmp_path / name)
    with pytest.raises(ValueError, match="there is no file"):
        load(tmp_path / "none")
    with pytest.raises(ValueError, match="cannot read"):
        load(tmp_path)


def test_a_kernel_comes_back_and_damage_is_found():
    X, T = soft_rows(30)
    model, _ = KernelFitter()(X, T)
    arrays = {}
    again = unpack(pack(model, arrays), arrays)
    new = soft_rows(50, seed=1)[0]
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    again.check(4, 3)
    for change in ({"curves": model.curves[:-1]}, {"scale": 0.0 * model.scale}, {"gamma": np.inf}):
        with pytest.raises(ValueError, match="do not fit together"):
            replace(model, **change).check(4, 3)
