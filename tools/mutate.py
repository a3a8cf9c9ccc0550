"""Test the tests: change the core at random and count which changes they catch.

``python -m tools.mutate [--number 200] [--seed 1] [--only NAME]`` changes modules in memory, one process per mutant.
A mutant differs from the code in one operator, comparison, constant or call. One of the fastest tests that call its
function must fail. ``--keep-cache`` keeps what an earlier run recorded about the tests.
The run prints every survivor. It ends with 1 if fewer than 92 % of the mutants that are not equivalent were caught.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tools import _mutation_tests

ROOT = Path(__file__).parents[1]
#: Fraction of the mutants that are not equivalent that must be caught.
TARGET = 0.92
#: Mutants that change nothing that can be observed, with the reason; written by hand after reading survivors.
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")

_BANDIT = (
    "tests/test_money.py",
    "tests/test_mutants.py",
    "tests/bandit",
    "tests/strategies",
    "tests/properties/test_strategies.py",
    "tests/golden",
)
_THEORY = ("tests/theory/test_*.py", "tests/test_mutants.py", "tests/golden")
#: Modules of the core, and the test files that must notice a change.
TARGETS: Mapping[str, Sequence[str]] = {
    **{
        f"exml_sim/{name}.py": _BANDIT
        for name in (
            "money",
            "bandit/ledger",
            "bandit/_ranking",
            "bandit/_sampling",
            "bandit/trial_batch",
            "strategies/accept_reject",
            "strategies/median_elimination",
            "strategies/ocba",
            "strategies/successive_rejects",
            "strategies/top_two",
            "strategies/ugap",
            "strategies/uniform",
            "strategies/value_of_information",
        )
    },
    "exml_sim/rejection/_certificates.py": ("tests/rejection",),
    **{
        f"theory/{name}.py": _THEORY
        for name in ("formulas", "paper", "corrected", "tighter", "budgets", "exact", "_tails")
    },
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
        case ast.Call(func=ast.Name() as function) if place == 0 and function.id in _NAMES:
            function.id = _NAMES[function.id]
        case ast.Call(func=ast.Attribute() as function) if place == 0 and function.attr in _NAMES:
            function.attr = _NAMES[function.attr]
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


def find_context(source: str, line: int) -> tuple[str | None, tuple[str, ...]]:
    """Return the function or method at a line, None if its calls are not noted; and the affected kernels.

    The calls of compiled functions are not noted. Statements of a module may affect all of them.
    """
    functions = list(_mutation_tests.list_functions(ast.parse(source)))
    kernels = {function.name for _, function in functions if _mutation_tests.is_compiled(function)}
    for prefix, function in functions:
        if function.body[0].lineno <= line <= (function.end_lineno or line):
            return (None, (function.name,)) if function.name in kernels else (prefix + function.name, ())
    return None, tuple(sorted(kernels))


def read_equivalent() -> Mapping[str, str]:
    """Return the reasons of mutants that change nothing, by name."""
    with EQUIVALENT.open("rb") as file:
        return {entry["mutant"]: entry["reason"] for entry in tomllib.load(file)["equivalent"]}


def list_files(paths: Sequence[str]) -> list[str]:
    """List the test files at these paths or patterns; one without a file is an error."""
    files = []
    for path in paths:
        matches = sorted((ROOT / path).rglob("test_*.py")) or sorted(ROOT.glob(path))
        if not matches:
            raise FileNotFoundError(f"{path}: no tests; correct TARGETS of tools/mutate.py")
        files += [file.relative_to(ROOT).as_posix() for file in matches]
    return files


def run_mutants(
    mutants: Sequence[Mutant], workers: int, folder: Path, *, keep_cache: bool
) -> Iterator[tuple[Mutant, str, str]]:
    """Run the tests of every mutant; yield it with "survived", "caught", "loops" or "stuck" and the last test."""
    files = {module: list_files(TARGETS[module]) for module in dict.fromkeys(mutant.module for mutant in mutants)}
    every_file = list(dict.fromkeys(chain.from_iterable(files.values())))
    tests = _mutation_tests.record_tests(ROOT, list(TARGETS), every_file, keep_cache=keep_cache)
    sources = {module: (ROOT / module).read_text(encoding="utf-8") for module in files}
    waiting = list(enumerate(mutants))[::-1]
    running: dict[int, tuple[int, Mutant, float]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            number, mutant = waiting.pop()
            function, kernels = find_context(sources[mutant.module], mutant.line)
            chosen = _mutation_tests.choose_tests(tests, mutant.module, function, files[mutant.module])
            if not chosen:
                yield mutant, "survived", "no test calls this function"
                continue
            child = _mutation_tests.start_mutant(
                ROOT, mutant.module, mutant.source, chosen, kernels, folder / f"{number}"
            )
            running[child] = number, mutant, time.monotonic()
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            time.sleep(0.01)
            for process, (_, _, start) in running.items():
                if time.monotonic() - start > _mutation_tests.GIVE_UP_SECONDS:
                    os.kill(process, signal.SIGKILL)
            continue
        number, mutant, _ = running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        output = folder / f"{number}"
        last = output.read_text(errors="replace").splitlines()[-1:] if output.exists() else []
        results = {_mutation_tests.SURVIVED: "survived", -signal.SIGPROF: "loops", -signal.SIGKILL: "stuck"}
        if code == _mutation_tests.NO_TESTS:
            raise RuntimeError(f"{mutant.name}: no tests collected")
        yield mutant, results.get(code, "caught"), "".join(last)


def main() -> int:
    """Run the mutants and print the share that was caught."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="modules whose path contains this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep-cache", action="store_true", help="keep what earlier runs recorded about the tests")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    options = parser.parse_args()
    mutants, reasons = choose_mutants(options.number, options.seed, options.only), read_equivalent()
    start, survivors, equivalent = time.monotonic(), [], 0
    results: dict[str, int] = defaultdict(int)
    _mutation_tests.import_libraries()
    with tempfile.TemporaryDirectory() as folder:
        for mutant, result, last in run_mutants(mutants, options.workers, Path(folder), keep_cache=options.keep_cache):
            results[result] += 1
            is_caught = result in ("caught", "loops")
            if options.verbose:
                print(f"{result}, line {mutant.line}: {mutant.name} ({last})", flush=True)
            if not is_caught and mutant.name in reasons:
                equivalent += 1
            elif not is_caught:
                survivors.append((mutant, result))
    for mutant, result in survivors:
        print(f"{result}, line {mutant.line}: {mutant.name}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = len(mutants) - equivalent
    share = 1.0 - len(survivors) / max(total, 1)
    print(
        f"seed {options.seed}: {total - len(survivors)} of {total} mutants caught ({share:.1%}), "
        f"of them {results['loops']} as endless loops; {equivalent} more are equivalent; "
        f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time"
    )
    return int(share < TARGET)


if __name__ == "__main__":
    sys.exit(main())
