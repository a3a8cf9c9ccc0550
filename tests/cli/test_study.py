"""`exml study`: outputs, resume, shards, and bad input."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from exml_sim.cli import cli, study
from exml_sim.engine import Store, StoreError, Study, StudyResult, run
from exml_sim.engine.modes import _excess_risk as excess
from simulations import budget_vs_failure
from tests.engine.studies import contents, known

WHOLE = budget_vs_failure.make_study
#: Where failures are seen, where they are rare, and where our bound speaks.
FEW_BUDGETS = (24, 256, 2048, 57_344)


def make_small(trials: int, *, budgets: Sequence[int] = FEW_BUDGETS, **options) -> Study:
    """Make the main study with a dozen trials per cell, instead of those of --quick, at four budgets."""
    assert trials == study.QUICK
    return WHOLE(12, budgets=budgets, **options)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(budget_vs_failure, "make_study", make_small)


def call(out: Path, *options: str):
    return CliRunner().invoke(cli, ["study", "--quick", "--out", str(out), *options])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a small study that is done, and what the command printed."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget_vs_failure, "make_study", make_small)
        done = call(folder)
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_outputs_and_resume(finished, tmp_path):
    """Another number of workers computes and prints the same, and runs no trial again."""
    folder, output = finished
    files = {"summary.csv", "failure_rate.png", "failure_rate.svg", "report.html"}
    files |= {"study.toml", "study.sqlite"}
    assert {file.name for file in folder.iterdir()} == files
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert call(tmp_path, "--quiet", "--n-jobs", "1").output == output.replace(str(folder), str(tmp_path))
    assert (tmp_path / "summary.csv").read_bytes() == (folder / "summary.csv").read_bytes()
    with Store.read(folder / "study.sqlite") as first, Store.read(tmp_path / "study.sqlite") as second:
        blocks = [store.rows("SELECT count(*) FROM blocks").fetchone() for store in (first, second)]
        assert first.study.to_toml() == (folder / "study.toml").read_text(encoding="utf-8")
    assert blocks[0] == blocks[1]


def test_another_seed_needs_another_folder(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    before = contents(tmp_path)
    failed = call(tmp_path, "--seed", "1")
    assert isinstance(failed.exception, StoreError)
    assert "belongs to another study" in str(failed.exception)
    assert "--out" in str(failed.exception)
    assert contents(tmp_path) == before


def test_a_file_that_is_no_study_leaves_nothing(tmp_path):
    """A budget that does not pay for an opening round is found late, by the run itself."""
    file, out = tmp_path / "mine.toml", tmp_path / "new" / "out"
    file.write_text(known(budgets={"absolute": ["0.001"]}).to_toml(), encoding="utf-8")
    failed = CliRunner().invoke(cli, ["study", str(file), "--out", str(out)])
    assert isinstance(failed.exception, ValueError)
    assert not out.parent.exists()
    kept = tmp_path / "kept"
    kept.mkdir()
    CliRunner().invoke(cli, ["study", str(file), "--out", str(kept)])
    assert kept.is_dir()


@pytest.mark.usefixtures("unseen_pictures")
def test_shards_merge_to_the_whole(finished, tmp_path):
    for part in ("1", "2"):
        done = call(tmp_path / part, "--shard", f"{part}/2")
        assert done.exit_code == 0, done.output
        assert "exml merge" in done.output
        assert not (tmp_path / part / "summary.csv").exists()
    (tmp_path / "all").mkdir()
    stores = [str(tmp_path / part / "study.sqlite") for part in ("1", "2")]
    out = tmp_path / "all" / "study.sqlite"
    merged = CliRunner().invoke(cli, ["merge", *stores, "--out", str(out), "--json"])
    assert merged.exit_code == 0, merged.output
    data = json.loads(merged.output)
    assert (data["store"], data["complete"]) == (str(out), True)
    assert data["trials"] == 12 * data["cells"]
    assert call(tmp_path / "all").output.splitlines()[:-1] == finished[1].splitlines()[:-1]
    with StudyResult.open(out) as result:
        assert result.store.digest() == run(result.study, n_jobs=1).store.digest()


def test_an_interrupt_says_how_to_continue(tmp_path):
    file, out = tmp_path / "long.toml", tmp_path / "out"
    file.write_text(known(trials=50_000_000).to_toml(), encoding="utf-8")
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from exml_sim.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "study", str(file), "--out", str(out), "--n-jobs", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not _stored(out / "study.sqlite") and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    # A line before it may say how long all of it would have taken.
    last = f"exml: interrupted: finished trials are in {out / 'study.sqlite'}; the same command continues from there"
    assert err.splitlines()[-1] == last
    assert "Traceback" not in err
    assert _stored(out / "study.sqlite")


def _stored(path: Path) -> int:
    """Blocks in a store that a run may be writing to."""
    try:
        with Store.read(path) as store:
            return store.rows("SELECT count(*) FROM blocks").fetchone()[0]
    except (StoreError, sqlite3.Error):
        return 0


def test_a_study_loads_neither_claims_nor_evidence(tmp_path):
    program = (
        "import sys; from exml_sim.cli import cli\n"
        "cli.main(sys.argv[1:], standalone_mode=False)\n"
        "parts = ('theory.claims', 'theory.evidence')\n"
        "print([name for name in sys.modules if name.startswith(parts)], file=sys.stderr)"
    )
    file = tmp_path / "mine.toml"
    file.write_text(known(trials=5).to_toml(), encoding="utf-8")
    command = [sys.executable, "-c", program, "study", str(file), "--quiet", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.usefixtures("unseen_pictures")
def test_json_has_the_cells(tmp_path, monkeypatch):
    """Here with every budget of the main study."""
    budgets = budget_vs_failure.BUDGETS + budget_vs_failure.LARGE_BUDGETS
    monkeypatch.setattr(budget_vs_failure, "make_study", partial(make_small, budgets=budgets))
    done = call(tmp_path, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.output)
    assert len(data["cells"]) == 2 * len(budgets)
    assert {cell["trials"] for cell in data["cells"]} == {12}
    assert data["findings"]


@pytest.mark.usefixtures("unseen_pictures")
def test_any_study_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(known(trials=2000).to_toml(), encoding="utf-8")
    done = CliRunner().invoke(cli, ["study", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert done.output.count("uniform allocation") >= 2
    assert "Failure rate with its 99% interval:" in done.output
    assert (tmp_path / "out" / "summary.csv").read_text(encoding="utf-8").count("\n") == 5
    with StudyResult.open(tmp_path / "out" / "study.sqlite") as result:
        assert result.study.hash == known(trials=2000).hash
    out, store = tmp_path / "other", tmp_path / "kept.sqlite"
    options = ["--quick", "--seed", "4", "--strategy", "ocba", "--out", str(out), "--store", str(store)]
    other = CliRunner().invoke(cli, ["study", str(file), *options])
    assert other.exit_code == 0, other.output
    assert not (out / "study.sqlite").exists()
    assert "no bound covers" in (out / "report.html").read_text(encoding="utf-8")
    with StudyResult.open(store) as result:
        assert (result.study.trials, result.study.seed) == (study.QUICK, 4)


def test_replay_prints_the_ledger(tmp_path):
    done = call(tmp_path / "out", "--replay", "1", "3")
    assert done.exit_code == 0, done.output
    assert "Trial 3 of cell 1: median_elimination on synthetic" in done.output
    assert "round 1" in done.output
    assert not (tmp_path / "out").exists()
    assert isinstance(call(tmp_path / "out", "--replay", "99", "3").exception, ValueError)


@pytest.mark.usefixtures("unseen_pictures")
def test_an_excess_study_prints_the_terms(tmp_path, monkeypatch):
    monkeypatch.setattr(excess, "truth", partial(excess.truth, points=500, rows=40))
    toml = """
        mode = "excess_risk"
        trials = 4
        strategies = ["uniform_allocation"]
        pools = [{kind = "synthetic", per_class = 8, angles = [10, 90], gamma = 0.1}]
        scores = [{score = "ball", theta = 0.3, ball = 0.4}]
        budgets = {per_arm = [4]}
    """
    (tmp_path / "study.toml").write_text(toml)
    done = CliRunner().invoke(cli, ["study", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"), "--quiet"])
    assert done.exit_code == 0, done.output
    (line,) = [line for line in done.output.splitlines() if "excess risk" in line]
    assert all(f"({term}) " in line for term in "abcde")


@pytest.mark.parametrize(("strategies", "budgets"), [(1, 2), (6, 9)])
def test_no_study_prints_more_than_25_lines(tmp_path, strategies, budgets):
    names = ["uniform_allocation", "sequential_halving", "successive_rejects", "ocba", "top_two", "ugap_eb"]
    file = tmp_path / "study.toml"
    file.write_text(
        f"strategies = {names[:strategies]}\ntrials = 20\n"
        f"budgets = {{per_arm = {[5 * n for n in range(1, budgets + 1)]}}}\n"
        '[[pools]]\nkind = "family"\nfamily = "one group"\nsweep = {K = [4, 8], gap = [0.05, 0.08]}\n',
        encoding="utf-8",
    )
    result = CliRunner().invoke(cli, ["study", str(file), "--out", str(tmp_path / "out"), "--quiet", "--no-report"])
    assert result.exit_code == 0, result.output
    assert len(result.output.splitlines()) <= 25
