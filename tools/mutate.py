"""Test the tests: change the core at random and count which changes they catch.

``python -m tools.mutate [--number 200] [--seed 1] [--only NAME]`` works on copies in a temporary folder.
A mutant differs from the code in one operator, comparison, constant or call. The test files of its module must fail.
The run prints every survivor. It ends with 1 if fewer than 92 % of the mutants that are not equivalent were caught.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Fraction of the mutants that are not equivalent that must be caught.
TARGET = 0.92
#: Seconds after which a mutant counts as caught: it loops.
TIMEOUT = 240.0
#: Mutants that change nothing that can be observed, with the reason; written by hand after reading survivors.
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")

_STRATEGIES = ("tests/strategies", "tests/properties/test_strategies.py", "tests/test_mutants.py")
#: Modules of the core, and the test files that must notice a change.
TARGETS: Mapping[str, Sequence[str]] = {
    "exml_sim/money.py": ("tests/test_money.py", "tests/bandit/test_ledger.py", "tests/properties/test_strategies.py"),
    "exml_sim/bandit/ledger.py": ("tests/bandit/test_ledger.py", "tests/strategies/test_trial_batch.py"),
    "exml_sim/bandit/_ranking.py": ("tests/bandit/test_ranking.py", "tests/bandit/test_ties.py", *_STRATEGIES),
    "exml_sim/bandit/_sampling.py": ("tests/bandit/test_sampling.py", "tests/bandit/test_rows.py"),
    "exml_sim/bandit/trial_batch.py": _STRATEGIES,
    **{
        f"exml_sim/strategies/{name}.py": _STRATEGIES
        for name in (
            "accept_reject",
            "median_elimination",
            "ocba",
            "successive_rejects",
            "top_two",
            "ugap",
            "uniform",
            "value_of_information",
        )
    },
    "exml_sim/rejection/_certificates.py": ("tests/rejection/test_solve.py", "tests/rejection/test_rounding.py"),
    "theory/formulas.py": (
        "tests/theory/test_formulas.py",
        "tests/theory/test_paper.py",
        "tests/theory/test_corrected.py",
        "tests/theory/test_constants.py",
    ),
    "theory/paper.py": ("tests/theory/test_paper.py", "tests/test_mutants.py"),
    "theory/corrected.py": ("tests/theory/test_corrected.py",),
    "theory/tighter.py": ("tests/theory/test_tighter.py", "tests/theory/test_tighter_exact.py"),
    "theory/budgets.py": ("tests/theory/test_budgets.py",),
    "theory/exact.py": ("tests/theory/test_exact.py",),
    "theory/_tails.py": ("tests/theory/test_tails.py", "tests/theory/test_tighter.py"),
}
_COMPARISONS: Mapping[type[ast.cmpop], Sequence[type[ast.cmpop]]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
_NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: str
    line: int
    before: str
    after: str
    text: str
    source: str

    @property
    def name(self) -> str:
        """Identify the change by module, line of code, and result, but not by the number of the line."""
        return f"{self.module}: {self.text}: {self.before} -> {self.after}"


def list_mutants(module: str, source: str) -> Iterator[Mutant]:
    """Yield all changes of a module; messages of errors, annotations and decorators are left alone."""
    lines = source.splitlines(keepends=True)
    for node in _walk(ast.parse(source)):
        for place in range(2):
            changed = copy.deepcopy(node)
            if not _change(changed, place):
                break
            after = ast.unparse(changed)
            text = lines[node.lineno - 1].strip()
            yield Mutant(module, node.lineno, ast.unparse(node), after, text, _splice(lines, node, after))


def _splice(lines: Sequence[str], node: ast.expr, after: str) -> str:
    """Replace an expression by other text, in brackets, so that nothing else changes."""
    last = node.end_lineno or node.lineno
    head = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    tail = lines[last - 1].encode()[node.end_col_offset :].decode()
    return "".join([*lines[: node.lineno - 1], f"{head}({after}){tail}", *lines[last:]])


def _walk(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions whose value a test can see."""
    if isinstance(node, ast.Raise | ast.AnnAssign | ast.JoinedStr | ast.ImportFrom | ast.Import):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _walk(node.value)
        return
    if isinstance(node, ast.FunctionDef):
        for part in (*node.args.defaults, *node.args.kw_defaults, *node.body):
            if part is not None:
                yield from _walk(part)
        return
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            yield from _walk(part)
        return
    if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.Call | ast.Constant):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _change(node: ast.expr, place: int) -> bool:
    """Make the change of this number in a node; return False if it has none."""
    match node:
        case ast.Compare(ops=[operator]) if place < len(_COMPARISONS.get(type(operator), ())):
            node.ops = [_COMPARISONS[type(operator)][place]()]
        case ast.BinOp() if place == 0 and type(node.op) in _OPERATORS:
            node.op = _OPERATORS[type(node.op)]()
        case ast.BoolOp() if place == 0:
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.USub()) if place == 0:
            node.op = ast.UAdd()
        case ast.Call(func=ast.Name(id=name)) if place == 0 and name in _NAMES:
            node.func.id = _NAMES[name]
        case ast.Call(func=ast.Attribute(attr=name)) if place == 0 and name in _NAMES:
            node.func.attr = _NAMES[name]
        case ast.Constant(value=bool() as value) if place == 0:
            node.value = not value
        case ast.Constant(value=int() | float() as value) if place == 0:
            node.value = value + 1 if isinstance(value, int) else value * 1.5 if value else 1.0
        case _:
            return False
    return True


