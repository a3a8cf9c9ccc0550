"""The mutation run: what it changes, which tests a mutant meets, and what counts as caught."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutate import ROOT, TARGETS, find_context, list_files, list_mutants, read_equivalent

#: The core; TARGETS may have more.
CORE = (
    *("money", "ledger", "_ranking", "_sampling", "trial_batch", "_certificates"),
    *("accept_reject", "median_elimination", "ocba", "successive_rejects", "top_two", "ugap", "uniform"),
    *("value_of_information", "formulas", "paper", "corrected", "tighter", "budgets", "exact", "_tails"),
)

SOURCE = '''
"""A module of a shop."""

LIMIT = 10


def price(number: int, cost: float = 2.0) -> float:
    if number < 0:
        raise ValueError(f"{number + 1}")
    while number > LIMIT:
        number -= 5
    return min(number * cost, 9)


@kernel
def count(values):
    return all(values) or not values


class Shop:
    is_open = True

    def close(self):
        self.is_open = not True
'''
TESTS = """
import pytest
import shop


@pytest.mark.parametrize("number", [0, 3])
def test_price(number):
    assert shop.price(number) == 2 * number


def test_many():
    assert shop.price(11) == 9


def test_shop():
    assert shop.Shop.is_open
"""


def test_targets_are_the_core() -> None:
    assert set(CORE) <= {Path(module).stem for module in TARGETS}
    for module, tests in TARGETS.items():
        assert (ROOT / module).is_file(), module
        assert list_files(tests)
    with pytest.raises(FileNotFoundError, match="correct TARGETS"):
        list_files(["tests/nothing_here"])


def test_every_change_is_one_other_expression() -> None:
    mutants = list(list_mutants("shop.py", SOURCE))
    trees = {ast.dump(ast.parse(mutant.source)) for mutant in mutants}
    assert ast.dump(ast.parse(SOURCE)) not in trees
    assert len(trees) == len(mutants)
    changes = {f"{mutant.before} -> {mutant.after}" for mutant in mutants}
    assert changes == {
        *("10 -> 11", "2.0 -> 3.0", "0 -> 1", "number < 0 -> number <= 0", "number < 0 -> number > 0", "5 -> 6"),
        *("number > LIMIT -> number >= LIMIT", "number > LIMIT -> number < LIMIT", "9 -> 10"),
        *("min(number * cost, 9) -> max(number * cost, 9)", "number * cost -> number / cost", "True -> False"),
        *("all(values) or not values -> all(values) and (not values)", "all(values) -> any(values)"),
    }
    assert mutants[0].name == "shop.py: LIMIT = 10: 10 -> 11"


def test_the_function_of_a_line() -> None:
    places = {line: find_context(SOURCE, line) for line in range(1, SOURCE.count("\n") + 1)}
    lines = SOURCE.splitlines()
    assert places[lines.index("LIMIT = 10") + 1] == (None, ("count",))
    assert places[lines.index("def price(number: int, cost: float = 2.0) -> float:") + 1] == (None, ("count",))
    assert places[lines.index("    while number > LIMIT:") + 1] == ("price", ())
    assert places[lines.index("    return all(values) or not values") + 1] == (None, ("count",))
    assert places[lines.index("        self.is_open = not True") + 1] == ("Shop.close", ())


def test_equivalent_mutants_exist_and_have_a_reason() -> None:
    """An entry whose line has changed must be judged anew."""
    names = {
        mutant.name
        for module in TARGETS
        for mutant in list_mutants(module, (ROOT / module).read_text(encoding="utf-8"))
    }
    entries = read_equivalent()
    assert set(entries) - names == set()
    assert [name for name, reason in entries.items() if len(reason.split()) < 4] == []


RUN = """
import os, sys
from pathlib import Path
from tools import _mutation_tests as run
run.LOOP_SECONDS = 1.5
root, source = Path.cwd(), Path("shop.py").read_text()
tests = run.record_tests(root, ["shop.py"], ["test_shop.py"])
for place, (function, change) in enumerate({
    "harmless": ("price", ("number < 0", "number < -1")),
    "wrong": ("price", ("number * cost", "number / cost")),
    "endless": ("price", ("number -= 5", "number -= 0")),
    "broken": (None, ("LIMIT = 10", "LIMIT = 1 / 0")),
    "never called": ("Shop.close", ("not True", "not False")),
}.values()):
    chosen = run.choose_tests(tests, "shop.py", function, ["test_shop.py"])
    output = root / f"output{place}"
    child = run.start_mutant(root, "shop.py", source.replace(*change), chosen, (), output)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, len(chosen), (output.read_text().splitlines() or [""])[-1].rpartition(":")[2])
print(Path("shop.py").read_text() == source)
"""


def test_planted_errors_are_caught_in_a_process_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small project; an endless loop ends by its processor time, and the file itself is never changed."""
    (tmp_path / "shop.py").write_text(SOURCE.replace("@kernel\n", ""), encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(TESTS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    harmless, wrong, endless, broken, never, is_unchanged = done.stdout.splitlines()[-6:]
    assert harmless.startswith("0 3 ")
    # Either test notices it; the one that was faster when it was recorded runs first.
    assert wrong.startswith("1 3 test_")
    assert endless.startswith("-27 3 ")
    assert broken.startswith("1 4 ")
    assert never.startswith("2 0 ")
    assert is_unchanged == "True"
