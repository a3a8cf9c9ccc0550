"""Tables of texts, booleans, dates and missing cells: purchases, predictions, files and unpaid values."""

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from exml_sim.classifier import AskTell, ExMLClassifier
from exml_sim.cli import main as command_line
from exml_sim.oracle import ArrayOracle

ROLES = ["--label", "y", "--observed", "age,town,smoker,visit", "--candidate", "scan=shade,density:2", "--candidate"]
ROLES += ["blood=group:1", "--budget", "120", "--model", "forest"]
CANDIDATES = {"scan": ["shade", "density"], "blood": "group"}


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    with pytest.raises(SystemExit) as stop:
        command_line(arguments)
    return int(stop.value.code or 0)


def mixed(rows: int = 160, seed: int = 0) -> pd.DataFrame:
    """Draw a table whose label is in a text of the candidate scan."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    age = rng.normal(50, 10, rows) + 3 * ill
    age[rng.random(rows) < 0.1] = np.nan
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, rows), unit="D")
    shade = np.where(rng.random(rows) < 0.9, np.where(ill, "dark", "bright"), "unclear")
    density = rng.normal(size=rows)
    density[::7] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Ulm", "Köln", "=Trier"], rows),
            "smoker": np.where(rng.random(rows) < 0.4, "yes", "no"),
            "visit": day.strftime("%Y-%m-%d"),
            "shade": shade,
            "density": density,
            "group": rng.choice(["A", "B", "0"], rows),
            "y": np.where(ill, "ill", "well"),
        }
    )


def fit(frame: pd.DataFrame, **options: object) -> ExMLClassifier:
    given = {"budget": 120, "candidates": CANDIDATES, "costs": {"scan": 2}, "model": "forest", **options}
    return ExMLClassifier(**given).fit(frame.drop(columns="y"), frame["y"].to_numpy())


@pytest.fixture(scope="module")
def fitted() -> ExMLClassifier:
    return fit(mixed())


def test_a_text_that_knows_the_label_is_bought_and_used(fitted):
    assert "scan" in fitted.selected_
    assert fitted.widths_["scan"] == 3 + 2
    # One candidate with one cost, whatever the number of its columns.
    assert fitted.ledger_.spent == sum(len(p.rows) * {"scan": 2, "blood": 1}[p.candidate] for p in fitted.purchases_)
    new = mixed(seed=1)
    known = np.isin(new["shade"], ["dark", "bright"])
    right = fitted.predict(new.drop(columns="y")) == new["y"].to_numpy()
    assert right[known].mean() > 0.9
    assert "Encoding: age: median " in fitted.report()


def test_unseen_levels_and_missing_cells_are_predicted(fitted):
    new = mixed(seed=1).drop(columns="y")
    new.loc[0, "town"] = "Bonn"
    new.loc[1, ["town", "smoker", "visit"]] = None
    new.loc[2, "density"] = np.nan
    plain, changed = fitted.decide(mixed(seed=1).drop(columns="y")), fitted.decide(new)
    assert not changed.undecided.any()
    np.testing.assert_array_equal(plain.winner[3:], changed.winner[3:])
    # A row without any cell of a candidate lacks it.
    new = new.assign(shade=None, density=np.nan)
    assert fitted.decide(new).undecided.any()


def test_unknown_values_of_new_rows_count_as_missing(fitted, tmp_path, capsys):
    fitted.save(tmp_path / "m.npz")
    new = mixed(30, seed=1).assign(extra=1).drop(columns="y")
    blank = new.copy()
    for row, column, text in ((0, "smoker", "sometimes"), (1, "visit", "soon"), (2, "visit", "2024-02-30")):
        new.loc[row, column], blank.loc[row, column] = text, None
    np.testing.assert_array_equal(fitted.predict_proba(new), fitted.predict_proba(blank))
    new.loc[3, "shade"] = "violet"
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(tmp_path / "m.npz"), str(tmp_path / "new.csv")]
    capsys.readouterr()
    assert main(arguments) == 0
    listed = "1 of column 'smoker', 2 of column 'visit', 1 of column 'shade'"
    assert capsys.readouterr().err == f"exml: values unknown to the model, in 30 rows: {listed}\n"
    main([*arguments, "--json"])
    assert json.loads(capsys.readouterr().out)["unknown"] == {"smoker": 1, "visit": 2, "shade": 1}
    new.assign(age="old").to_csv(tmp_path / "new.csv", index=False)
    assert main(arguments) == 2
    assert "line 2: column 'age' must be a number, got 'old'; leave it blank" in capsys.readouterr().err
    new.drop(columns=["age", "visit", "density"]).to_csv(tmp_path / "new.csv", index=False)
    assert main(arguments) == 2
    assert "new.csv has no columns 'age', 'visit', 'density'" in capsys.readouterr().err


def test_the_encoding_is_in_the_file(fitted, tmp_path):
    fitted.save(tmp_path / "m.npz")
    again = ExMLClassifier.load(tmp_path / "m.npz")
    new = mixed(20, seed=2).drop(columns="y")
    np.testing.assert_array_equal(again.predict(new), fitted.predict(new))
    # A single row has a single level: the encoding of the training table is used, not a new one.
    whole = fitted.predict(new)
    for row in range(5):
        assert again.predict(new.iloc[[row]])[0] == whole[row]
    assert again.encoding_ == fitted.encoding_.removesuffix("; group: 3 levels in 3 columns")


def test_files_of_every_kind_agree_with_python(fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = mixed()
    frame.to_csv("t.csv", index=False)
    with gzip.open("t.csv.gz", "wt", encoding="utf-8") as file:
        frame.to_csv(file, index=False)
    frame.assign(visit=pd.to_datetime(frame["visit"]), smoker=frame["smoker"] == "yes").to_parquet("t.parquet")
    reports = []
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        assert main(["explore", name, *ROLES, "--out", name + ".out", "--quiet"]) == 0
        reports.append((tmp_path / (name + ".out") / "report.md").read_text(encoding="utf-8"))
    assert reports[0] == reports[1] == reports[2]
    ledger = (tmp_path / "t.csv.out/ledger.csv").read_text(encoding="utf-8")
    assert ledger == fitted.ledger_.to_csv()
    capsys.readouterr()
    new = mixed(30, seed=3)
    new.to_csv("new.csv", index=False)
    main(["predict", "t.csv.out/model.npz", "new.csv", "--json"])
    predictions = [row["prediction"] for row in json.loads(capsys.readouterr().out)["predictions"]]
    assert predictions == fitted.predict(new.drop(columns="y")).tolist()


def test_codes_can_be_categories(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = mixed().assign(town=lambda f: f["town"].map({"Ulm": 89, "Köln": 50, "=Trier": 54}))
    frame.to_csv("t.csv", index=False)
    main(["explore", "t.csv", *ROLES, "--categories", "town", "--out", "o", "--quiet"])
    assert "town: 3 levels in 3 columns" in (tmp_path / "o/report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"town": [f"note {i}" for i in range(160)]}, "column 'town' has 160 different texts in 160 rows: free text"),
        ({"visit": ["3/4/2024"] * 80 + ["4/3/2024"] * 80}, "'visit' has dates like '3/4/2024', day/month or month/day"),
        ({"age": ["40"] * 159 + ["old"]}, "t.csv, line 161: column 'age' must be a number, got 'old'"),
        ({"group": ["A"] * 160}, "candidate blood has the single level 'A': leave it out"),
        ({"density": ["1.5"] * 159 + ["?"]}, "line 161: candidate 'scan', column 'density' must be a number, got '?'"),
    ],
)
def test_bad_tables_are_one_line(tmp_path, monkeypatch, capsys, change, message):
    monkeypatch.chdir(tmp_path)
    mixed().assign(**change).to_csv("t.csv", index=False)
    assert main(["explore", "t.csv", *ROLES]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_measurements_may_be_texts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = mixed()
    known = frame["group"].where(frame.index < 30)
    frame.assign(group=known, density=frame["density"].fillna(0.0)).to_csv("t.csv", index=False)
    command = ["explore", "t.csv", *ROLES, "--request-measurements", "--out", "o", "--quiet"]
    for _ in range(8):
        assert main(command) == 0
        path = tmp_path / "o/to_measure.csv"
        if not path.exists():
            break
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["group"] = frame["group"][int(row["line"]) - 2]
        for cells in ([{**rows[0], "group": "C"}, *rows[1:]], rows):
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(cells)
            if cells is not rows:
                assert main(command) == 2
                assert "column 'group' must be one of the levels '0', 'A', 'B', got 'C'" in capsys.readouterr().err
    assert (tmp_path / "o/model.npz").exists()


def fill_request(path, frame, change=lambda line: None, first=None):
    """Write the values of a table into a request, of the first lines only if told so."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines[:first]:
        for column in ("shade", "density", "group"):
            if line.get(column, "-") != "-":
                line[column] = frame[column][int(line["line"]) - 2]
        change(line)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return lines


