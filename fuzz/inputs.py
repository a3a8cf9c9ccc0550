"""Valid study files and command lines with odd parts: an answer, or one line of error, within five seconds."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tomli_w import dumps as to_toml

from exml_sim.cli import main
from exml_sim.engine import Study, run
from exml_sim.money import exact
from fuzz.fuzzer import Finding, Fuzzer, expect, mix

ODD_TEXTS = st.sampled_from(
    ["", "x", "\x00", "é", "\u2028", "..", "a/b", "CON", "-rf", "$(x)", "-inf", "1e999999999", "9" * 5000, "1/0", " 7 "]
) | st.sampled_from([201, 2000, 10**5]).map(lambda n: "n" * n)
ODD_NUMBERS = st.floats() | st.sampled_from(
    [0, -1, 2**31, 2**63, 2**64, 10**9, 10**12, 10**30, 10**300, 10**4000, 5e-324, 1e-300, 1e308, 0.4999999999]
)
_ODD_LISTS = st.sampled_from([[[]], [[1], [2, 3]], [], [[[[1]]]], [1] * 10_001, {}, {"a": [1]}])
ODD_VALUES = st.one_of(ODD_NUMBERS, ODD_TEXTS, st.booleans(), _ODD_LISTS)


def _parts(whole: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every part of tables and short lists as a container and a key."""
    if isinstance(whole, dict | list) and len(whole) < 100:
        for key, part in list(whole.items() if isinstance(whole, dict) else enumerate(whole)):
            yield whole, key
            yield from _parts(part)


@st.composite
def change_parts(draw: Any, examples: Sequence[Any], odd: st.SearchStrategy[Any], most: int = 4) -> Any:
    """Draw an example in which parts are replaced, by parts of other examples and odd values, removed or repeated."""

    def pick(options: Sequence[Any]) -> Any:
        return options[draw(st.integers(0, len(options) - 1))]

    whole = copy.deepcopy(pick(examples))
    for _ in range(draw(st.integers(0, most))):
        if not (places := list(_parts(whole))):
            break
        place, key = pick(places)
        kind, action = type(place[key]), draw(st.integers(0, 9))
        alike = [other[at] for example in examples for other, at in _parts(example) if type(other[at]) is kind]
        if action == 0:
            del place[key]
        elif action == 1 and isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        elif action == 2 or not alike:
            place[key] = copy.deepcopy(draw(odd))
        else:
            place[key] = copy.deepcopy(pick(alike))
    return whole


_STRATEGIES = ["uniform_allocation", "median_elimination"]
_REST: dict[str, Any] = {"strategies": _STRATEGIES, "budgets": {"per_arm": [3, 12]}, "trials": 2}
_PARAMETRIC: dict[str, Any] = {"kind": "parametric", "means": [0.2, 0.7]}
_ROWS = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, -1], "kernel": "gaussian"}
_DISCRETE = {"kind": "parametric", "values": [0, 0.5, 1], "probabilities": [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]}
_GRADED = {"kind": "dataset", "name": "graded", "options": {"gaps": [0.0, 0.1], "ball": 0.3, "rows": 8}}
_DIGITS = {"kind": "dataset", "name": "mfeat", "options": {"per_class": 3, "digits": [0, 1], "candidates": ["zer"]}}
_SYNTHETIC = {"kind": "synthetic", "per_class": 4, "angles": [9, 90], "a": 1.0, "sigma": 0.5, "seed": 1}
_TOP_TWO = {"name": "top_two", "rounds": 3, "first_round_share": 0.3, "alignment": "budget"}
_PENALISED = {"score": "risk", "theta": 0.2, "penalty": [1, 0.5], "loss": "mean"}
_BALLS = [{"ball": 0.1, "theta": 0.3}, {"ball": 2.0}]
_MODES = ("monte_carlo", "exact", "importance_sampling")
#: Studies with every pool, score, sampling and mode.
STUDIES: list[dict[str, Any]] = [
    *(
        {"pools": [pool], "mode": mode, **_REST}
        for mode in _MODES
        for pool in (_PARAMETRIC, _PARAMETRIC | {"sd": 1.0, "costs": ["1/3", 2], "label": "arms"}, _DISCRETE)
    ),
    *(
        {"pools": [_ROWS], "scores": [score], "mode": mode, "sampling": {"rows": rows}, **_REST}
        for mode in _MODES
        for score in (*_BALLS, _PENALISED, {"score": "objective"})
        for rows in ("same", "independent")
    ),
    {"pools": [_ROWS | {"copies": [3, 2]}], "sampling": {"replacement": "never"}, **_REST},
    {"pools": [_SYNTHETIC, _GRADED], "scores": _BALLS, "seed": 3, **_REST},
    {"pools": [_DIGITS], "scores": [_PENALISED], "name": "mine", **_REST},
    {"pools": [_DISCRETE], **_REST, "strategies": ["successive_rejects", _TOP_TWO]},
    {"pools": [_PARAMETRIC], "stop": {"bound": 0.1, "check_every": 2}, **_REST},
]
#: Texts that are no study.
_BROKEN = ["a = " + "[" * 100_000, "a = 0x" + "f" * 9000, "=", "\ufeff", "[[pools]]\n" * 20_000, "a.b.c"]


