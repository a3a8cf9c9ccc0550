"""Commands ``exml explore`` and ``exml predict``: a whole run, the plan, blanks, and bad input in one line."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from exml_sim.cli import main
from exml_sim.cli._explore_files import FILES
from exml_sim.datasets import make_synthetic
from tests.cli.test_main import call as run


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Section 5.1 as a file: every tenth value of the candidate `high` is blank."""
    monkeypatch.chdir(tmp_path)
    rows = make_synthetic(60, angles=[10, 60, 80, 90], rng=0)
    low, mid, mid2, high = (c.values[:, 0].tolist() for c in rows.candidates)
    high = ["" if i % 10 == 0 else value for i, value in enumerate(high)]
    labels = np.where(rows.y > 0, "ill", "well").tolist()
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "low", "m1", "m2", "high", "y", "name"])
        writer.writerows(zip(*rows.X.T.tolist(), low, mid, mid2, high, labels, ["x"] * 180, strict=True))
    return tmp_path


COMMON = ["--label", "y", "--observed", "a,b"]
PAPER = ["--preset", "paper"]
THREE = ["--candidate", "low=low:1", "--candidate", "mid=m1,m2:2.5", "--candidate", "high=high:1.2"]


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_whole_run(data, capsys):
    code, out, err = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "250", "--out", "o")
    assert (code, err) == (0, "")
    assert sorted(p.name for p in (data / "o").iterdir()) == sorted(FILES)
    report = (data / "o/report.md").read_text(encoding="utf-8")
    # The answer first: what is printed is the top of the report.
    answer = report.removeprefix("# Report\n\n").partition("\n\n")[0]
    assert out.startswith(answer)
    assert {line.partition(":")[0] for line in answer.splitlines()} >= {"Selected", "Bought", "Expected accuracy"}
    ledger, bought = read(data / "o/ledger.csv"), read(data / "o/purchases.csv")
    assert sum(float(line["spent"]) for line in ledger) <= 250
    assert sum(int(line["pulls"]) for line in ledger) == len(bought)
    assert len({(b["candidate"], b["line"]) for b in bought}) == len(bought)
    # Line 2 is row 0, whose `high` is blank: it is never bought.
    assert all(int(b["line"]) % 10 != 2 for b in bought if b["candidate"] == "high")
    predictions = read(data / "o/predictions.csv")
    assert [int(p["line"]) for p in predictions] == list(range(2, 182))
    assert {p["prediction"] for p in predictions} <= {"ill", "well", "hidden", ""}
    # Rows whose value was not paid for are undecided in the predictions on the same file.
    selected = next(line.split(": ")[1].rstrip(".") for line in out.splitlines() if line.startswith("Selected"))
    paid = set.intersection(*({b["line"] for b in bought if b["candidate"] == name} for name in selected.split(", ")))
    for p in predictions:
        assert p["line"] in paid or p["prediction"] == "" or "the model of the observed columns" in p["explanation"]


@pytest.mark.usefixtures("unseen_pictures")
def test_predicting_asks_only_for_what_was_bought(data, capsys):
    run(capsys, "explore", "data.csv", *COMMON, "--candidate", "high=high:1", "--budget", "80", "--out", "o")
    with (data / "new.csv").open("w") as file:
        file.write("b,high,a\n0.1,6,2\n0.1,-6,-2\n0.1,0,0\n0.1,,0\n")
    code, out, err = run(capsys, "predict", "o/model.npz", "new.csv")
    assert code == 0
    lines = list(csv.DictReader(out.splitlines()))
    assert [line["prediction"] for line in lines] == ["ill", "well", "hidden", ""]
    assert lines[3]["explanation"].endswith("the next model needs high")
    assert float(lines[2]["P(hidden)"]) > max(float(lines[2]["P(ill)"]), float(lines[2]["P(well)"]))
    assert err == "exml: 1 of 4 rows need a value of high for a prediction\n"
    (data / "less.csv").write_text("a,b\n0,0.1\n")
    code, out, err = run(capsys, "predict", "o/model.npz", "less.csv", "--out", "p.csv")
    assert (code, out) == (0, "")
    assert "1 of 1 rows need a value of high" in err
    assert read(data / "p.csv")[0]["prediction"] == ""
    assert run(capsys, "predict", "o/model.npz", "less.csv", "--out", "p.csv")[0] == 2
    assert run(capsys, "predict", "o/model.npz", "less.csv", "--out", "p.csv", "--force")[0] == 0
    (data / "bad.csv").write_text("a,high\n0,0.1\n")
    assert (
        run(capsys, "predict", "o/model.npz", "bad.csv")[2] == "exml: bad.csv has no column 'b': it has 'a', 'high'\n"
    )
    code, _, err = run(capsys, "predict", "data.csv", "bad.csv")
    assert code == 2
    assert "is not a model that exml explore saved" in err


