"""Random study files and command lines from a grammar: an answer, or one line of error, within five seconds."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import tempfile
from collections import Counter
from collections.abc import Iterator
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
        "0x10",
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


_THETAS = _mostly(st.floats(0.01, 0.49))
_COSTS = _mostly(st.lists(st.sampled_from(["1", "0.5", "1/3", 2, 0.95]), min_size=2, max_size=2))
_KNOWN = st.fixed_dictionaries(
    {"kind": st.just("parametric"), "means": _mostly(st.lists(st.floats(0, 1), min_size=2, max_size=2))},
    optional={
        "sd": _mostly(st.floats(0, 2)),
        "costs": _COSTS,
        "label": _mostly(st.just("arms")),
    },
)
_FINITE = st.fixed_dictionaries(
    {
        "kind": st.just("parametric"),
        "values": _mostly(st.just([0, 0.5, 1])),
        "probabilities": _mostly(st.just([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])),
    },
    optional={"costs": _COSTS},
)
_ATOMS = st.fixed_dictionaries(
    {
        "kind": st.just("finite_support"),
        "values": _mostly(st.just([[1, 0.5], [0.25, 0.75]])),
        "y": _mostly(st.just([1, -1])),
    },
    optional={
        "copies": _mostly(st.lists(st.integers(1, 9), min_size=2, max_size=2)),
        "costs": _COSTS,
        "kernel": _mostly(st.sampled_from(["linear", "gaussian"])),
        "gamma": _mostly(st.sampled_from(["median", 0.5])),
    },
)
_SYNTHETIC = st.fixed_dictionaries(
    {
        "kind": _mostly(st.just("synthetic")),
        "per_class": _mostly(st.integers(1, 6)),
        "angles": _mostly(st.just([9, 90])),
    },
    optional={
        "a": _mostly(st.floats(0.1, 3)),
        "sigma": _mostly(st.floats(0.1, 3)),
        "seed": _mostly(st.integers(0, 5)),
        "costs": _COSTS,
    },
)
_MFEAT = st.fixed_dictionaries(
    {"kind": st.just("mfeat"), "per_class": _mostly(st.integers(1, 6)), "candidates": _mostly(st.just(["mor", "zer"]))},
    optional={"hidden": _mostly(st.integers(2, 9)), "observed": _mostly(st.just("kar")), "costs": _COSTS},
)
_DATASET = st.fixed_dictionaries(
    {"kind": st.just("dataset"), "name": _mostly(st.sampled_from(["graded", "synthetic", "mfeat"]))},
    optional={"options": _mostly(st.sampled_from([{"gaps": [0.0, 0.1], "ball": 0.3, "rows": 8}, {"per_class": 4}]))},
)
_POOL = st.one_of(_KNOWN, _FINITE, _ATOMS, _SYNTHETIC, _MFEAT, _DATASET)
_RULE = st.one_of(
    st.sampled_from(_STRATEGIES),
    st.fixed_dictionaries(
        {"name": _mostly(st.sampled_from(["uniform_allocation", "top_two", "median_elimination"]))},
        optional={"alignment": _mostly(st.sampled_from(["sample", "budget"]))},
    ),
    st.fixed_dictionaries(
        {"name": st.just("top_two"), "rounds": _mostly(st.integers(1, 9)), "first_round_share": _ODD}
    ),
)
_SCORE = st.one_of(
    st.fixed_dictionaries({"theta": _THETAS, "ball": _mostly(st.floats(0.01, 2))}),
    st.fixed_dictionaries(
        {"theta": _THETAS, "score": _mostly(st.sampled_from(["risk", "objective"]))},
        optional={"penalty": _mostly(st.just([1, 0.5])), "loss": _mostly(st.sampled_from(["sum", "mean"]))},
    ),
)
STUDIES = st.fixed_dictionaries(
    {
        "pools": _mostly(st.lists(_POOL, min_size=1, max_size=2)),
        "strategies": _mostly(st.lists(_RULE, min_size=1, max_size=2)),
        "scores": _mostly(st.lists(_SCORE, min_size=1, max_size=2)),
        "trials": _mostly(st.integers(1, 5)),
        "budgets": _mostly(
            st.fixed_dictionaries(
                {"per_arm": _mostly(st.lists(_mostly(st.integers(6, 30)), min_size=1, max_size=2))},
                optional={"absolute": _mostly(st.just([17, "12.5"]))},
            )
        ),
    },
    optional={
        "sampling": _mostly(st.just({"rows": "independent", "replacement": "never"})),
        "seed": _mostly(st.integers(0, 9)),
        "mode": _mostly(st.sampled_from(["monte_carlo", "exact", "importance_sampling"])),
        "stop": _mostly(st.just({"bound": 0.1, "check_every": 2})),
        "name": _mostly(st.just("mine")),
    },
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

    name, share, timeout = "studies", 0.2, HANG

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

    name, share, timeout = "commands", 0.05, HANG
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
