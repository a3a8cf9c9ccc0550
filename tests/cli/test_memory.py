"""Lack of memory anywhere in a command: one line, exit code 2, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exml_sim.engine import Store, run, runner
from tests.cli.test_main import call
from tests.engine.studies import contents, known

ROOT = Path(__file__).parents[2]


def fails(*_: object, **__: object) -> None:
    raise MemoryError("Unable to allocate 6.71 GiB for an array with shape (30000, 30000)")


def one_line(answer: tuple[int, str, str]) -> None:
    code, out, err = answer
    assert (code, out) == (2, "")
    assert err.startswith("exml: not enough memory (Unable to allocate 6.71 GiB")
    assert err.count("\n") == 1


def test_finished_trials_are_kept(capsys, tmp_path, monkeypatch) -> None:
    study = known(trials=30)
    (tmp_path / "mine.toml").write_text(study.to_toml(), encoding="utf-8")
    options = ("study", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--n-jobs", "1", "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr(runner.BlockSizes, "learn", fails)
        one_line(call(capsys, *options))
    with Store.read(tmp_path / "out" / "study.sqlite") as store:
        assert store.counts(0)[0] > 0
    with run(study, n_jobs=1) as whole, run(study, store=tmp_path / "out" / "study.sqlite", n_jobs=1) as continued:
        assert continued.store.digest() == whole.store.digest()


def test_a_pool_that_cannot_be_built_leaves_no_folder(capsys, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.toml").write_text(known(trials=30).to_toml(), encoding="utf-8")
    monkeypatch.setattr("exml_sim.engine.study.build_pool", fails)
    build = sys.modules["exml_sim.engine.study"]._build_once.__wrapped__
    monkeypatch.setattr("exml_sim.engine.study._build_once", build)
    one_line(call(capsys, "study", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["report", "plot", "merge"])
def test_other_commands_change_nothing(capsys, tmp_path, monkeypatch, command) -> None:
    store = tmp_path / "study.sqlite"
    run(known(trials=10), store=store, n_jobs=1).close()
    (tmp_path / "report.html").write_text("the last one")
    before = contents(tmp_path)
    monkeypatch.setattr(Store, "digest", fails)
    monkeypatch.setattr("exml_sim.engine._schema._check_blocks", fails)
    more = ("--out", str(tmp_path / "all.sqlite")) if command == "merge" else ()
    one_line(call(capsys, command, str(store), *more))
    assert contents(tmp_path) == before


LIMITED = """
import resource, sys
from exml_sim.cli import main
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory of a process")
def test_a_process_with_little_memory(tmp_path) -> None:
    """A real limit: four kernel matrices of 248 MiB are allowed by themselves, but not on top of what is loaded."""
    pool = {"kind": "synthetic", "per_class": 1900, "angles": [10, 30, 50, 70]}
    study = known(trials=5, pools=[pool], scores=[{"ball": 0.1}], budgets={"per_arm": [4]})
    (tmp_path / "mine.toml").write_text(study.to_toml(), encoding="utf-8")
    command = [sys.executable, "-c", LIMITED, str(2**30), "study", str(tmp_path / "mine.toml")]
    done = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2, done.stderr[-500:]
    assert done.stderr.startswith("exml: not enough memory (Unable to allocate")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
