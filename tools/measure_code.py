"""Measure size, names, imports and one traced trial block of the packages: ``python -m tools.measure_code``.

Nothing of the project is imported here. What needs a running command is measured in a subprocess.
"""

from __future__ import annotations

import ast
import graphlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools._measures import PACKAGES, list_code, make_parser, print_report

#: Largest allowed values: the size that two maintainers can read, as agreed for the first release.
TARGETS: dict[str, float | None] = {
    "lines": 46_000,
    "modules": 260,
    "public names": 600,
    "duplicate class names": 4,
    "duplicate module names": 10,
    "longest import chain": 20,
    "modules of import exml_sim": None,
    "modules of exml --help": None,
    "modules of exml study": 130,
    "modules of exml explore": 60,
    "files per trial block": 20,
    "crossings per trial block": 100,
}

STUDY = """
strategies = ["median_elimination"]
trials = 2
[[pools]]
kind = "parametric"
means = [0.7, 0.5, 0.5, 0.4]
[budgets]
per_arm = [16]
"""

#: Features, so that a block also runs the scores.
FEATURE_STUDY = """
strategies = ["median_elimination"]
trials = 2
[[pools]]
kind = "synthetic"
per_class = 10
angles = [10, 30, 60, 90]
[[scores]]
score = "objective"
[budgets]
per_arm = [16]
"""

EXPLORE_OPTIONS = ("--label", "y", "--observed", "x", "--candidate", "a=a:1", "--candidate", "b=b:1", "--budget", "50%")

#: Run a command as `python -m` does. Write the modules of our packages that are loaded at its end and, for every call
#: of the block function, the files of our functions called inside it.
RUN_SCRIPT = """
import atexit, json, os, runpy, sys, threading
packages, out, root, block, module, *arguments = json.loads(sys.argv[1])
folders = tuple(os.path.join(root, name) + os.sep for name in packages)
blocks, calls, depth = [], [], 0
def profile(frame, event, argument):
    global depth
    code = frame.f_code
    if event not in ("call", "return") or not code.co_filename.startswith(folders):
        return
    if code.co_name == block:
        depth += 1 if event == "call" else -1
        if depth == 0:
            blocks.append(list(calls))
            calls.clear()
    if depth and event == "call" and code.co_name != "<module>":
        calls.append(code.co_filename)
def write():
    sys.setprofile(None)
    names = sorted(name for name in sys.modules if name.partition(".")[0] in packages)
    with open(out, "w", encoding="utf-8") as file:
        json.dump([names, blocks], file)
atexit.register(write)
if block:
    threading.setprofile(profile)
    sys.setprofile(profile)
if arguments:
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
else:
    __import__(module)
"""


@dataclass(frozen=True, slots=True)
class Module:
    """Hold one parsed module: dotted name (of the package for an ``__init__.py``), path from the root, lines, tree."""

    name: str
    path: str
    lines: int
    tree: ast.Module

    @property
    def package(self) -> str:
        """Return the name of the package that holds the module."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]

    @property
    def is_public(self) -> bool:
        """Tell whether no part of the name starts with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))


def read_modules(root: Path, packages: Sequence[str] = PACKAGES) -> dict[str, Module]:
    """Parse all modules of the packages below a root folder."""
    return {
        name: Module(name, path, len(text.splitlines()), ast.parse(text, filename=path))
        for path, name, text in list_code(root, tuple(packages))
    }


def count_lines(modules: Mapping[str, Module]) -> dict[str, int]:
    """Sum the lines of the modules by package (folder)."""
    lines: Counter[str] = Counter()
    for module in modules.values():
        lines[module.package] += module.lines
    return dict(sorted(lines.items()))