@pytest.mark.usefixtures("unseen_pictures")
@pytest.mark.parametrize("codes", [False, True])
def test_the_first_measurements_tell_what_a_blank_column_holds(tmp_path, monkeypatch, capsys, codes):
    """A candidate of which nothing is measured is as good as one whose levels are in the table."""
    monkeypatch.chdir(tmp_path)
    frame = mixed().assign(density=lambda f: f["density"].fillna(0.0))
    more = ["--categories", "group"] if codes else []
    frame["group"] = frame["group"].map({"A": 17, "B": 4, "0": 0} if codes else {"A": "A", "B": "B", "0": "AB"})
    frame.to_csv("full.csv", index=False)
    frame.assign(group=None, shade=None, density=None).to_csv("t.csv", index=False)
    assert main(["explore", "full.csv", *ROLES, *more, "--out", "full", "--quiet"]) == 0
    command = ["explore", "t.csv", *ROLES, *more, "--request-measurements", "--out", "o", "--quiet"]
    path, rounds = tmp_path / "o/to_measure.csv", 0
    while main(command) == 0 and path.exists():
        rounds += 1
        if rounds == 1:
            # A part of the first texts waits in the file: the type is learned from all of them.
            asked = fill_request(path, frame, first=3)
            capsys.readouterr()
            assert main(command) == 0
            assert f"still lacks {len(asked) - 3} values" in capsys.readouterr().out
            before = (tmp_path / "o/journal.jsonl").read_bytes()
        fill_request(path, frame)
        if rounds == 1:
            # Killed while the first values were written: they are in the request still.
            request = path.read_bytes()
            assert main(command) == 0
            whole = (tmp_path / "o/journal.jsonl").read_bytes()
            (tmp_path / "o/journal.jsonl").write_bytes(whole[: len(before) + 40])
            path.write_bytes(request)
    assert rounds > 1
    for name in ("ledger.csv", "predictions.csv"):
        assert (tmp_path / "o" / name).read_bytes() == (tmp_path / "full" / name).read_bytes()
    command[command.index("120")] = "170"
    assert main([*command, "--continue"]) == 0
    fill_request(path, frame, lambda line: line.update(density="high") if line["shade"] != "-" else None)
    capsys.readouterr()
    assert main([*command, "--continue"]) == 2
    assert "column 'density' must be a number, got 'high'; write 'lost' if it cannot" in capsys.readouterr().err
    asked = fill_request(path, frame, lambda line: line.update(shade="violet") if line["shade"] != "-" else None)
    violet = sum(line["shade"] == "violet" for line in asked)
    assert main([*command, "--continue"]) == 0
    listed = f"{violet} of column 'shade'\n"
    assert capsys.readouterr().err == f"exml: values that the first request of their candidate did not have: {listed}"


