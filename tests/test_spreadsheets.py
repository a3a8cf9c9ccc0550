"""Cells of CSV files that a spreadsheet would execute, Markdown that a browser would, files that unpack without end."""

import csv
import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from exml_sim._internal.spreadsheets import neutralise, restore, write_csv, write_frame
from exml_sim.bandit.ledger import Ledger
from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._saved_model import load
from exml_sim.classifier.report import escape_markdown
from exml_sim.cli import cli
from exml_sim.cli._tables import read_table
from exml_sim.oracle import ArrayOracle
from simulations.report._exploration import html_of

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''@x"]
LETTERS = "=+-@\t\r\n'a1. e"


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.text(LETTERS, max_size=6))
def test_every_text_comes_back(text):
    written = neutralise(text)
    assert restore(written) == text
    starts = written[:1] in "=+-@\t\r\n" and len(written) > 1
    assert not starts or re.fullmatch(r"[-+]?[\d.]+([eE][-+]?\d+)?", written), written


def test_numbers_and_dashes_stay():
    for cell in ("-1.5", "+3e2", "-", "", "x=1", 7, None, -0.5):
        assert neutralise(cell) == cell


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_writer_leaves_a_formula(formula, tmp_path):
    ledger = Ledger(5, [1, 1], [formula, "b"])
    ledger.buy([1, 1])
    texts = [
        write_csv([formula, "b"], [[formula, "2"]]),
        write_frame(pd.DataFrame({formula: [formula]})),
        ledger.to_csv(),
    ]
    for text in texts:
        for row in csv.reader(io.StringIO(text, newline="")):
            assert not any(cell[:1] in ("=", "@", "\t", "\r") or cell == formula for cell in row)
    path = tmp_path / "t.csv"
    path.write_text(texts[0], encoding="utf-8", newline="")
    table = read_table(path, delimiter=",")
    assert table.header == (formula.strip(), "b")
    assert table.raw(formula.strip()) == [formula]


def test_names_of_people_are_escaped_in_reports():
    rng = np.random.default_rng(0)
    y = np.array(["<b>no</b>", "a|b"])[rng.integers(0, 2, 80)]
    name = "<script>alert(1)</script>|](javascript:x)"
    other = ArrayOracle({name: rng.normal(size=80), "c": rng.normal(size=80)})
    report = (
        ExMLClassifier(budget=60, explore="always", model="forest").fit(rng.normal(size=(80, 2)), y, other).report()
    )
    body = report.partition("## Ledger")[0]
    assert "<" not in body
    assert "](" not in body
    lines = [line for line in body.splitlines() if line.startswith("| class") or "a\\|b |" in line]
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert cells == [5] * len(cells)
    assert "<script" not in html_of(report)
    assert "&lt;b&gt;no&lt;/b&gt;" in html_of(report)
    assert "a|b" in html_of(report)
    assert escape_markdown("a\nb") == "a b"


def test_names_of_classes_are_escaped_in_preflight_checks(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[label, rng.normal(), rng.normal()] for label in ["<b>no</b>", "[a](b)"] * 30]
    (tmp_path / "t.csv").write_text(write_csv(["y", "x", "c"], rows), encoding="utf-8")
    options = ["--label=y", "--observed=x", "--candidate=c=c:1", "--preset=paper", "--budget=30"]
    done = CliRunner().invoke(cli, ["explore", str(tmp_path / "t.csv"), *options, f"--out={tmp_path / 'out'}"])
    assert done.exit_code == 0, done.output
    checks = (tmp_path / "out" / "report.md").read_text(encoding="utf-8").partition("## Preflight checks")[2]
    assert "&lt;b>no" in checks
    assert "<" not in checks
    assert "](" not in checks


def test_files_that_unpack_without_end_are_refused(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(120):
            file.write(b"0" * (1 << 20))
    with pytest.raises(ValueError, match="unpacks to more than 100 times its size and 100 MiB"):
        read_table(tmp_path / "t.csv.gz")
    with (
        zipfile.ZipFile(tmp_path / "m.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("manifest.npy", "w") as entry,
    ):
        for _ in range(120):
            entry.write(b"0" * (1 << 20))
    with pytest.raises(ValueError, match="unpacks to more than 100 times"):
        load(tmp_path / "m.npz")


def test_a_model_with_a_number_that_is_none_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    model = ExMLClassifier.paper(budget=20, explore="never").fit(X, y, ArrayOracle({"a": y, "b": y}))
    model.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as file:
        arrays = dict(file)
    manifest = json.loads(str(arrays["manifest"]))
    manifest["model"]["cascade"]["layers"][0]["model"]["theta"] = float("nan")
    np.savez(tmp_path / "nan.npz", **{**arrays, "manifest": np.array(json.dumps(manifest))})
    with pytest.raises(ValueError, match="a number must be finite, got nan"):
        load(tmp_path / "nan.npz")
    manifest = json.loads(str(arrays["manifest"]))
    manifest["model"]["layout"]["encodings"][0]["column_type"] = "code"
    np.savez(tmp_path / "type.npz", **{**arrays, "manifest": np.array(json.dumps(manifest))})
    with pytest.raises(ValueError, match="an encoding of a column is damaged"):
        load(tmp_path / "type.npz")


def test_every_csv_file_is_written_by_the_helper():
    """A writer of the csv module or of pandas elsewhere would leave formulas as they are."""
    for package in ("exml_sim", "simulations", "theory"):
        for file in (Path(__file__).parents[1] / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"csv\.writer|DictWriter|to_csv\([^)]*index", text), file