def choose_mutants(number: int, seed: int, only: str | None = None) -> list[Mutant]:
    """Choose mutants at random, about equally many per module."""
    draw = random.Random(seed)
    modules = [module for module in TARGETS if only is None or only in module]
    pools = {}
    for module in modules:
        mutants = list(list_mutants(module, (ROOT / module).read_text(encoding="utf-8")))
        pools[module] = draw.sample(mutants, len(mutants))
    chosen: list[Mutant] = []
    while len(chosen) < number and any(pools.values()):
        for module in draw.sample(modules, len(modules)):
            if pools[module] and len(chosen) < number:
                chosen.append(pools[module].pop())
    return chosen


def copy_repository(folder: Path) -> Path:
    """Copy what tests need, with the compiled code that is there."""
    parts = ("exml_sim", "theory", "simulations", "tests", "benchmarks", "docs", "fuzz", "tools")
    for part in parts:
        shutil.copytree(ROOT / part, folder / part, copy_function=shutil.copy2)
    shutil.copy2(ROOT / "pyproject.toml", folder)
    shutil.copy2(ROOT / "README.md", folder)
    return folder


def is_caught(mutant: Mutant, folder: Path) -> bool:
    """Put a mutant into a copy, run its tests, and restore the module."""
    file = folder / mutant.module
    original = file.read_bytes()
    file.write_text(mutant.source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *TARGETS[mutant.module]]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=TIMEOUT)
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_bytes(original)


def read_equivalent() -> Mapping[str, str]:
    """Return the reasons of mutants that change nothing, by name."""
    with EQUIVALENT.open("rb") as file:
        return {entry["mutant"]: entry["reason"] for entry in tomllib.load(file)["equivalent"]}


def main() -> int:
    """Run the mutants and print the share that was caught."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="modules whose path contains this")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    mutants, reasons = choose_mutants(options.number, options.seed, options.only), read_equivalent()
    start, survivors, equivalent = time.monotonic(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        copies = [copy_repository(Path(folder) / f"{number}") for number in range(options.workers)]

        def judge(place: int) -> list[tuple[Mutant, bool]]:
            return [(mutant, is_caught(mutant, copies[place])) for mutant in mutants[place :: options.workers]]

        with ThreadPoolExecutor(options.workers) as workers:
            judged = [result for part in workers.map(judge, range(options.workers)) for result in part]
    for mutant, caught in judged:
        if not caught and mutant.name in reasons:
            equivalent += 1
        elif not caught:
            survivors.append(mutant)
            print(f"survived, line {mutant.line}: {mutant.name}")
    total = len(judged) - equivalent
    share = 1.0 - len(survivors) / max(total, 1)
    print(
        f"seed {options.seed}: {total - len(survivors)} of {total} mutants caught ({share:.1%}), {equivalent} more "
        f"are equivalent; {time.monotonic() - start:.0f} s"
    )
    return int(share < TARGET)


if __name__ == "__main__":
    sys.exit(main())