def test_ask_and_tell_learns_types_from_the_first_values(tmp_path):
    frame = mixed()
    X, y, oracle = frame[["age", "town"]], frame["y"].to_numpy(), ArrayOracle({"scan": frame["shade"]})
    options = {"budget": 70, "explore": "always", "model": "forest"}
    plain = ExMLClassifier(**options).fit(X, y, oracle)
    for source in (None, ArrayOracle({"scan": [None] * 160})):
        journal = tmp_path / f"j{source is None}"
        while True:
            run = AskTell(ExMLClassifier(**options), X, y, {"scan": 1}, journal=journal, source=source)
            if (request := run.ask()) is None:
                break
            run.tell({"scan": frame["shade"].to_numpy()[request.rows["scan"]]})
        assert run.model.ledger_.to_csv() == plain.ledger_.to_csv()
        assert run.model.encoding_ == plain.encoding_
        new = {"scan": frame["shade"]}
        np.testing.assert_array_equal(run.model.predict_proba(X, new), plain.predict_proba(X, new))
    # Numbers that were told first become levels when the others are texts.
    run = AskTell(ExMLClassifier(**options), X, y, {"scan": 1})
    rows = run.ask().rows["scan"]
    run.tell({"scan": [*[1.0, 2.0] * 10, *[None] * (len(rows) - 20)]})
    run.tell({"scan": ["dark"] * len(run.ask().rows["scan"])})
    assert run.journal.encodings["scan"][0].levels == ("1", "2", "dark")
    assert [sum(run.journal.values["scan", int(row)]) for row in rows] == [1.0] * len(rows)


