"""Files in a folder of somebody else do not execute code, lead results elsewhere, or fill the memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from exml_sim._internal.files import write_file
from exml_sim.cli import cli, main
from exml_sim.engine import Study, run
from exml_sim.engine._fields import MAX_LIST

ROOT = Path(__file__).parents[1]
STUDY = """
trials = 10
strategies = ["uniform_allocation"]
budgets = {per_arm = [10]}
[[pools]]
kind = "parametric"
direction = "minimise"
means = [0.3, 0.5]
"""
TOUCH = "from pathlib import Path\nPath('marker').touch()\n"


def call(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `exml` in a folder, as the console script does."""
    program = [sys.executable, "-m", "exml_sim", *arguments]
    known = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(program, cwd=folder, env=known, capture_output=True, text=True, check=False)


def catch_error(*arguments: str) -> str:
    """Run a command in this process that must fail with one line; return the line."""
    done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    assert done.exit_code == 1
    message = str(done.exception)
    assert "\n" not in message
    return message


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study file in the current folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "study.toml"
    file.write_text(STUDY, encoding="utf-8")
    return file


@pytest.fixture
def store(study: Path) -> Path:
    """A store of the study."""
    file = study.with_name("study.sqlite")
    run(Study.from_toml(study), store=file, progress=False, n_jobs=1).close()
    return file


def test_settings_of_numba_in_the_folder_are_refused(study: Path) -> None:
    study.with_name(".numba_config.yaml").write_text("cache_dir: pickles\n", encoding="utf-8")
    done = call(study.parent, "study", "study.toml", "--out", "out", "--quiet")
    assert done.returncode == 2
    assert done.stderr == (
        "exml: the file .numba_config.yaml in this folder would change compiled code: remove it, or run elsewhere\n"
    )
    assert not study.with_name("pickles").exists()
    assert not study.with_name("out").exists()


def test_settings_of_matplotlib_in_the_folder_have_no_effect(store: Path) -> None:
    folder = store.parent
    programs = folder / "programs"
    programs.mkdir()
    for name in ("latex", "dvipng", "dvips", "kpsewhich"):
        (programs / name).write_text("#!/bin/sh\ntouch marker\nexit 1\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = call(folder, "plot", "study.sqlite", "--out", "plain", PATH=path)
    assert done.returncode == 0, done.stderr
    (folder / "evil.py").write_text(TOUCH, encoding="utf-8")
    settings = "text.usetex: True\nbackend: module://evil\nlines.linestyle: :\naxes.facecolor: red\nnonsense\n"
    (folder / "matplotlibrc").write_text(settings, encoding="utf-8")
    done = call(folder, "plot", "study.sqlite", "--out", "planted", PATH=path)
    assert done.returncode == 0, done.stderr
    assert "matplotlibrc" not in done.stderr
    assert not (folder / "marker").exists()
    for file in sorted((folder / "plain").iterdir()):
        assert file.read_bytes() == (folder / "planted" / file.name).read_bytes()


def test_modules_in_the_folder_do_not_run_in_worker_processes(study: Path) -> None:
    marker = study.with_name("marker")
    for name in ("numpy", "cloudpickle"):
        study.with_name(f"{name}.py").write_text(f"open({str(marker)!r}, 'w')\nraise ImportError\n", encoding="utf-8")
    options = ("--backend", "processes", "--n-jobs", "2", "--no-report", "--out", "out", "--quiet")
    done = call(study.parent, "study", "study.toml", *options)
    assert done.returncode == 0, done.stderr
    assert not marker.exists()


#: What each command writes, and its arguments.
OUTPUTS = {
    "study": (
        ("study", "study.toml", "--out", "out", "--quiet", "--n-jobs", "1"),
        ("study.toml", "study.sqlite", "summary.csv", "failure_rate.png", "failure_rate.svg", "report.html"),
    ),
    "report": (("report", "study.sqlite", "--out", "out/page.html"), ("page.html",)),
    "plot": (
        ("plot", "study.sqlite", "--out", "out", "--format", "pdf"),
        ("failure_rate.pdf", "failure_rate.csv"),
    ),
    "merge": (("merge", "study.sqlite", "--out", "out/all.sqlite"), ("all.sqlite",)),
    "data": (("data", "--out", "out/table.csv", "--force"), ("table.csv",)),
}
EXPLORE = (
    *("explore", "table.csv", "--label", "y", "--observed", "x1,x2", "--candidate", "a=a10:1"),
    *("--candidate", "b=a90:1", "--preset", "paper", "--budget", "100", "--out", "out"),
)


def plant_links(folder: Path, *names: str) -> Path:
    """Make links of these names to a file with a text, and return that file."""
    victim = folder.with_name("victim")
    victim.write_text("precious", encoding="utf-8")
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).symlink_to(victim)
    return victim


