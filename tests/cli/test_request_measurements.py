"""``exml explore --request-measurements``: requests filled in round by round; and runs that are killed."""

import csv
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from exml_sim.classifier._ask_tell import AskTell
from exml_sim.classifier._journal import Journal
from exml_sim.cli import main
from exml_sim.cli._explore_files import FILES
from exml_sim.datasets import make_synthetic
from tests.cli.test_main import call as run

ROWS = make_synthetic(40, angles=[10, 60, 80, 90], rng=0)
LOW, MID, MID2, HIGH = (c.values[:, 0] for c in ROWS.candidates)
VALUES = {"low": LOW, "m1": MID, "m2": MID2, "high": HIGH}
COLUMNS = {"low": ["low"], "mid": ["m1", "m2"], "high": ["high"]}
PRICES = {"low": Fraction(1), "mid": Fraction(5, 2), "high": Fraction(6, 5)}
ARGUMENTS = ["--label", "y", "--observed", "a,b", "--id", "who", "--budget", "150", "--explore", "always"]
ARGUMENTS += ["--model", "kernel"]
ARGUMENTS += ["--candidate", "low=low:1", "--candidate", "mid=m1,m2:2.5", "--candidate", "high=high:1.2"]


def write_table(path, columns=()):
    labels = np.where(ROWS.y > 0, "ill", "well")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "a", "b", "y", *columns])
        for i in range(len(labels)):
            values = [columns[name][i] for name in columns] if columns else []
            writer.writerow([f"p{i}", *ROWS.X[i], labels[i], *values])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "data.csv")
    write_table(tmp_path / "full.csv", VALUES)
    return tmp_path


def measure(capsys, *more):
    return run(capsys, "explore", "data.csv", *ARGUMENTS, "--request-measurements", *more)


