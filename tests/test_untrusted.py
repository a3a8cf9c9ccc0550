"""Names in a study, or in the study inside a store, never import or execute anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Runs in a process of its own, because an audit hook cannot be removed.
PROGRAM = '''
import contextlib, io, json, os, sqlite3, sys
from pathlib import Path
from exml_sim.cli import main
from exml_sim.engine import Study, run
from exml_sim.engine._schema import header_checksum

MODULES = [name for name in sorted(sys.stdlib_module_names) if not name.startswith("_")][::5]
MODULES = sorted({*MODULES, "os", "os.path", "subprocess", "builtins", "sys", "shutil", "pty", "runpy", "webbrowser"})
ATTRIBUTES = {"os": "system", "posix": "system", "subprocess": "run", "builtins": "exit", "sys": "exit",
              "shutil": "rmtree", "pty": "spawn", "runpy": "run_path", "webbrowser": "open", "pickle": "loads"}
STUDY = """
trials = 10
strategies = [STRATEGY]
budgets = {per_arm = [10]}
bounds = [BOUND]
[[pools]]
POOL
[[scores]]
SCORE
"""
KNOWN = 'kind = "parametric"\\ndirection = "minimise"\\nmeans = [0.3, 0.5]'
FINE = {"STRATEGY": '"uniform_allocation"', "BOUND": "", "POOL": KNOWN, "SCORE": "ball = 0.4"}
command = f"touch {Path('marker').resolve()}"
options = f'options = {{command = "{command}", args = "{command}", shell = true, cmd = "{command}"}}'
PLACES = {
    "strategy": {"STRATEGY": '"NAME"'},
    "strategy with options": {"STRATEGY": f'{{name = "NAME", {options}}}'},
    "kind of pool": {"POOL": f'kind = "NAME"\\n{options}'},
    "name of pool": {"POOL": f'kind = "plugin"\\nname = "NAME"\\n{options}'},
    "score": {"SCORE": 'score = "NAME"'},
    "bound": {"BOUND": '"NAME"'},
}


def text_of(parts):
    text = STUDY
    for part, value in (FINE | parts).items():
        text = text.replace(part, value)
    return text


def call(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as stop:
            return stop.code, err.getvalue().strip()
    return None, err.getvalue().strip()


def store_with(text, listed):
    """A store whose study has another text, with right checksums; perhaps the plug-in is listed, too."""
    Path("bad.sqlite").write_bytes(Path("good.sqlite").read_bytes())
    with contextlib.closing(sqlite3.connect("bad.sqlite")) as database, database:
        database.execute("UPDATE manifest SET value = ? WHERE key = 'study'", (text,))
        if listed:
            facts = [{"group": group, "name": listed, "version": "none", "digest": "0" * 64}
                     for group in ("exml_sim.strategies", "exml_sim.pools", "exml_sim.scores", "theory.bounds")]
            database.execute("UPDATE manifest SET value = ? WHERE key = 'plugins'", (json.dumps(facts),))
        head = database.execute("SELECT key, value FROM manifest WHERE key != 'checksum'").fetchall()
        cells = database.execute("SELECT * FROM cells ORDER BY cell").fetchall()
        database.execute("UPDATE manifest SET value = ? WHERE key = 'checksum'", (header_checksum(head, cells),))


def read_all(path):
    Path("merged.sqlite").unlink(missing_ok=True)
    return [call("report", path, "--out", "report.html"), call("plot", path, "--out", "pictures"),
            call("plan", "--store", path), call("merge", path, "--out", "merged.sqlite")]


# Everything that the commands import by themselves is imported before the hook counts.
Path("good.toml").write_text(text_of({}))
assert call("study", "good.toml", "--out", "warm", "--quiet")[0] == 0
Path("good.sqlite").write_bytes(Path("warm/study.sqlite").read_bytes())
assert [code for code, _ in read_all("good.sqlite")] == [0] * 4
assert call("plan", "good.toml", "--trials", "10")[0] == 0

forbidden = {"os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "pty.spawn",
             "webbrowser.open", "shutil.rmtree", "cpython.run_file"}
events = []


def hook(event, arguments):
    if event in forbidden or (event == "import" and arguments[0] in MODULES):
        events.append((event, arguments[0]))


sys.addaudithook(hook)
assert len(MODULES) >= 50
calls = 0
for number, module in enumerate(MODULES):
    name = f"{module}:{ATTRIBUTES.get(module, 'main')}"
    Path("marker.py").write_text("")
    for place, parts in PLACES.items():
        text = text_of({part: value.replace("NAME", name) for part, value in parts.items()})
        Path("bad.toml").write_text(text)
        commands = [("study", "bad.toml", "--out", "out", "--quiet"),
                    ("study", "bad.toml", "--out", "out", "--quiet", "--trust")]
        commands.append(("plan", "bad.toml", "--trials", "10"))
        # Every module in every place, by one command each; every fifth module by all of them.
        chosen = commands if number % 5 == 0 else commands[number % len(commands):][:1]
        answers = [call(*command) for command in chosen]
        if module == "os":
            store_with(text, "")
            answers += read_all("bad.sqlite")
        for code, message in answers:
            calls += 1
            assert code == 2, (name, place, code, message)
            assert message and "\\n" not in message, (name, place, message)
        if module == "os":
            store_with(text, name)
            assert all(code in (0, 2) for code, _ in read_all("bad.sqlite"))
    assert call("study", "good.toml", "--strategy", name, "--out", "out", "--quiet")[0] == 2
assert not events, events
assert not Path("marker").exists()
assert not Path("out").exists()
# The hook does see what it is for.
os.system("true")
__import__("symtable")
assert {event for event, _ in events} >= {"os.system"}, events
print(calls, "calls refused")
'''


def test_names_of_the_standard_library_are_refused_unseen(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-3]) > 450


def test_files_in_the_current_folder_do_not_run_in_place_of_ours(tmp_path: Path) -> None:
    for name in ("click", "simulations", "theory"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('marker').touch()\n", encoding="utf-8")
    command = [sys.executable, "-m", "exml_sim", "bound", "--K=2", "--gap=0.2", "--theta=0.1", "--kappa-lambda=0.5"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, "--budget=100"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "marker").exists()
