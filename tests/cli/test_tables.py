"""Whole runs on tables as people have them: Parquet, .gz, Latin-1, price lists, wildcards, ids, the label "none"."""

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest

from exml_sim.datasets import make_synthetic
from tests.cli.test_main import call as run


@pytest.fixture
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = make_synthetic(40, angles=[20, 80, 90], rng=0)
    low, mid, high = (c.values[:, 0] for c in rows.candidates)
    labels = np.where(rows.y > 0, "none", "größer")
    by_name = {"who": [f"p{i}" for i in range(120)], "x, left": rows.X[:, 0], "x, right": rows.X[:, 1]}
    return pd.DataFrame({**by_name, "scan1": mid, "scan2": high, "low": low, "y": labels})


COMMON = ["--label", "y", "--observed", "x*", "--id", "who", "--budget", "120", "--explore", "always"]
COMMON += ["--na-values", "NA", "--model", "kernel"]
GIVEN = ["--candidate", "scan=scan?:2", "--candidate", "low=low:1"]


@pytest.mark.usefixtures("unseen_pictures")
def test_every_kind_of_file_gives_the_same_run(frame, capsys, tmp_path):
    text = frame.to_csv(index=False)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "latin.csv").write_text(frame.to_csv(index=False, sep=";"), encoding="latin-1")
    frame.to_parquet("t.parquet")
    (tmp_path / "prices.csv").write_text("candidate,columns,cost\nscan,scan?,2\nlow,,1\n")
    runs = {
        "a": ["t.csv", *GIVEN],
        "b": ["t.csv.gz", *GIVEN],
        "c": ["latin.csv", *GIVEN, "--encoding", "latin-1"],
        "d": ["t.parquet", *GIVEN],
        "e": ["t.csv", "--costs", "prices.csv"],
        "f": ["t.csv", *GIVEN[:2], "--costs", "low.csv"],
    }
    (tmp_path / "low.csv").write_text("candidate,cost\nlow,1\n")
    for out, arguments in runs.items():
        assert run(capsys, "explore", *arguments, *COMMON, "--out", out, "--quiet")[0] == 0
    first = (tmp_path / "a/report.md").read_text(encoding="utf-8")
    assert "none" in first
    for out in runs:
        assert (tmp_path / out / "report.md").read_text(encoding="utf-8") == first
    with (tmp_path / "a/predictions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["who"] for row in rows] == frame["who"].tolist()
    assert {row["observed"] for row in rows} == {"none", "größer"}
    # The same model predicts from any of them, and the id stays.
    code, out, _ = run(capsys, "predict", "a/model.npz", "t.parquet", "--id", "who", "--json")
    assert code == 0
    prediction = json.loads(out)["predictions"]
    assert [row["who"] for row in prediction] == frame["who"].tolist()
    code, out, _ = run(capsys, "predict", "d/model.npz", "latin.csv", "--encoding", "latin-1", "--quiet")
    assert [row["prediction"] for row in csv.DictReader(out.splitlines())] == [row["prediction"] for row in prediction]


def test_the_preflight_check_is_shut_before_anything_is_bought(frame, capsys, tmp_path):
    frame["y"] = np.random.default_rng(0).normal(size=120)
    frame.to_csv("t.csv", index=False)
    code, out, err = run(capsys, "explore", "t.csv", *COMMON, *GIVEN)
    assert (code, out) == (2, "")
    assert "120 different labels in 120 rows: this looks like a measurement, not a class" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


@pytest.mark.usefixtures("unseen_pictures")
def test_memory_is_checked_first(frame, capsys, tmp_path, monkeypatch):
    frame.to_csv("t.csv", index=False)
    monkeypatch.setattr("exml_sim._internal.memory._machine_memory", lambda root: 100 * 2**10)
    code, _, err = run(capsys, "explore", "t.csv", *COMMON, *GIVEN)
    assert (code, err) == (2, "exml: 120 rows need about 1.8 MiB of memory, 100.0 KiB are available\n")
    assert run(capsys, "explore", "t.csv", *COMMON, *GIVEN, "--ignore-errors")[0] == 0


@pytest.mark.usefixtures("unseen_pictures")
def test_warnings_are_in_the_plan_the_report_and_the_json(frame, capsys, tmp_path):
    frame.loc[:2, "y"] = "grösser"
    frame["x, again"] = frame["x, left"]
    frame.to_csv("t.csv", index=False)
    slip = "class 'grösser' has 3 rows; possible typo of 'größer'"
    code, out, _ = run(capsys, "explore", "t.csv", *COMMON, *GIVEN, "--dry-run")
    assert code == 0
    assert f"Warning: {slip}." in out
    data = json.loads(run(capsys, "explore", "t.csv", *COMMON, *GIVEN, "--json")[1])
    lines = [entry["message"] for entry in data["preflight"] if entry["severity"] == "warning"]
    assert slip in lines
    assert "observed x, left and x, again are the same" in lines
    report = (tmp_path / "exml-out/report.md").read_text(encoding="utf-8")
    assert f"- Warning: {slip}." in report
