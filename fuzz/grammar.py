"""Random study files and command lines from a grammar: an answer, or one line of error, within five seconds."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tomli_w import dumps as to_toml

from exml_sim.cli import main
from exml_sim.engine import Study, run
from exml_sim.money import exact
from fuzz.case import HANG, Finding, check_message

_STRATEGIES = ["uniform_allocation", "median_elimination", "successive_rejects", "top_two"]

_TEXTS = st.sampled_from(
    [
        "",
        "x",
        "\x00",
        "é",
        "\u2028",
        "..",
        "a/b",
        "CON",
        "-rf",
        "$(x)",
        "-inf",
        "1e999999999",
        "9" * 5000,
        "/",
        "1/0",
        " 7 ",
    ]
)
_LONG = st.sampled_from([201, 10**3, 10**3, 10**4, 10**4, 10**6]).map(lambda n: "n" * n)
_NUMBERS = st.one_of(
    st.integers(-3, 40),
    st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**9, 10**12, 10**30, 10**300, 10**4000]),
    st.floats(),
    st.sampled_from([5e-324, 1e-300, 1e308, 0.4999999999, 0.5]),
)
_LISTS = st.one_of(
    st.lists(st.integers(-2, 9), max_size=6), st.sampled_from([[[]], [[1], [2, 3]], [], [[[[1]]]], [1] * 10_001])
)
_ODD = st.one_of(_NUMBERS, _TEXTS, _LONG, _LISTS, st.booleans(), st.just({}), st.just({"a": [1]}))


def _mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a usual value, or now and then anything."""
    return st.integers(0, 29).flatmap(lambda number: _ODD if number == 17 else usual)


