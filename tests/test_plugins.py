"""Strategies, pools, scores and bounds of plug-ins: resolved by name, sent to workers, identified by source."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from exml_sim import plugins
from exml_sim.cli import cli
from exml_sim.engine import Store, StoreError, Study, StudyResult, run
from exml_sim.engine._schema import header_checksum
from exml_sim.plugins import PluginError
from exml_sim.strategies import BaseStrategy
from simulations.panels import make_panels
from simulations.report._findings import judge_panels

RULE = '''
"""A share of the money for everyone, the rest for the two leaders."""
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from exml_sim.engine import bound
from exml_sim.strategies import BaseStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Final(BaseStrategy):
    share: float = 0.5

    def first_round_cost(self, budget, prices):
        return budget * Fraction(str(self.share))

    def explore(self, batch):
        batch.buy(self.first_round_cost(batch.budget, batch.prices))
        if batch.n_arms > 2:
            batch.keep_best(2)
        batch.buy(batch.budget - self.first_round_cost(batch.budget, batch.prices))
        return batch.keep_best(1)


@bound("Final", distributions=("bernoulli",))
def union(budget, context):
    n = int(budget * context.options["share"]) // context.K
    return 2 * sum(exp(-n * gap**2) for gap in context.ordered)
'''
STUDY = """
trials = 200
bounds = ["my_rules:union"]
strategies = ["uniform_allocation", {name = "my_rules:Final", options = {share = 0.4}}]
budgets = {per_arm = [40, 400]}
[[pools]]
kind = "parametric"
direction = "minimise"
means = [0.3, 0.5, 0.6]
"""


BASE: dict[str, Any] = {
    "trials": 40,
    "budgets": {"per_arm": [10]},
    "pools": [{"kind": "parametric", "direction": "minimise", "means": [0.3, 0.5, 0.6]}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "my_rules.py").write_text(RULE, encoding="utf-8")
    (home / "study.toml").write_text(STUDY, encoding="utf-8")
    return home


def invoke(*arguments: object, code: int = 0) -> str:
    """Run a command, check its exit code and return what it prints."""
    done = CliRunner().invoke(cli, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done.output


def study_of(folder: Path) -> Study:
    return Study.from_toml(folder / "study.toml", plugins=[folder / "my_rules.py"])


def test_from_a_file_beside_the_study_to_figure_report_plan_and_verdicts(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = invoke("study", folder / "study.toml", "--trust", "--out", out, "--quiet")
    assert "union (plug-in)" in printed
    assert "No bound is refuted" in printed
    assert {"failure_rate.png", "report.html", "my_rules.py"} <= {file.name for file in out.iterdir()}
    assert "union (plug-in)" in (out / "failure_rate.svg").read_text(encoding="utf-8")
    assert "union (plug-in)" in (out / "report.html").read_text(encoding="utf-8")
    with StudyResult.open(out / "study.sqlite", trust=True) as result:
        panels = make_panels(result)
        judged = [verdict.outcome for _, _, name, verdict in judge_panels(panels) if name == "union"]
        assert judged[0] == "vacuous"
        assert judged[1] in ("undecided", "consistent")
        (kept,) = [plugin for plugin in result.store.plugins if plugin["group"] == "exml_sim.strategies"]
        assert kept["version"] == "none"
        assert len(kept["digest"]) == 64
    budgets = json.loads(invoke("plan", "--store", out / "study.sqlite", "--trust", "--json"))["budgets"]
    assert ["union" in entry["bounds"] for entry in budgets] == [False, True]


def test_a_refuted_bound_is_named_with_its_cell_and_is_exit_code_1(folder: Path, tmp_path: Path) -> None:
    """A bound that is 1e5 times too small; the test above has the right one and exit code 0."""
    changed(folder, "return 2 * sum", "return 2e-5 * sum")
    arguments = ("study", folder / "study.toml", "--trust", "--out", tmp_path / "out", "--quiet", "--json")
    data = json.loads(invoke(*arguments, code=1))
    (refuted,) = data["refuted"]
    assert refuted.startswith("union (plug-in) of Final(share=0.4) at budget 120 (rate 0.")
    (verdict,) = [text for text in data["findings"] if "REFUTE" in text]
    assert verdict.startswith("1 comparison REFUTES a bound (alpha 1e-06")
    assert refuted in verdict
    assert ", 0 would have detected" not in verdict.split(" Of the ")[0]


@pytest.mark.usefixtures("unseen_pictures")
def test_reading_results_executes_nothing_and_says_what_is_not_drawn(folder: Path, tmp_path: Path) -> None:
    path, marker = tmp_path / "study.sqlite", tmp_path / "marker"
    changed(folder, "from math import exp", f"from math import exp\nopen({str(marker)!r}, 'a').close()")
    with run(study_of(folder), store=path, progress=False, n_jobs=1) as result:
        live = result.summary()
    shutil.copy(folder / "my_rules.py", tmp_path)
    for name in [name for name in sys.modules if name.startswith("exml_plugin_")]:
        del sys.modules[name]
    marker.unlink()
    with StudyResult.open(path) as result:
        assert result.summary() == live
        assert [cell.labels for cell in result.study_cells] == [cell.labels for cell in study_of(folder).cells()]
        with pytest.raises(ValueError, match="'my_rules:Final' is not loaded"):
            result.replay(1, 0)
    marker.unlink()
    printed = invoke("report", path, "--out", tmp_path / "report.html")
    printed += invoke("plot", path, "--out", tmp_path / "pictures") + invoke("plan", "--store", path)
    printed += invoke("merge", path, "--out", tmp_path / "merged.sqlite")
    assert not marker.exists()
    assert printed.count("--plugins FILE draws them") == 3
    assert StudyResult.open(tmp_path / "merged.sqlite").store.digest() == StudyResult.open(path).store.digest()


@pytest.mark.usefixtures("unseen_pictures")
def test_a_bound_of_a_plug_in_is_judged_in_the_report(folder: Path, tmp_path: Path) -> None:
    """The report can be made again from the store."""
    text = STUDY.replace("200", "1000").replace("[40, 400]", "[25, 400]").replace("[0.3, 0.5, 0.6]", "[0.3, 0.6]")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    given = ("--plugins", folder / "my_rules.py")
    invoke("study", folder / "study.toml", *given, "--out", out, "--quiet")
    invoke("report", out / "study.sqlite", *given, "--out", tmp_path / "again.html")
    assert "union (plug-in)" in (tmp_path / "again.html").read_text(encoding="utf-8")
    with StudyResult.open(out / "study.sqlite", plugins=[folder / "my_rules.py"]) as result:
        outcomes = [verdict.outcome for _, _, name, verdict in judge_panels(make_panels(result)) if name == "union"]
    assert set(outcomes) & {"consistent", "undecided"}


def test_the_rule_of_the_file_is_the_rule_of_the_class(folder: Path) -> None:
    """The slow path: the class itself, on the study's pool, from the study's seeds."""
    study = study_of(folder)
    space: dict[str, object] = {"__name__": "written_out"}
    sys.modules["written_out"] = type(sys)("written_out")
    exec(RULE, space)
    with run(study, n_jobs=1, progress=False) as result:
        for cell in study.cells()[1::2]:
            rule = space["Final"](share=0.4)  # type: ignore[operator]
            done = study.pool(cell).explore_many(rule, int(cell.budget), 200, seed=0, stream=cell.stream)
            query = "SELECT selected FROM trials WHERE cell=? ORDER BY trial"
            assert [arm for (arm,) in result.store.rows(query, (cell.index,))] == done.selected[:, 0].tolist()


def test_workers_in_other_processes_import_it(folder: Path) -> None:
    study = study_of(folder)
    alone = run(study, n_jobs=1, progress=False).store.digest()
    assert run(study, n_jobs=2, backend="processes", progress=False, block=20).store.digest() == alone


@pytest.mark.usefixtures("unseen_pictures")
def test_on_the_command_line_and_as_an_object(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    given = ("--plugins", "my_rules.py", "--strategy", "my_rules:Final{share = 0.25}")
    given += ("--strategy", "median_elimination")
    assert "Final(share=0.25)" in invoke("study", "study.toml", *given, "--out", tmp_path / "o", "--quiet")
    strategy = plugins.load_file("my_rules.py")[0].load()
    study = replace(study_of(folder), strategies=(strategy(share=0.25),), bounds=())
    assert study.strategies[0].label == "Final(share=0.25)"
    assert study.used_plugins == study_of(folder).used_plugins[:1]
    assert Study.from_toml(study.to_toml(), plugins=[Path("my_rules.py")]) == study
    short = replace(study_of(folder), strategies=("Final",), bounds=("union",))
    assert short.strategies[0].label == "Final"


def test_a_class_of_a_session_travels_to_workers_by_value() -> None:
    """No file and no importable name is needed where the user's own code already runs."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class First(BaseStrategy):
        def first_round_cost(self, budget: Any, prices: Any) -> Any:
            return budget

        def explore(self, batch: Any) -> Any:
            batch.buy(batch.budget)
            return batch.keep_best(1)

    study = Study.from_table(BASE | {"strategies": [First()]})
    alone = run(study, n_jobs=1, progress=False).store.digest()
    assert run(study, n_jobs=2, backend="processes", progress=False, block=5).store.digest() == alone