@pytest.mark.usefixtures("unseen_pictures")
def test_json_and_quiet(data, capsys):
    given = ("explore", "data.csv", *COMMON, *THREE, "--budget", "250")
    code, out, err = run(capsys, *given, "--out", "o", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    report = (data / "o/report.md").read_text(encoding="utf-8")
    assert f"Selected: {', '.join(result['selected'])}." in report
    assert result["files"] == [str(Path("o") / name) for name in FILES]
    spent = sum(Fraction(line["spent"]) for line in read(data / "o/ledger.csv"))
    layer, figures = result["layers"][1], result["evaluation"]["metrics"]
    assert layer["candidates"] == result["selected"]
    assert all(entry["loss"] >= 0.0 and entry["rows"] > 0 for analysis in layer["looks"] for entry in analysis)
    assert layer["thetas"][0]["interval"][0] <= layer["thetas"][0]["accuracy"] <= layer["thetas"][0]["interval"][1]
    assert [m["interval"][0] <= m["accuracy"] <= m["interval"][1] for m in figures] == [True] * 4
    assert f"| {figures[0]['name']} | {figures[0]['right']} of {figures[0]['rows']} |" in report
    assert result["preflight"][0]["message"] == "180 rows, 2 classes: ill 90, well 90"
    assert (Fraction(result["spent"]), result["budget"], result["explored"]) == (spent, "250", True)
    code, out, err = run(capsys, *given, "--out", "q", "--quiet")
    assert (code, err) == (0, "")
    assert out.startswith(f"Selected: {', '.join(result['selected'])}.\n")
    assert out.endswith(f"Saved {', '.join(FILES)} in q.\n")
    plan = json.loads(run(capsys, *given, "--dry-run", "--json")[1])
    assert [entry["available"] for entry in plan["candidates"]] == [180, 180, 162]
    assert Fraction(plan["first_cost"]) < Fraction(plan["cost"]) <= 250
    code, out, err = run(capsys, "predict", "o/model.npz", "data.csv", "--json")
    assert (code, err) == (0, "")
    predicted = json.loads(out)
    code, out, err = run(capsys, "predict", "o/model.npz", "data.csv", "--quiet")
    assert (code, err) == (0, "")
    lines = list(csv.DictReader(out.splitlines()))
    assert list(lines[0]) == ["line", "prediction", "best_known_label", "P(ill)", "P(well)", "P(hidden)", "explanation"]
    texts = [{k: "" if v is None else str(v) for k, v in row.items()} for row in predicted["predictions"]]
    assert texts == lines
    remarks = run(capsys, "predict", "o/model.npz", "data.csv")[2]
    assert remarks == "".join(
        f"exml: {count} of 180 rows need a value of {name} for a prediction\n"
        for name, count in predicted["lacking"].items()
    )


def test_a_finished_run_is_continued_with_more_money_candidates_and_fees(data, capsys):
    """Costs with fees come from a file; --continue keeps all values and counts the money before."""
    (data / "costs.csv").write_text("candidate,cost,setup,bundle,bundle_fee\nlow,1,10,visit,2\nhigh,1.2,,visit,2\n")
    common = ("explore", "data.csv", *COMMON, "--out", "o")
    code, out, _ = run(capsys, *common, "--costs", "costs.csv", "--budget", "250", "--dry-run")
    assert code == 0
    assert "set-up of low: 10 once\nbundle visit: 2 per row\n" in out
    assert run(capsys, *common, "--costs", "costs.csv", "--budget", "250")[0] == 0
    before = read(data / "o/purchases.csv")
    spent = sum(Fraction(line["spent"]) for line in read(data / "o/ledger.csv"))
    fees = {line["arm"]: line["spent"] for line in read(data / "o/ledger.csv") if line["round"] == "1"}
    assert fees["set-up of low"] == "10"
    assert Fraction(fees["bundle visit"]) == 2 * len({line["line"] for line in before if line["round"] == "1"})
    more = (*common, "--costs", "costs.csv", "--candidate", "mid=m1,m2:2.5", "--budget", "400")
    code, _, err = run(capsys, *more)
    assert (code, "choose another --out, --continue with more money" in err) == (2, True)
    assert run(capsys, *more, "--continue")[0] == 0
    after, ledger = read(data / "o/purchases.csv"), read(data / "o/ledger.csv")
    keys = [{(line["candidate"], line["line"]) for line in table} for table in (before, after)]
    assert keys[0] < keys[1]
    assert {line["purpose"] for line in after} == {"earlier", "exploration"}
    assert spent < sum(Fraction(line["spent"]) for line in ledger) <= 400
    assert sum(int(line["pulls"]) for line in ledger if line["arm"] == "set-up of low") == 1
    for extra, message in [
        (("--force", "--continue"), "--continue needs an earlier run in --out: --force starts anew"),
        (("--continue", "--out", "p"), "--continue needs an earlier run in --out: there is no p/journal.jsonl"),
    ]:
        code, _, err = run(capsys, *more, *extra)
        assert (code, message in err) == (2, True)
    (data / "costs.csv").write_text("candidate,cost,setup,bundle,bundle_fee\nlow,1,10,visit,1\nhigh,1.2,,visit,1\n")
    code, _, err = run(capsys, *more, "--continue")
    fees = ["cost 1 with set-up fee 10 and bundle 'visit' for " + fee for fee in "21"]
    assert (code, err) == (
        2,
        f"exml: candidate 'low' of o/journal.jsonl was bought at {fees[0]}, got {fees[1]}: keep the cost to continue, "
        "or use another folder\n",
    )
    (data / "costs.csv").write_text("candidate,cost,bundle\nlow,1,visit\n")
    code, _, err = run(capsys, *common, "--costs", "costs.csv", "--budget", "250", "--force")
    assert (code, err) == (2, "exml: costs.csv, line 2: a bundle has a name and a fee above 0, got 'visit' and 0\n")


@pytest.mark.parametrize("option", ["--groups", "--id"])
def test_the_dry_run_names_a_column_that_is_not_there(data, capsys, option):
    command = ["explore", "data.csv", *COMMON, *THREE, "--budget", "250", "--dry-run"]
    code, _, err = run(capsys, *command, option, "nowhere")
    assert code == 2
    assert "nowhere" in err
    assert err.count("\n") == 1


def test_the_dry_run_refuses_a_single_group(data, capsys):
    (data / "costs.csv").write_text("candidate,cost\nlow,1\n")
    command = ["explore", "data.csv", *COMMON, "--costs", "costs.csv", "--budget", "50", "--dry-run"]
    code, out, err = run(capsys, *command, "--groups", "name")
    assert (code, out) == (2, "")
    assert err == "exml: groups must have at least 2 groups, got only 'x': leave groups out\n"


def test_the_dry_run_plans_and_writes_nothing(data, capsys):
    before = sorted(data.iterdir())
    code, out, _ = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "250", "--dry-run")
    question = "Could there be a class that nobody has named?"
    assert question in out
    for option in (("--hidden", "never"), ("--hidden-share", "10%"), ("--model", "rejection")):
        answer = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "250", "--dry-run", *option)[1]
        assert question not in answer
    assert code == 0
    assert sorted(data.iterdir()) == before
    assert "candidate high: 1.2 per row, 162 of 180 rows can be bought" in out
    # 53 complete rows at 4.7 are affordable: the first round takes 16 of them.
    assert "first round: 16 rows of low, 16 rows of mid, 16 rows of high, for 75.2" in out
    assert "in all at most 250" in out
    _, out, _ = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "250", "--dry-run", *PAPER)
    # 225 after the validation share, half of it per round, 4.7 per row of all three.
    assert "first round: 23 rows of low, 23 rows of mid, 23 rows of high, for 108.1" in out
    assert "in all at most 250" in out
    _, out, _ = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "20%", "--dry-run", "--max-stages", "3")
    assert "budget 169.2" in out
    assert "One further layer may spend as much" in out