@pytest.mark.parametrize(("command", "name"), [(key, name) for key, (_, names) in OUTPUTS.items() for name in names])
def test_results_are_not_written_through_links(store: Path, command: str, name: str) -> None:
    """Each output in turn is a link to a file elsewhere, which stays as it was."""
    victim = plant_links(store.with_name("out"), name, f".{name}.part")
    assert "is a symbolic link, and results are not written through links" in catch_error(*OUTPUTS[command][0])
    assert victim.read_text(encoding="utf-8") == "precious"


def test_explore_and_predict_do_not_write_through_links(study: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(cli, ["data", "--out", "table.csv"]).exit_code == 0
    names = ("ledger.csv", "purchases.csv", "predictions.csv", "report.md", "report.html")
    hidden = [f".{name}.part" for name in (*names, "model.npz")]
    victim = plant_links(study.with_name("out"), *names, "model.npz", *hidden)
    done = runner.invoke(cli, [*EXPLORE, "--force"])
    # An earlier result of these names is removed first, and so is a link.
    assert done.exit_code == 0, done.output
    assert victim.read_text(encoding="utf-8") == "precious"
    assert not any(file.is_symlink() for file in victim.with_name("out").iterdir())
    plant_links(study.with_name("out"), "new.csv")
    model = str(Path("out/model.npz"))
    assert "symbolic link" in catch_error("predict", model, "table.csv", "--out", "out/new.csv", "--force")
    assert victim.read_text(encoding="utf-8") == "precious"
    missing, other = victim.with_name("missing"), victim.with_name("other")
    other.mkdir()
    (other / "journal.jsonl").symlink_to(missing)
    assert "symbolic link" in catch_error(*EXPLORE[:-1], "other")
    assert not missing.exists()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal", "-new", "-new-wal"])
def test_side_files_of_a_store_are_not_written_through_links(store: Path, suffix: str) -> None:
    """A run is refused in one line or removes the link."""
    victim, missing = plant_links(store.with_name("out")), store.with_name("missing")
    for place in (victim, missing):
        link = store.parent / "out" / f"study.sqlite{suffix}"
        link.symlink_to(place)
        done = CliRunner().invoke(cli, [*OUTPUTS["study"][0], "--no-report"], standalone_mode=False)
        assert done.exception is None or "\n" not in str(done.exception)
        assert victim.read_text(encoding="utf-8") == "precious"
        assert not missing.exists()
        for file in store.with_name("out").iterdir():
            file.unlink()


def test_linked_folders_inside_of_the_results_are_refused(study: Path) -> None:
    data, elsewhere = study.with_name("data"), study.with_name("elsewhere")
    for folder in (data, elsewhere, study.with_name("out")):
        folder.mkdir()
    (data / "seen.csv").write_text("a,b\n1,0.5\n0,-0.5\n", encoding="utf-8")
    pool = '[[pools]]\nkind = "rewards"\nfile = "data/seen.csv"\n'
    study.write_text(STUDY.partition("[[pools]]")[0] + pool, encoding="utf-8")
    for name in ("data", "store"):
        study.with_name("out").joinpath(name).symlink_to(elsewhere)
    assert "out/data is a symbolic link" in catch_error(*OUTPUTS["study"][0])
    assert "out/store is a symbolic link" in catch_error("verify", "lemma-1-i", "--out", "out")
    assert list(elsewhere.iterdir()) == []


def test_a_lock_does_not_make_a_file_elsewhere(store: Path) -> None:
    missing = store.with_name("missing")
    store.with_name("study.sqlite-driver").symlink_to(missing)
    with pytest.raises(ValueError, match="cannot write a store"):
        run(Study.from_toml(store.with_name("study.toml")), store=store, progress=False, n_jobs=1)
    assert not missing.exists()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted error: writing that fails leaves the old file, nothing beside it, and an error with the file's name."""
    file = tmp_path / "f"
    write_file(file, "old")

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space") as error:
        write_file(file, "new")
    assert error.value.filename == str(file)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert file.read_text(encoding="utf-8") == "old"
    write_file(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_reported_with_the_name_of_the_file(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["report", str(store), "--out", "/dev/full"])
    assert (stop.value.code, capsys.readouterr().err) == (2, "exml: /dev/full: no space left on device\n")


MANY_SWEEPS = ", ".join(['{name = "top_two", sweep = {a = [VALUES], b = [VALUES]}}'] * 300)


@pytest.mark.parametrize(
    ("strategies", "sweep_of_pool"),
    [
        ('[{name = "top_two", sweep = {SWEEP}}]', ""),
        (f"[{MANY_SWEEPS}]", ""),
        ('["uniform_allocation"]', "sweep = {K = [VALUES], gap = [VALUES], sd = [VALUES], cost_ratio = [VALUES]}\n"),
    ],
)
def test_products_of_options_are_limited_before_they_are_built(strategies: str, sweep_of_pool: str) -> None:
    """These would have 10^40, 3 * 10^6 and 10^8 entries."""
    values = ", ".join(map(str, range(100)))
    sweep = ", ".join(f"a{number} = [{values}]" for number in range(20))
    text = STUDY.replace('["uniform_allocation"]', strategies).replace("[[pools]]\n", f"[[pools]]\n{sweep_of_pool}")
    text = text.replace("SWEEP", sweep).replace("VALUES", values)
    with pytest.raises(ValueError, match=f"at most {MAX_LIST:,}") as error:
        Study.from_toml(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("place", ["..", "absolute", "link", "linked folder"])
def test_data_outside_of_the_folder_of_a_study_file_is_refused(study: Path, place: str) -> None:
    home = study.with_name("home")
    home.mkdir()
    (study.parent / "seen.csv").write_text("a,b\n1,0.5\n0,-0.5\n", encoding="utf-8")
    (home / "link.csv").symlink_to(study.parent / "seen.csv")
    (home / "folder").symlink_to(study.parent)
    outside = {"..": "../seen.csv", "absolute": str(study.parent / "seen.csv"), "link": "link.csv"}
    name = outside.get(place, "folder/seen.csv")
    text = STUDY.partition("[[pools]]")[0] + f'[[pools]]\nkind = "rewards"\nfile = {name!r}\n'
    (home / "study.toml").write_text(text, encoding="utf-8")
    message = catch_error("study", str(home / "study.toml"), "--out", "out", "--quiet")
    assert message == f"the data file {name!r} lies outside of the study's folder: copy it there"
    (home / "study.toml").write_text(text.replace(name, "own.csv"), encoding="utf-8")
    (home / "own.csv").write_text("a,b\n1,0.5\n0,-0.5\n", encoding="utf-8")
    assert Study.from_toml(home / "study.toml").used_plugins[0].name == "own.csv"
    # In Python, who writes the path is who runs the study.
    table = {"trials": 10, "strategies": ["uniform_allocation"], "budgets": {"per_arm": [10]}}
    table |= {"pools": [{"kind": "rewards", "file": str(study.parent / "seen.csv")}]}
    assert Study.from_table(table).used_plugins


@pytest.mark.filterwarnings("error")
def test_control_characters_of_labels_are_replaced_in_pictures(tmp_path: Path) -> None:
    from simulations.figures import style

    picture = style.blank()
    picture.subplots().set_title("a\x07b\n\x1bc")
    (file,) = style.save(picture, tmp_path / "picture", ("svg",))
    text = file.read_text(encoding="utf-8")
    assert "a\N{REPLACEMENT CHARACTER}b" in text
    assert "\x07" not in text