class StudyFiles(Fuzzer):
    """Random study files: read, checked, and run if they are small."""

    name, share, batch, is_interruptible = "studies", 0.2, 20, True
    cases = mix(change_parts(STUDIES, ODD_VALUES), st.sampled_from(_BROKEN), 60)

    def __init__(self) -> None:
        super().__init__()
        logging.disable(logging.WARNING)
        # Compilation is slow, but no hang.
        for table in STUDIES:
            with contextlib.suppress(ValueError):
                run(Study.from_table(table), n_jobs=1, progress=False).close()

    def judge(self, case: Any) -> Counter[str]:
        """Check that a study is accepted, and run if it is small, or refused in one line."""
        done = Counter[str]()

        def read_and_run() -> None:
            study = Study.from_toml(text)
            cells = study.check()
            if _is_small(study, len(cells)):
                run(study, n_jobs=1, progress=False).close()
                done["run"] += 1

        try:
            text = case if isinstance(case, str) else to_toml(case)
        except (TypeError, AttributeError):
            return Counter({"no TOML": 1})
        done[expect(ValueError, read_and_run, None)] += 1
        return done


def _is_small(study: Study, cells: int) -> bool:
    pulls = [exact(cell.budget) / min(study.pool(cell).prices.exact_costs) for cell in study.cells()]
    enumerated = study.mode == "exact" and max(pulls) > 40
    return cells <= 8 and study.trials <= 5 and max(pulls) <= 2000 and not enumerated


_PROBLEM = "--K=8 --theta=0.1 --kappa-lambda=0.5 --gap=0.2"
COMMANDS = [
    line.split()
    for line in (
        f"bound {_PROBLEM} --budget=16000 --json",
        "bound --K=4 --theta=0.2 --kappa-lambda=0.4 --gaps=0.1,0.15,0.2 --budget=9000 --kernel=nonnegative",
        f"bound {_PROBLEM} --budget=1000000000000000000 --strategy=both --population=any --rows=fresh",
        f"plan {_PROBLEM} --delta=1e-300",
        f"plan {_PROBLEM} --delta=0.05 --strategy=uniform --trials=2 --seed=1 --json",
        "report nowhere.sqlite --out . --quiet",
        "plot Makefile --figure x --out /dev/null",
        "merge nowhere.sqlite tests --out x --json",
        "predict Makefile nowhere.csv --out x --force",
        "falsify --evaluations=0 --seconds=-1 --list",
        "falsify --replay Makefile",
    )
]


class CommandLines(Fuzzer):
    """Random command lines that run no trials."""

    name, share, batch = "commands", 0.05, 20
    # A plan without problem parameters would run trials, and no shell can pass a null character.
    cases = change_parts(COMMANDS, st.one_of(ODD_NUMBERS.map(str), ODD_TEXTS)).map(
        lambda words: [word.replace("\x00", "") for word in words] + ["--gap=0.1"] * ("plan" in words)
    )

    def judge(self, case: Any) -> Counter[str]:
        """Check for exit code 0, 1 or 2, and one line of error."""
        err, code = io.StringIO(), None
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("Makefile").write_text("x")
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
                    main(case)
            except SystemExit as stop:
                code = int(stop.code or 0)
        message = err.getvalue()
        if code not in (0, 1, 2) or (code == 2 and (message.count("\n") != 1 or not message.startswith("exml: "))):
            raise Finding(f"exml {' '.join(case)[:200]}: exit code {code}, {message[:200]!r}")
        return Counter({f"exit code {code}": 1})