@pytest.mark.usefixtures("unseen_pictures")
@pytest.mark.parametrize("extra", [PAPER, ["--model", "rejection"], ["--model", "forest"]], ids=" ".join)
def test_presets_and_models(data, capsys, extra):
    code, out, err = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "150", "--out", "o", *extra)
    assert (code, err) == (0, "")
    report = (data / "o/report.md").read_text(encoding="utf-8")
    assert out.startswith("Selected: ")
    assert "## " not in out
    assert ("solver accuracy" in report) == (extra == PAPER)
    assert ("Model: forest" in report) == ("forest" in extra)
    assert run(capsys, "predict", "o/model.npz", "data.csv", "--quiet")[0] == 0


@pytest.mark.usefixtures("unseen_pictures")
def test_nothing_is_overwritten_silently(data, capsys):
    arguments = ["explore", "data.csv", *COMMON, *THREE, "--budget", "100", "--out", "o"]
    assert run(capsys, *arguments)[0] == 0
    before = (data / "o/report.md").stat().st_mtime_ns
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("exml: o/model.npz exists already: choose another --out, --continue with more money, or")
    assert (data / "o/report.md").stat().st_mtime_ns == before
    assert run(capsys, *arguments, "--force")[0] == 0


def test_no_exploration_needed(data, capsys):
    lines = ["a,c,y"] + [f"{10 * (i % 2) + i / 100},{i},{'uv'[i % 2]}" for i in range(60)]
    (data / "easy.csv").write_text("\n".join(lines))
    arguments = ["explore", "easy.csv", "--label", "y", "--observed", "a", "--candidate", "c=c:1", "--budget", "9"]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "No exploration is needed" in out
    assert "Nothing was spent of the budget of 9" in out
    assert (data / "exml-out/purchases.csv").read_text() == "round,layer,purpose,candidate,line\n"
    code, out, err = run(capsys, "predict", "exml-out/model.npz", "easy.csv")
    assert (code, err) == (0, "")
    assert "accepted by the model of the observed columns" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--label z", "data.csv has no column 'z'"),
        ("--observed a,q", "data.csv has no column 'q'"),
        ("--candidate c=q:1", "data.csv has no column 'q'"),
        ("--candidate c=name:1", "candidate c has the single level 'x': leave it out"),
        ("--label name", "has a single class, 'x'"),
        ("--budget 4", "the smallest budget that works is 4.7"),
        ("--budget 4 --dry-run", "the smallest budget that works is 4.7"),
        ("--budget 5 --preset paper", "the smallest budget that works is 10.45"),
        ("--budget lots", "budget must be a finite number"),
        ("--budget 1_000", "budget must be a finite number"),
        ("--budget x%", "budget must be an amount like 500"),
        ("--budget 120%", "budget must be at most 100%, got 120%"),
        ("--candidate c=high", "a candidate is NAME=COLUMN"),
        ("--candidate c=high:free", "cost of candidate 'c' must be"),
        ("--candidate c=high:-1", "must be greater than 0"),
        ("--candidate c=a:1", "column 'a' is named more than once"),
        ("--candidate c=low:1 --candidate c=high:1", "must differ"),
        ("--theta x", "theta must be 'auto' or a number"),
        ("--theta 0.7", "theta must lie in"),
        ("--theta 0.1,x", "theta must be"),
        ("--gamma x", "gamma must be 'median' or a number"),
        ("--max-candidates 2 --preset paper", "selects one candidate, not 2"),
        ("--folds 1", "folds must be a whole number of at least 2"),
        ("--out data.csv", "is not a directory"),
        *(("--label-noise " + text, "label_noise must be") for text in ("0.8,0.3", "1_0,0.5", "x", "-1,2", "nan,0.5")),
        ("--hidden-share 10", "got 10.0; a share of 10% is 0.1, or 10% on the command line"),
        *(("--hidden-share " + text, "hidden_share must be") for text in ("100%", "-5%", "10", "x", "%", "nan")),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(data, capsys, options, message):
    candidates = () if "--candidate" in options else THREE
    check_error(data, capsys, ["data.csv", *COMMON, *candidates, "--budget", "99", *options.split()], message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", *COMMON, *THREE, "--budget", "99"], "cannot read none.csv: No such file or directory"),
        (["data.csv", *COMMON, *THREE], "Missing option '--budget'"),
        (["data.csv", *COMMON, "--budget", "99"], "Missing option '--candidate'"),
    ],
)
def test_what_is_missing_is_one_line_and_exit_code_2(data, capsys, arguments, message):
    check_error(data, capsys, arguments, message)