def read(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(rows, delimiter=","):
    with open("exml-out/to_measure.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def fill(rows, first=None, skip=()):
    """Write values into the blank cells of a request, of the first rows only if told so."""
    for entry in rows[:first]:
        row = int(entry["line"]) - 2
        assert entry["who"] == f"p{row}"
        assert Fraction(entry["cost"]) == PRICES[entry["candidate"]]
        for column in VALUES:
            if column in entry and column not in skip:
                own = column in COLUMNS[entry["candidate"]]
                assert entry[column] in (("", repr(float(VALUES[column][row]))) if own else ("-",))
                entry[column] = repr(float(VALUES[column][row])) if own else "-"
    write(rows)


@pytest.mark.usefixtures("unseen_pictures")
def test_round_by_round_it_is_the_run_on_the_full_table(place, capsys):
    assert run(capsys, "explore", "full.csv", *ARGUMENTS, "--out", "full")[0] == 0
    rounds = 0
    while True:
        code, out, err = measure(capsys)
        assert (code, err) == (0, "")
        if "Saved" in out:
            break
        rounds += 1
        assert out.startswith("Measure ")
        assert out.count("\n") == 1
        fill(read("exml-out/to_measure.csv"))
    assert rounds > 1
    for name in ("ledger.csv", "purchases.csv", "predictions.csv", "report.md"):
        assert (place / "exml-out" / name).read_bytes() == (place / "full" / name).read_bytes()
    assert sorted(p.name for p in (place / "exml-out").iterdir()) == sorted(FILES)
    spent = sum(PRICES[entry["candidate"]] for entry in read("exml-out/purchases.csv"))
    assert spent == sum(Fraction(entry["spent"]) for entry in read("exml-out/ledger.csv")) <= 150
    # Finished is finished; a forced repetition asks for nothing that was measured.
    assert measure(capsys)[0] == 2
    assert "Saved" in measure(capsys, "--force")[1]


def test_half_filled_requests_lose_nothing(place, capsys):
    measure(capsys)
    request = read("exml-out/to_measure.csv")
    fill(request, first=5)
    code, out, err = measure(capsys)
    assert (code, err) == (0, "")
    lacking = request[5]
    first = COLUMNS[lacking["candidate"]][0]
    assert f"still lacks {len(request) - 5} values" in out
    assert f"the first is line {lacking['line']}, {lacking['candidate']}, column {first}." in out
    # The request is left alone, and what was filled in is in the journal already: a lost request is written anew.
    assert read("exml-out/to_measure.csv") == request
    (place / "exml-out/to_measure.csv").unlink()
    assert f"Measure {len(request) - 5} values" in measure(capsys)[1]
    rest = read("exml-out/to_measure.csv")
    assert {(r["line"], r["candidate"]) for r in rest} == {(r["line"], r["candidate"]) for r in request[5:]}
    # One of two columns of a candidate: the row stays open, and the cell stays filled.
    fill(rest, skip=["m2"])
    out = measure(capsys)[1]
    assert "column m2." in out
    partly = [entry for entry in read("exml-out/to_measure.csv") if entry["candidate"] == "mid"]
    assert all(entry["m1"] and not entry["m2"] for entry in partly)
    data = json.loads(measure(capsys, "--json")[1])
    assert data["values"] == {"mid": len(partly)}
    assert {entry["column"] for entry in data["missing"]} == {"m2"}
    assert Fraction(data["cost"]) == PRICES["mid"] * len(partly)


def test_what_is_not_asked_for_is_not_read(place, capsys):
    measure(capsys)
    request = read("exml-out/to_measure.csv")
    asked = {(entry["line"], entry["candidate"]) for entry in request}
    stranger = next(str(line) for line in range(2, 122) if (str(line), "low") not in asked)
    fill(request)
    for entry in request:
        for column in VALUES:
            entry[column] = "garbage" if entry[column] == "-" else entry[column]
    extra = {**request[0], "line": stranger, "candidate": "low", "low": "not even a number"}
    write([*request, extra])
    code, out, err = measure(capsys)
    assert (code, err) == (0, "")
    assert out.startswith("Measure ")
    recorded = Journal.of_file(place / "exml-out/journal.jsonl").values
    assert {(str(row + 2), candidate) for candidate, row in recorded} == asked


def test_bad_cells_are_one_line_and_change_nothing(place, capsys):
    measure(capsys)
    request = read("exml-out/to_measure.csv")
    fill(request)
    request[3]["low" if request[3]["candidate"] == "low" else COLUMNS[request[3]["candidate"]][0]] = "0,5"
    write(request, delimiter=";")
    before = {p.name: p.read_bytes() for p in (place / "exml-out").iterdir()}
    code, out, err = measure(capsys)
    assert (code, out) == (2, "")
    assert "must be a number, got '0,5'; write a decimal point, not a comma" in err
    assert {p.name: p.read_bytes() for p in (place / "exml-out").iterdir()} == before
    fill([*request[:3], request[0]])
    assert "is there twice" in measure(capsys)[2]


def test_a_lost_row_is_replaced(place, capsys):
    measure(capsys, "--strategy", "uniform_allocation")
    request = read("exml-out/to_measure.csv")
    fill(request)
    at = next(i for i, entry in enumerate(request) if entry["candidate"] == "mid")
    request[at]["m2"] = "lost"
    write(request)
    out = measure(capsys, "--strategy", "uniform_allocation")[1]
    assert "Measure 1 value (1 of mid)" in out
    assert read("exml-out/to_measure.csv")[0]["line"] != request[at]["line"]


def test_other_runs_are_kept_apart(place, capsys):
    measure(capsys)
    fill(read("exml-out/to_measure.csv"))
    code, _, err = measure(capsys, "--seed", "1")
    assert code == 2
    assert "belongs to a run with random_state 0, not 1" in err
    measure(capsys)
    journal = (place / "exml-out/journal.jsonl").read_bytes()
    assert measure(capsys, "--seed", "1", "--force")[0] == 0
    # What was measured is put aside, never deleted.
    assert (place / "exml-out/journal.1.jsonl").read_bytes() == journal
    (place / "exml-out/journal.jsonl").unlink()
    assert "is there without journal.jsonl" in measure(capsys)[2]


KILLED = """
import os, signal, sys
from exml_sim.classifier._journal import Journal
from exml_sim.cli import main
record, calls = Journal.record, [0]
def dying(self, *arguments):
    record(self, *arguments)
    calls[0] += 1
    if calls[0] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.record = dying
main(sys.argv[1:])
"""


@pytest.mark.usefixtures("unseen_pictures")
def test_a_killed_run_goes_on(place, capsys):
    arguments = ["explore", "full.csv", *ARGUMENTS]
    assert run(capsys, *arguments, "--out", "whole")[0] == 0
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    result = subprocess.run([sys.executable, "-c", KILLED, *arguments, "--out", "k"], env=environment, check=False)
    assert result.returncode == -signal.SIGKILL
    kept = (place / "k/journal.jsonl").read_text()
    assert kept.count("\n") > 4
    assert not (place / "k/model.npz").exists()
    assert run(capsys, *arguments, "--out", "k")[0] == 0
    assert (place / "k/journal.jsonl").read_text().startswith(kept)
    for name in ("ledger.csv", "purchases.csv", "predictions.csv", "report.md", "journal.jsonl"):
        assert (place / "k" / name).read_bytes() == (place / "whole" / name).read_bytes()


def test_an_interrupt_says_how_to_go_on(place, capsys, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    def stop_inside_compiled_code(self):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    def fail(self):
        raise SystemError("something else")

    monkeypatch.setattr(AskTell, "ask", fail)
    with pytest.raises(SystemError, match="something else"):
        main(["explore", "full.csv", *ARGUMENTS])
    monkeypatch.setattr(AskTell, "ask", stop_inside_compiled_code)
    assert run(capsys, "explore", "full.csv", *ARGUMENTS)[0] == 130
    monkeypatch.setattr(AskTell, "ask", stop)
    code, _, err = run(capsys, "explore", "full.csv", *ARGUMENTS)
    assert code == 130
    assert err == ("exml: interrupted: bought values are in exml-out/journal.jsonl; run the same command to continue\n")