def test_scikit_learn_conventions(fitted):
    frame = mixed(90, seed=4)
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    names = fitted.get_feature_names_out().tolist()
    assert names[:5] == ["age", "age is missing", "town==Trier", "town=Köln", "town=Ulm"]
    assert names[-5:] == ["density", "density is missing", "group=0", "group=A", "group=B"]
    percent, ratio = fit(frame, budget="20%"), fit(frame, budget=None, budget_ratio="0.2")
    assert percent.budget_ == ratio.budget_ == 90 * 3 / 5
    assert percent.ledger_.to_csv() == ratio.ledger_.to_csv()
    model = ExMLClassifier(budget="20%", candidates=CANDIDATES, model="forest")
    for budget, message in (("x%", "an amount like 500"), ("120%", "at most 100%"), ("0%", "at most 100%")):
        with pytest.raises(ValueError, match=message):
            ExMLClassifier(budget=budget, candidates=CANDIDATES).fit(X, y)
    with pytest.raises(TypeError, match="fit takes no sample_weight: every row is one purchase"):
        model.fit(X, y, sample_weight=np.ones(90))
    with pytest.raises(ValueError, match=r"an oracle has names, costs and query, like ArrayOracle; got \{'a'"):
        ExMLClassifier(budget=9).fit(X, y, {"a": np.zeros(90)})
    # A scorer by which hidden rows are not wrong, slow and fast.
    scores = cross_val_score(model, X, y, cv=3, scoring=ExMLClassifier.score_known, error_score="raise")
    assert len(scores) == 3
    decisions = percent.decide(X)
    assert percent.score_known(X, y) == np.mean(percent.classes_[decisions.winner] == y) >= percent.score(X, y)
    assert percent.score_known(X, np.where(np.arange(90) < 45, "other", y)) == np.mean(
        percent.classes_[decisions.winner[45:]] == y[45:]
    )


def test_a_pipeline_with_an_encoder():
    frame = mixed(90, seed=4)
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), remainder="passthrough", verbose_feature_names_out=False
    )
    pipeline = make_pipeline(encoder, ExMLClassifier(budget=60, candidates=CANDIDATES, model="forest"))
    pipeline.set_output(transform="pandas").fit(X, y)
    assert set(pipeline.predict(X)) <= {"ill", "well", "hidden"}
    assert "town_Ulm" in pipeline[-1].feature_names_in_