def iterate_top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements that run on import, inside ``if`` and ``try`` too, without type-checking branches."""
    for statement in body:
        if isinstance(statement, ast.If):
            branches = statement.orelse if _is_type_checking(statement.test) else statement.body + statement.orelse
            yield from iterate_top_level(branches)
        elif isinstance(statement, ast.Try):
            handlers = [inner for handler in statement.handlers for inner in handler.body]
            yield from iterate_top_level(statement.body + handlers + statement.orelse + statement.finalbody)
        elif isinstance(statement, ast.With):
            yield from iterate_top_level(statement.body)
        else:
            yield statement


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING"


def list_public_names(module: Module) -> dict[str, str]:
    """List functions, classes and constants that a public module defines without leading underscore."""
    if not module.is_public:
        return {}
    names = {name: kind for s in iterate_top_level(module.tree.body) for name, kind in _list_defined(s)}
    return {name: kind for name, kind in sorted(names.items()) if not name.startswith("_")}


def _list_defined(statement: ast.stmt) -> list[tuple[str, str]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return [(statement.name, "function")]
    if isinstance(statement, ast.ClassDef):
        return [(statement.name, "class")]
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    elif type(statement).__name__ == "TypeAlias":  # Python 3.12
        targets = [statement.name]  # type: ignore[attr-defined]
    else:
        return []
    nodes = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [(node.id, "constant") for node in nodes if isinstance(node.ctx, ast.Store)]


def find_duplicate_classes(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Find class names that more than one module defines at its top level."""
    classes = {
        module.path: {s.name for s in iterate_top_level(module.tree.body) if isinstance(s, ast.ClassDef)}
        for module in modules.values()
    }
    return _find_duplicates(classes)


def find_duplicate_modules(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Find file names of modules that occur in more than one folder; ``__init__`` and ``__main__`` do not count."""
    stems = {module.path: Path(module.path).stem for module in modules.values()}
    return _find_duplicates({path: {stem} for path, stem in stems.items() if not stem.startswith("__")})


def _find_duplicates(names: Mapping[str, set[str]]) -> dict[str, list[str]]:
    places = {name: [path for path in names if name in names[path]] for name in sorted(set().union(*names.values()))}
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def build_import_graph(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Build the graph of top-level imports between the modules.

    ``from a import b`` is an edge to ``a.b`` if that is a module, else to ``a``.
    """
    graph: dict[str, set[str]] = {}
    for module in modules.values():
        imported = {name for s in iterate_top_level(module.tree.body) for name in _list_imported(s, module, modules)}
        graph[module.name] = imported - {module.name}
    return graph


def _list_imported(statement: ast.stmt, module: Module, modules: Mapping[str, Module]) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names if alias.name in modules]
    if not isinstance(statement, ast.ImportFrom):
        return []
    source = statement.module or ""
    if statement.level:
        parents = module.package.split(".")
        base = ".".join(parents[: len(parents) - statement.level + 1])
        source = f"{base}.{source}" if source else base
    names = [f"{source}.{alias.name}" for alias in statement.names]
    return [target for name in names if (target := name if name in modules else source) in modules]


def find_longest_chain(graph: Mapping[str, set[str]]) -> list[str]:
    """Find the longest chain of imports."""
    try:
        order = list(graphlib.TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)}).static_order())
    except graphlib.CycleError as error:
        raise ValueError(f"top-level imports have a cycle: {' > '.join(error.args[1])}") from error
    chains: dict[str, list[str]] = {}
    for name in order:
        longest = max((chains[imported] for imported in sorted(graph[name])), key=len, default=[])
        chains[name] = [name, *longest]
    return max(chains.values(), key=len, default=[])


def list_loaded(root: Path, module: str, *arguments: str, packages: Sequence[str] = PACKAGES) -> list[str]:
    """List our modules that are loaded when a module was imported or run with arguments."""
    return list(map(str, _run(root, packages, "", module, *arguments)[0]))


def trace_blocks(
    root: Path, block: str, module: str, *arguments: str, packages: Sequence[str] = PACKAGES
) -> list[list[str]]:
    """Run a command and list the files that are called inside every call of a function."""
    blocks = _run(root, packages, block, module, *arguments)[1]
    return [[Path(file).relative_to(root).as_posix() for file in files] for files in blocks]


