"""`exml query`, `exml watch` and `exml sys-info`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exml_sim.engine import Store, run
from tests.cli.test_main import call
from tests.engine.studies import known


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("query") / "study.sqlite"
    run(known(trials=200), store=path, n_jobs=1, progress=False).close()
    return path


def test_views_hold_the_results_of_the_summary(capsys: pytest.CaptureFixture[str], store: Path) -> None:
    code, out, _ = call(capsys, "query", str(store), "SELECT * FROM results ORDER BY cell", "--json")
    assert code == 0
    with run(known(trials=200), n_jobs=1, progress=False) as result:
        cells = result.summary()
    rows = json.loads(out)
    assert [(row["strategy"], row["budget"], row["failures"]) for row in rows] == [
        (cell.strategy, float(cell.budget), cell.failures) for cell in cells
    ]
    code, out, _ = call(capsys, "query", str(store), "SELECT sum(trials) AS n FROM selections", "--csv")
    assert out.split() == ["n", "800"]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM trials",
        "UPDATE cells SET pool = 'x'",
        "DROP TABLE trials",
        "CREATE TABLE x (y)",
        "INSERT INTO failures VALUES (1, 'x')",
        "PRAGMA writable_schema = 1",
        "ATTACH 'other.sqlite' AS other",
        "VACUUM INTO 'copy.sqlite'",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM trials",
        "nonsense",
    ],
)
def test_a_query_changes_nothing(
    capsys: pytest.CaptureFixture[str], store: Path, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = store.read_bytes()
    code, _, error = call(capsys, "query", str(store), sql)
    assert code == 2
    assert "one SELECT statement is allowed" in error
    assert error.count("\n") == 1
    assert store.read_bytes() == before
    assert [file.name for file in store.parent.iterdir()] == ["study.sqlite"]
    assert list(tmp_path.iterdir()) == []


def test_long_results_are_cut_and_say_so(capsys: pytest.CaptureFixture[str], store: Path) -> None:
    code, out, error = call(capsys, "query", str(store), "SELECT trial FROM trials", "--limit", "3")
    assert code == 0
    assert len(out.splitlines()) == 4
    assert "first 3 rows" in error


def test_the_state_of_a_study_ends_with_complete(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, store: Path
) -> None:
    code, out, _ = call(capsys, "watch", str(store))
    assert code == 0
    assert out.splitlines()[0].endswith("800 of 800 trials (100%)")
    assert out.splitlines()[-1] == "complete"
    assert "uniform_allocation, parametric" in out
    study = known()
    Store.create_or_open(tmp_path / "new.sqlite", study, study.cells()).close()
    code, out, _ = call(capsys, "watch", str(tmp_path / "new.sqlite"), "--once")
    assert code == 0
    assert "0 of 800 trials (0%)" in out
    assert "no trials yet" in out
    code, _, error = call(capsys, "watch", str(tmp_path / "none.sqlite"))
    assert code == 2
    assert "there is no store" in error


def test_an_error_report_has_versions_and_no_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "sys-info", "--json")
    assert code == 0
    info = json.loads(out)
    assert info["numpy"].count(".") >= 1
    assert info["processors"] >= 1
    assert str(Path.home()) not in out
    assert str(Path.cwd()) not in out