def check_error(folder, capsys, arguments, message):
    """Explore with bad input, and check that one line says so and nothing is written."""
    code, out, err = run(capsys, "explore", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("exml: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(p.name for p in folder.iterdir()) == ["data.csv"]


def test_a_value_beyond_all_models_is_refused_when_it_is_read(data, capsys):
    """Before anything is bought: nothing is written but one line."""
    lines = (data / "data.csv").read_text().splitlines()
    cells = lines[20].split(",")
    cells[3] = "1e308"
    (data / "data.csv").write_text("\n".join([*lines[:20], ",".join(cells), *lines[21:]]))
    code, out, err = run(capsys, "explore", "data.csv", *COMMON, *THREE, "--budget", "99")
    assert (code, out) == (2, "")
    said = "candidate 'mid', column 'm1' must be a number of at most 1e+38 in size, got 1e+308"
    assert err == f"exml: data.csv, line 21: {said}\n"
    assert sorted(p.name for p in data.iterdir()) == ["data.csv"]


def test_blank_columns(data, capsys):
    (data / "blank.csv").write_text("a,c,y\n1,,u\n2,,v\n")
    arguments = ["explore", "blank.csv", "--label", "y", "--observed", "a", "--candidate", "c=c:1", "--budget", "9"]
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err == (
        "exml: candidate 'c' is blank in every row: there is nothing to buy; if you can measure it, use "
        "--request-measurements\n"
    )


def test_a_table_of_three_rows_and_no_hidden_share(tmp_path, capsys):
    """Candidates that explain nothing end the comparison; --hidden-share 0 means that nothing is hidden."""
    path = tmp_path / "table.csv"
    rows = [
        "54.1,east,False,2023-05-20,-1.083,-2.905,0.242,AB,well",
        "59.9,south,True,2023-04-24,0.952,0.287,-0.137,AB,ill",
    ]
    rows += ["54.0,,True,2023-03-15,0.566,0.527,0.736,AA,ill"]
    path.write_text("\n".join(["age,site,smoker,visit,a,b,c,d,y", *rows, ""]), encoding="utf-8")
    roles = ["--label", "y", "--observed", "age,site,smoker,visit"]
    roles += [f"--candidate={name}={name}:{cost}" for name, cost in zip("abcd", (3, 1, 1, 1), strict=True)]
    with pytest.raises(SystemExit) as stop:
        main(["explore", str(path), *roles, "--budget", "100%", "--hidden-share", "0", "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert "min()" not in said.err
    assert stop.value.code == 0, said.err
    assert "Expected accuracy: not estimated, 3 rows of at least 10.\n" in said.out
    assert "100.0%" not in said.out


def test_groups_stay_in_one_fold_and_are_no_feature(data, capsys):
    """Rows of a group are copies: with groups their labels cannot be looked up in another fold."""
    rows, rng = read(data / "data.csv")[:40], np.random.default_rng(0)
    labels = rng.permutation(["ill", "well"] * 20)
    copies = [row | {"y": y, "name": f"p{i}"} for i, (row, y) in enumerate(zip(rows, labels, strict=True))]
    with (data / "copies.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        for row in copies:
            for _ in range(4):
                writer.writerow(row | {"a": float(row["a"]) + rng.normal(0.0, 1e-3)})
    given = ("explore", "copies.csv", "--label", "y", "--observed", "a,b,*", "--candidate", "low=low:1")
    given += ("--budget", "100%", "--model", "forest", "--hidden", "never", "--json")
    figures = {}
    for out, extra in (("apart", ()), ("together", ("--groups", "name"))):
        code, text, err = run(capsys, *given, *extra, "--out", out)
        assert (code, err) == (0, "")
        figures[out] = json.loads(text)["evaluation"]["metrics"][-2]["accuracy"]
    assert figures["together"] < 0.7 < 0.9 < figures["apart"]
    worth = ("--value-per-correct", "1", "--rows-to-predict", "10")
    journal = (data / "together/journal.jsonl").read_bytes()
    code, text, _ = run(capsys, *given[:-1], "--groups", "name", *worth, "--out", "together", "--force", "--quiet")
    assert (code, "recognising a hidden class is valued at 0" in text) == (0, True)
    assert (data / "together/journal.jsonl").read_bytes() == journal
    code, _, err = run(capsys, *given, "--groups", "low", "--out", "q")
    assert (code, "column 'low' is named more than once" in err) == (2, True)


def test_continuing_keeps_the_seed(data, capsys):
    given = ("explore", "data.csv", *COMMON, *THREE, "--model", "forest")
    assert run(capsys, *given, "--budget", "120", "--seed", "3", "--out", "o")[0] == 0
    runs = []
    for extra in ((), ("--seed", "3"), ("--seed", "4")):
        out = f"o{len(runs)}"
        (data / out).mkdir()
        (data / out / "journal.jsonl").write_bytes((data / "o/journal.jsonl").read_bytes())
        assert run(capsys, *given, "--budget", "200", *extra, "--out", out, "--continue")[0] == 0
        runs.append([(data / out / name).read_bytes() for name in ("purchases.csv", "predictions.csv")])
    assert runs[0] == runs[1] != runs[2]