def _table(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a table; values other than strategies are usual ones, and every value may be anything."""
    parts = [
        {
            name: _mostly(value if isinstance(value, st.SearchStrategy) else st.just(value))
            for name, value in part.items()
        }
        for part in (required, optional)
    ]
    return st.fixed_dictionaries(parts[0], optional=parts[1])


_THETAS = st.floats(0.01, 0.49)
_COSTS = st.lists(st.sampled_from(["1", "0.5", "1/3", 2, 0.95]), min_size=2, max_size=2)
_MEANS = st.lists(st.floats(0, 1), min_size=2, max_size=2)
_PARTS = [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]
_GRADED = {"gaps": [0.0, 0.1], "ball": 0.3, "rows": 8}
_POOL = st.one_of(
    _table({"kind": "parametric", "means": _MEANS}, sd=st.floats(0, 2), costs=_COSTS, label="arms"),
    _table({"kind": "parametric", "values": [0, 0.5, 1], "probabilities": _PARTS}, costs=_COSTS),
    _table(
        {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, -1]},
        copies=st.lists(st.integers(1, 9), min_size=2, max_size=2),
        costs=_COSTS,
        kernel=st.sampled_from(["linear", "gaussian"]),
        gamma=st.sampled_from(["median", 0.5]),
    ),
    _table(
        {"kind": "synthetic", "per_class": st.integers(1, 6), "angles": [9, 90]},
        a=st.floats(0.1, 3),
        sigma=st.floats(0.1, 3),
        seed=st.integers(0, 5),
        costs=_COSTS,
    ),
    _table(
        {"kind": "dataset", "name": st.sampled_from(["graded", "synthetic", "mfeat"])},
        options=st.sampled_from(
            [_GRADED, {"per_class": 4}, {"per_class": 3, "digits": [0, 1, 9], "candidates": ["zer"]}]
        ),
    ),
)
_RULE = st.one_of(
    st.sampled_from(_STRATEGIES),
    _table({"name": st.sampled_from(_STRATEGIES)}, alignment=st.sampled_from(["sample", "budget"])),
    _table({"name": "top_two", "rounds": st.integers(1, 9), "first_round_share": _ODD}),
)
_SCORE = st.one_of(
    _table({"theta": _THETAS, "ball": st.floats(0.01, 2)}),
    _table(
        {"theta": _THETAS, "score": st.sampled_from(["risk", "objective"])},
        penalty=[1, 0.5],
        loss=st.sampled_from(["sum", "mean"]),
    ),
)
_BUDGETS = _table({"per_arm": st.lists(_mostly(st.integers(6, 30)), min_size=1, max_size=2)}, absolute=[17, "12.5"])
STUDIES = _table(
    {
        "pools": st.lists(_POOL, min_size=1, max_size=2),
        "strategies": st.lists(_RULE, min_size=1, max_size=2),
        "scores": st.lists(_SCORE, min_size=1, max_size=2),
        "trials": st.integers(1, 5),
        "budgets": _BUDGETS,
    },
    sampling={"rows": "independent", "replacement": "never"},
    seed=st.integers(0, 9),
    mode=st.sampled_from(["monte_carlo", "exact", "importance_sampling"]),
    stop={"bound": 0.1, "check_every": 2},
    name="mine",
)
#: Texts that are no study.
_BROKEN = st.sampled_from(
    ["a = " + "[" * 100_000, "a = 0x" + "f" * 9000, "=", "\ufeff", "[[pools]]\n" * 20_000, "a.b.c"]
)

_WORDS = st.one_of(_NUMBERS.map(str), _TEXTS, st.sampled_from(["0.1", "8", "both", "any", "nowhere.sqlite", "--json"]))


def _command(name: str, options: list[str], arguments: int = 0) -> st.SearchStrategy[list[str]]:
    pair = st.tuples(st.sampled_from(options), _WORDS)
    given_options = st.lists(pair, max_size=6).map(lambda pairs: [word for pair in pairs for word in pair])
    files = st.lists(st.sampled_from(["nowhere.sqlite", "tests", "Makefile", "/dev/null", ""]), max_size=arguments)
    return st.tuples(files, given_options).map(lambda both: [name, *both[0], *both[1]])


_POINT = ["--K", "--theta", "--kappa-lambda", "--gap", "--gaps", "--strategy", "--kernel", "--rows", "--population"]
_WELL = st.builds(
    lambda command, K, theta, r, gap, more: [
        command,
        *(f"--{name}={value}" for name, value in {"K": K, "theta": theta, "kappa-lambda": r, "gap": gap}.items()),
        *more,
    ],
    st.sampled_from(["bound", "plan"]),
    _mostly(st.integers(2, 200)),
    _mostly(st.floats(0.001, 0.4999999)),
    _mostly(st.floats(0.001, 50)),
    _mostly(st.floats(1e-6, 1)),
    st.sampled_from([["--budget=16000"], ["--budget=1000000000000000000"], ["--delta=1e-300"], ["--delta=0.05"], []]),
)
COMMANDS = st.one_of(
    _WELL,
    _command("bound", [*_POINT, "--budget", "--json"]),
    # With a gap, because a plan without any problem parameters runs trials.
    _command("plan", [*_POINT, "--delta", "--store", "--trials", "--seed"]).map(lambda words: [*words, "--gap=0.1"]),
    _command("report", ["--out", "--quiet"], 2),
    _command("plot", ["--figure", "--out"], 2),
    _command("merge", ["--out", "--json"], 3),
    _command("predict", ["--out", "--force"], 3),
    _command("falsify", ["--replay", "--evaluations=0", "--seconds=-1", "--list"], 1),
    st.lists(_WORDS, min_size=1, max_size=3).filter(lambda words: words[0] not in ("", "--json")),
)


def _warm() -> Iterator[dict[str, Any]]:
    """Yield one study for every compiled path: compilation is slow, but no hang."""
    pools: list[dict[str, Any]] = [
        {"kind": "parametric", "means": [0.2, 0.7]},
        {"kind": "parametric", "means": [0.2, 0.7], "sd": 1.0},
        {"kind": "parametric", "values": [0, 1], "probabilities": [[0.5, 0.5], [0.2, 0.8]]},
        {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, -1], "kernel": "gaussian"},
    ]
    scores: list[dict[str, Any]] = [{"ball": 0.1}, {"ball": 2.0}, {"score": "risk"}, {"score": "objective"}]
    rest = {"strategies": _STRATEGIES[:2], "budgets": {"per_arm": [3]}, "trials": 2}
    for mode in ("monte_carlo", "exact", "importance_sampling"):
        for pool in pools[:3]:
            yield {"pools": [pool], "mode": mode, **rest}
        for score, rows in itertools.product(scores, ("same", "independent")):
            yield {"pools": pools[3:], "scores": [score], "mode": mode, "sampling": {"rows": rows}, **rest}


class StudyFiles:
    """Random study files: read, checked, and run if they are small."""

    name, share, timeout, is_interruptible = "studies", 0.2, HANG, True

    def __init__(self) -> None:
        logging.disable(logging.WARNING)
        for table in _warm():
            with contextlib.suppress(ValueError):
                run(Study.from_table(table), n_jobs=1, progress=False).close()

    cases = st.integers(0, 60).flatmap(lambda number: _BROKEN if number == 17 else STUDIES)

    def judge(self, case: Any) -> Counter[str]:
        """Check that a study is accepted, and run if it is small, or refused in one line."""
        try:
            text = case if isinstance(case, str) else to_toml(case)
        except (TypeError, AttributeError):
            return Counter({"no TOML": 1})
        try:
            study = Study.from_toml(text)
            cells = study.check()
            if not _is_small(study, len(cells)):
                return Counter(accepted=1)
            run(study, n_jobs=1, progress=False).close()
        except ValueError as error:
            check_message(error)
            return Counter(refused=1)
        return Counter(run=1)


def _is_small(study: Study, cells: int) -> bool:
    pulls = [exact(cell.budget) / min(study.pool(cell).prices.exact_costs) for cell in study.cells()]
    enumerated = study.mode == "exact" and max(pulls) > 40
    return cells <= 8 and study.trials <= 5 and max(pulls) <= 2000 and not enumerated


class CommandLines:
    """Random command lines that run no trials."""

    name, share, timeout, is_interruptible = "commands", 0.05, HANG, False
    cases = COMMANDS

    def judge(self, case: Any) -> Counter[str]:
        """Check for exit code 0, 1 or 2, and one line of error."""
        words = case
        if any("\x00" in word for word in words):
            # No shell can pass it.
            return Counter({"no command line": 1})
        out, err = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            (Path(folder) / "Makefile").write_text("x")
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = _exit_code(words)
        message = err.getvalue()
        if code not in (0, 1, 2) or (code == 2 and (message.count("\n") != 1 or not message.startswith("exml: "))):
            raise Finding(f"exml {' '.join(words)[:200]}: exit code {code}, {message[:200]!r}")
        return Counter({f"exit code {code}": 1})


def _exit_code(words: list[str]) -> int:
    try:
        main(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    raise Finding("the command did not exit")


_COMMAND = "touch marker"
_ARGUMENTS = {"command": _COMMAND, "args": _COMMAND, "cmd": _COMMAND, "shell": True}
_KNOWN = {"kind": "parametric", "direction": "minimise", "means": [0.3, 0.5]}
#: Parts of a study that hold a name.
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "strategy": lambda name: {"strategies": [name]},
    "strategy with options": lambda name: {"strategies": [{"name": name, **_ARGUMENTS}]},
    "kind of pool": lambda name: {"pools": [{"kind": name, "options": _ARGUMENTS}]},
    "name of pool": lambda name: {"pools": [{"kind": "plugin", "name": name, "options": _ARGUMENTS}]},
    "data set": lambda name: {"pools": [{"kind": "dataset", "name": name, "options": _ARGUMENTS}]},
    "score": lambda name: {"scores": [{"score": name}]},
    "bound": lambda name: {"bounds": [name]},
}
_MODULES = st.sampled_from(sorted(sys.stdlib_module_names)) | st.sampled_from(["exml_sim.cli", "numpy.f2py", "..", ""])
_ATTRIBUTES = st.sampled_from(["main", "system", "run", "call", "exit", "eval", "exec", "loads", "Popen", "__class__"])


class Names:
    """Names of modules and functions in every place of a study that holds a name: nothing is imported or called."""

    name, share, timeout, is_interruptible = "names", 0.04, HANG, False
    cases = st.fixed_dictionaries(
        {
            "place": st.sampled_from(sorted(PLACES)),
            "module": _MODULES,
            "separator": st.sampled_from([":", ".", "/", ".py:", "::", "\u2028"]),
            "attribute": _ATTRIBUTES | _TEXTS,
        }
    )

    def judge(self, case: Any) -> Counter[str]:
        """Check for an error message of one line, without an import of the module and without a call."""
        name = f"{case['module']}{case['separator']}{case['attribute']}"
        study = {"strategies": ["uniform_allocation"], "pools": [_KNOWN], "budgets": {"per_arm": [10]}, "trials": 2}
        before = set(sys.modules)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                run(Study.from_table(study | PLACES[case["place"]](name)), n_jobs=1, progress=False).close()
            except ValueError as error:
                check_message(error)
            else:
                raise Finding(f"{name!r} was accepted")
            if case["module"] in set(sys.modules) - before or any(Path(folder).iterdir()):
                raise Finding(f"{name!r} was imported or called")
        return Counter({f"{case['place']} refused": 1})