def changed(folder: Path, old: str, new: str) -> None:
    file = folder / "my_rules.py"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_store_refuses_another_source_and_says_so(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    run(study_of(folder), store=path, progress=False).close()
    before = path.read_bytes()
    changed(folder, "batch.keep_best(2)", "batch.keep_best(1 + 1)")
    with pytest.raises(ValueError, match="plug-in 'my_rules:Final' has changed: begun with version none"):
        run(study_of(folder), store=path, progress=False)
    assert path.read_bytes() == before
    parts = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    for i, part in enumerate(parts, 1):
        run(study_of(folder), store=part, shard=(i, 2), progress=False).close()
        changed(folder, "1 + 1", "1 + 1 + 0")
    done = CliRunner().invoke(cli, ["merge", *map(str, parts), "--out", str(tmp_path / "all.sqlite")])
    assert "has changed" in str(done.exception)
    assert not (tmp_path / "all.sqlite").exists()


def test_a_bound_may_change(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    run(study_of(folder), store=path, progress=False).close()
    (folder / "other.py").write_text(RULE.replace("2 * sum", "3 * sum"), encoding="utf-8")
    other = replace(study_of(folder), bounds=())
    with run(other, store=path, progress=False) as result:
        assert result.complete


@pytest.mark.parametrize("name", ["my_rules:Nothing", "no_such:Final", "my rules:Final", "my_rules:exp", "dataclass"])
def test_names_that_no_plug_in_announces(folder: Path, name: str) -> None:
    (folder / "study.toml").write_text(STUDY.replace("my_rules:Final", name), encoding="utf-8")
    with pytest.raises(PluginError, match=f"unknown strategy '{name}'"):
        study_of(folder)


def test_a_file_is_executed_only_if_the_user_names_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(PluginError, match="unknown strategy 'my_rules:Final'"):
        Study.from_toml(folder / "study.toml")
    assert Study.from_toml(folder / "study.toml", trust=True).used_plugins == study_of(folder).used_plugins
    (folder / "empty.py").write_text("import os\n", encoding="utf-8")
    with pytest.raises(PluginError, match="announces no plug-in"):
        Study.from_toml(folder / "study.toml", plugins=[folder / "empty.py"])


LAST = "return batch.keep_best(1)"
PULLS = "batch.arms.pull(batch.pulls, False, lambda granted, due: None); batch.pulls *= 2; batch.keep_best(2)"
BAD = {
    "raises": ("batch.keep_best(2)", "1 / 0", "plug-in 'my_rules:Final' raised ZeroDivisionError: division by zero"),
    "arms": (LAST, f"{LAST} + 3", "must return arms from 0 to 2"),
    "shape": (LAST, f"{LAST}[:1]", "must return whole numbers of shape"),
    "overspends": ("batch.buy(batch.budget - self", "batch.buy(2 * batch.budget - self", "plug-in 'my_rules:Final'"),
    "unpaid": ("batch.keep_best(2)", PULLS, "paid for"),
    "exits": ("batch.keep_best(2)", "raise SystemExit(0)", "plug-in 'my_rules:Final' raised SystemExit: 0"),
    "exits on import": ("from math import exp", "from math import exp\nraise SystemExit(0)", "cannot be imported: "),
    "package": ("from math import exp", "from math import exp\nimport no_such_one", "needs the package 'no_such_one'"),
    "syntax": ("from math import exp", "from math import", "cannot be imported: SyntaxError"),
    "bound": ("return 2 * sum", "return -sum", "plug-in 'my_rules:union' returned -"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_plug_ins_leave_one_line_and_nothing_stored(folder: Path, tmp_path: Path, case: str) -> None:
    old, new, message = BAD[case]
    changed(folder, old, new)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ValueError, match=message) as caught:
        run(study_of(folder), store=out / "study.sqlite", progress=False, n_jobs=1)
    assert "\n" not in str(caught.value)
    assert "my_rules" in str(caught.value)
    assert not list(out.iterdir())


def test_a_worker_without_the_package(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has it, the worker does not: one line with the name, and other cells are finished."""
    monkeypatch.setitem(sys.modules, "no_such_package", ModuleType("no_such_package"))
    changed(folder, "from math import exp", "from math import exp\nimport no_such_package")
    changed(folder, "batch.keep_best(2)", "batch.keep_best(2); no_such_package")
    out = tmp_path / "out"
    out.mkdir()
    message = r"plug-in 'my_rules:Final' needs the package 'no_such_package'.*; trials of other cells are kept"
    with pytest.raises(PluginError, match=message) as caught:
        run(study_of(folder), n_jobs=2, backend="processes", progress=False, block=10, store=out / "study.sqlite")
    assert "\n" not in str(caught.value)
    with StudyResult.open(out / "study.sqlite") as result:
        assert {summary.strategy: summary.trials for summary in result.summary()} == {"uniform_allocation": 200}


#: Fails in blocks of more trials than the smoke test runs.
LATE = ("batch.keep_best(2)", "batch.keep_best(2); assert batch.ledger.trials <= 12, 'too many'")


def test_what_an_earlier_run_stored_is_kept(folder: Path, tmp_path: Path) -> None:
    changed(folder, *LATE)
    path = tmp_path / "study.sqlite"
    run(study_of(folder), store=path, progress=False, n_jobs=1, block=10, shard=(1, 4)).close()
    with pytest.raises(PluginError, match=r"too many; .* kept"):
        run(study_of(folder), store=path, progress=False, n_jobs=1, block=50)
    with StudyResult.open(path) as result:
        assert all(entry.trials >= 50 for entry in result.summary())


def installed(tmp_path: Path, version: str = "1.2") -> Path:
    """A folder like site-packages with a package that announces one thing of each group."""
    site = tmp_path / "site"
    package, info = site / "their_rules", site / f"their_rules-{version}.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(RULE, encoding="utf-8")
    (package / "more.py").write_text(
        dedent("""
        import numpy as np
        from exml_sim.bandit.parametric import ParametricPool
        from exml_sim.bandit.scoring import ObjectiveScore
        from exml_sim.population import Candidate, Population

        def arms(low=0.2):
            return ParametricPool.bernoulli([low, 0.5], direction="minimise")

        def rows(rng):
            y = rng.choice([-1.0, 1.0], 30)
            bad = Candidate("bad", rng.normal(size=30))
            return Population(rng.normal(size=(30, 1)), y, [Candidate("good", y), bad])

        class careful:
            PENALISED = True
            TOLERANCES = ObjectiveScore.TOLERANCES

            @staticmethod
            def score(terms, gram, y, counts, tol):
                charge = 1.0 / np.sqrt(counts.sum(axis=1))
                return tuple(part + charge for part in ObjectiveScore.score(terms, gram, y, counts, tol))
        """),
        encoding="utf-8",
    )
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: their-rules\nVersion: {version}\n", encoding="utf-8")
    (info / "top_level.txt").write_text("their_rules\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[exml_sim.strategies]\nfinal = their_rules:Final\n[exml_sim.pools]\npair = their_rules.more:arms\n"
        "grown = their_rules.more:rows\n[exml_sim.scores]\ncareful = their_rules.more:careful\n"
        "[theory.bounds]\nunion = their_rules:union\n",
        encoding="utf-8",
    )
    return site


def test_packages_announce_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed(tmp_path)))
    listed = invoke("study", "--list")
    assert "plug-in final (exml_sim.strategies): version 1.2, " in listed
    assert "plug-in union (theory.bounds): version 1.2" in listed
    study = Study.from_table(
        {
            "strategies": ["final"], "budgets": {"per_arm": [40]}, "trials": 40, "bounds": ["union"],
            "pools": [{"kind": "pair", "options": {"low": 0.1}}, {"kind": "grown", "seed": 3}],
            "scores": [{"score": "careful", "theta": 0.3}],
        }
    )  # fmt: skip
    with run(study, progress=False, n_jobs=1) as result:
        assert [entry.pool for entry in result.summary()] == ["pair", "grown"]
        assert [entry.score for entry in result.summary()] == ["", "careful C 1:1 (sum), theta 0.3"]
        assert {entry["version"] for entry in result.store.plugins} == {"1.2"}
        assert len({entry["digest"] for entry in result.store.plugins}) == 1
    for name in [name for name in sys.modules if name.startswith("their_rules")]:
        del sys.modules[name]


def test_an_installed_package_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Workers of joblib import it from their own path; the command line finds it there, too."""
    site = installed(tmp_path)
    text = STUDY.replace("my_rules:union", "union").replace("my_rules:Final", "final")
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    paths = os.pathsep.join([str(site), str(Path(__file__).parents[1])])
    command = [sys.executable, "-m", "exml_sim", "study", "study.toml", "--quiet", "--backend", "processes"]
    given = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": paths}}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **given)
    assert done.returncode == 0, done.stderr
    assert "union (plug-in)" in done.stdout


def test_two_files_of_one_name_are_two_plug_ins(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    changed(other, "share: float = 0.5", "share: float = 0.6")
    first, second = study_of(folder), study_of(other)
    assert first.hash == second.hash
    assert first.used_plugins[0].digest != second.used_plugins[0].digest
    with Store.create_or_open(None, first, first.cells()) as store:
        assert store.study.used_plugins == first.used_plugins


@pytest.mark.usefixtures("unseen_pictures")
def test_a_copy_of_data_stays_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study in Python that names ../seen.csv has no copy of it, neither beside the folder of results nor inside."""
    from exml_sim.cli.study import _copy_plugins

    out = tmp_path / "b" / "out"
    (tmp_path / "a").mkdir()
    out.mkdir(parents=True)
    (tmp_path / "seen.csv").write_text("a,b\n1,0.5\n0,-0.5\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "a")
    pool = {"kind": "rewards", "file": "../seen.csv"}
    study = Study.from_table(BASE | {"strategies": ["uniform_allocation"], "pools": [pool]})
    _copy_plugins(study, out)
    assert [file.name for file in out.parent.rglob("*")] == ["out"]
    run(study, store=out / "study.sqlite", progress=False, n_jobs=1).close()
    monkeypatch.chdir(out)
    assert "the file '../seen.csv' is not here" in invoke("report", out / "study.sqlite")


@pytest.mark.parametrize("facts", [[{"group": "os", "name": "system", "version": "", "digest": ""}], [{"name": "x"}]])
def test_a_store_that_lists_something_else_is_damaged(tmp_path: Path, facts: list[dict[str, str]]) -> None:
    path = tmp_path / "study.sqlite"
    study = Study.from_table(BASE | {"strategies": ["uniform_allocation"]})
    run(study, store=path, progress=False, n_jobs=1).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE manifest SET value = ? WHERE key = 'plugins'", (json.dumps(facts),))
        head = database.execute("SELECT key, value FROM manifest WHERE key != 'checksum'").fetchall()
        checksum = header_checksum(head, database.execute("SELECT * FROM cells").fetchall())
        database.execute("UPDATE manifest SET value = ? WHERE key = 'checksum'", (checksum,))
    with StudyResult.open(path) as result, pytest.raises(StoreError, match="damaged"):
        assert result.study is None