def _run(root: Path, packages: Sequence[str], block: str, *command: str) -> Any:
    """Run a command with our packages first on the path; return its modules and traced blocks."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        given = json.dumps([list(packages), str(out), str(root), block, *command])
        environment = {**os.environ, "PYTHONPATH": str(root), "MPLBACKEND": "Agg"}
        done = subprocess.run(
            [sys.executable, "-c", RUN_SCRIPT, given], cwd=folder, env=environment, capture_output=True, text=True
        )
        if done.returncode != 0 or not out.exists():
            reason = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            raise RuntimeError(f"`{' '.join(command)}` failed with exit code {done.returncode}: {reason}")
        return json.loads(out.read_text(encoding="utf-8"))


def count_crossings(files: Sequence[str]) -> int:
    """Count how often two calls in a row are in different folders."""
    folders = [os.path.dirname(file) for file in files]
    return sum(before != after for before, after in pairwise(folders))


def measure_source(root: Path) -> tuple[dict[str, int | None], dict[str, object]]:
    """Measure what the source alone tells."""
    modules = read_modules(root)
    lines = count_lines(modules)
    classes, files = find_duplicate_classes(modules), find_duplicate_modules(modules)
    kinds = Counter(kind for module in modules.values() for kind in list_public_names(module).values())
    details: dict[str, object] = {"lines by package": lines, "public names by kind": dict(sorted(kinds.items()))}
    details |= {"duplicate class names": classes, "duplicate module names": files}
    values: dict[str, int | None] = {
        "lines": sum(lines.values()),
        "modules": len(modules),
        "public names": kinds["function"] + kinds["class"],
        "duplicate class names": len(classes),
        "duplicate module names": len(files),
    }
    try:
        chain = find_longest_chain(build_import_graph(modules))
        values["longest import chain"], details["longest import chain"] = len(chain), chain
    except ValueError as error:
        values["longest import chain"], details["longest import chain"] = None, str(error)
    return values, details


def measure_loaded(root: Path) -> tuple[dict[str, int | None], dict[str, object]]:
    """Count our modules that an import and three commands load."""
    with tempfile.TemporaryDirectory() as folder:
        study, table = Path(folder) / "study.toml", Path(folder) / "table.csv"
        study.write_text(STUDY, encoding="utf-8")
        table.write_text(make_table(), encoding="utf-8")
        commands = {
            "modules of import exml_sim": (),
            "modules of exml --help": ("--help",),
            "modules of exml study": ("study", str(study), "--out", f"{folder}/s", "--quiet", "--n-jobs", "1"),
            "modules of exml explore": ("explore", str(table), *EXPLORE_OPTIONS, "--out", f"{folder}/e"),
        }
        values: dict[str, int | None] = {}
        details: dict[str, object] = {}
        for name, arguments in commands.items():
            try:
                loaded = list_loaded(root, "exml_sim", *arguments)
                values[name], details[name] = len(loaded), loaded
            except RuntimeError as error:
                values[name], details[name] = None, str(error)
    return values, details


def measure_trace(root: Path, block: str) -> tuple[dict[str, int | None], dict[str, object]]:
    """Trace the block of two trials that touches most files."""
    names = ("files per trial block", "crossings per trial block")
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        study.write_text(FEATURE_STUDY, encoding="utf-8")
        arguments = ("study", str(study), "--out", f"{folder}/s", "--quiet", "--n-jobs", "1")
        try:
            blocks = trace_blocks(root, block, "exml_sim", *arguments)
        except RuntimeError as error:
            return dict.fromkeys(names), {names[0]: str(error)}
    if not blocks:
        return dict.fromkeys(names), {names[0]: f"no call of a function {block!r} was seen; name it by --block"}
    calls = max(blocks, key=lambda files: len(set(files)))
    files = sorted(set(calls))
    return dict(zip(names, (len(files), count_crossings(calls)), strict=True)), {names[0]: files}


def make_table() -> str:
    """Make a table of 60 rows with a label, an observed column and two candidates."""
    rows = [f"{'no' if i % 2 else 'yes'},{(7 * i) % 11},{(i % 2) * 5 + (3 * i) % 7},{(5 * i) % 13}" for i in range(60)]
    return "\n".join(["y,x,a,b", *rows]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the measurements."""
    parser = make_parser("Measure size, names and imports of the packages.")
    parser.add_argument("--source-only", action="store_true", help="run no command of the project")
    parser.add_argument("--trace", action="store_true", help="trace a block of two trials too")
    parser.add_argument("--block", default="run_block", help="function that runs a block (default: run_block)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    values, details = measure_source(root)
    if not options.source_only:
        measured = [measure_loaded(root), *([measure_trace(root, options.block)] if options.trace else [])]
        for more_values, more_details in measured:
            values |= more_values
            details |= more_details
    brief = {name: detail for name, detail in details.items() if name in SHOWN or isinstance(detail, str)}
    return print_report(values, TARGETS, details if options.details else brief, options)


#: Details of the short report.
SHOWN = ("lines by package", "public names by kind", "longest import chain")


if __name__ == "__main__":
    sys.exit(main())
