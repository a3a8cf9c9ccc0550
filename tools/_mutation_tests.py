"""Run the tests of a mutant in a fork of a process that has imported the libraries, but nothing of the project.

One run of the tests finds out which functions each test calls and how long it takes. Afterwards a mutant meets only the
tests that call its function, the fastest first. Compiled functions and the statements of a module have no calls to
note: their mutants meet all tests of the module.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.abc
import importlib.util
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

#: Imported once, for all mutants.
LIBRARIES = (
    "cvxpy",
    "flint",
    "hypothesis.extra.numpy",
    "matplotlib.pyplot",
    "mpmath",
    "numba",
    "pandas",
    "pyarrow.parquet",
    "pydantic",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.linear_model",
)
#: A test that takes this many times its own processor time, and this many seconds more, is in an endless loop.
LOOP_FACTOR, LOOP_SECONDS = 10.0, 5.0
#: Seconds that compiling a changed function and its callers may add.
COMPILE_SECONDS = 30.0
#: Seconds of the clock after which a mutant is given up. It does not count as caught.
GIVE_UP_SECONDS = 1800.0
#: Memory of one mutant, in bytes; a mutant that asks for more fails.
MAX_MEMORY = 12 << 30

#: Seconds of tests, the fastest first, that a mutant meets; one that passes them counts as survived.
MAX_TEST_SECONDS = 15.0

SURVIVED, CAUGHT, NO_TESTS = 0, 1, 2

Tests = Mapping[str, Mapping[str, Any]]


def import_libraries() -> None:
    """Import what the tests need besides the project, and start the compiler."""
    for name in LIBRARIES:
        import_module(name)
    import numba

    numba.njit(lambda x: x + 1)(1)


def _run_pytest(arguments: Sequence[str], plugin: object, output: Path) -> int:
    with output.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-o", "timeout=0", "--no-header"]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


#: Built-in function of the recording process that notes a call.
_NOTE = "__note_call__"


class _Recorder:
    """Note the functions of the modules that each test calls, and its processor time."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.failed: set[str] = set()
        self.tests: dict[str, dict[str, Any]] = {}
        setattr(builtins, _NOTE, self.called.add)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.called.clear()
        start = time.process_time()
        try:
            return (yield)
        finally:
            seconds = round(time.process_time() - start, 3)
            if item.nodeid not in self.failed:
                self.tests[item.nodeid] = {"seconds": seconds, "functions": sorted(self.called)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def _note_calls(module: str, source: str) -> ast.Module:
    """Begin every function and method of a module with a note of its call, except those that are compiled."""
    tree = ast.parse(source)
    for prefix, function in list_functions(tree):
        if not is_compiled(function):
            note = ast.parse(f"{_NOTE}({module + ':' + prefix + function.name!r})").body[0]
            place = int(ast.get_docstring(function, clean=False) is not None)
            function.body.insert(place, ast.fix_missing_locations(ast.copy_location(note, function.body[0])))
    return tree


def list_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a module, each after the name of its class and a point."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield "", node
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.", part) for part in node.body if isinstance(part, ast.FunctionDef))


def is_compiled(function: ast.FunctionDef) -> bool:
    """Tell whether a function has a decorator of `exml_sim._internal.compiled`."""
    names = {"kernel", "compiled", "compiled_sums", "compiled_inline"}
    return any(isinstance(decorator, ast.Name) and decorator.id in names for decorator in function.decorator_list)


def record_tests(root: Path, modules: Sequence[str], files: Sequence[str], *, keep_cache: bool = False) -> Tests:
    """Run test files once and return time and called functions of every test; known files are read from a cache.

    Parameters
    ----------
    keep_cache
        Read the cache also for files whose modules have changed since.
    """
    state = hashlib.sha256(b"".join((root / module).read_bytes() for module in modules))
    known: dict[str, Any] = {}
    missing, caches, digests = [], {}, {}
    for file in files:
        name = hashlib.sha256(file.encode()).hexdigest()[:24]
        caches[file] = Path(tempfile.gettempdir()) / f"mutate-{name}.json"
        digest = state.copy()
        digest.update((root / file).read_bytes())
        digests[file] = digest.hexdigest()
        cache = json.loads(caches[file].read_text()) if caches[file].exists() else {}
        if cache and (keep_cache or cache["digest"] == digests[file]):
            known.update(cache["tests"])
        else:
            missing.append(file)
    if not missing:
        return known
    with tempfile.TemporaryDirectory() as folder:
        result, output = Path(folder) / "tests.json", Path(folder) / "output"

        def run() -> int:
            recorder = _Recorder()
            noted = {module: _note_calls(module, (root / module).read_text(encoding="utf-8")) for module in modules}
            sys.meta_path.insert(0, _ChangedFinder(root, noted))
            status = _run_pytest(missing, recorder, output)
            result.write_text(json.dumps(recorder.tests))
            return status

        status = os.waitstatus_to_exitcode(os.waitpid(_fork(run), 0)[1])
        if status != pytest.ExitCode.OK:
            print(f"Tests fail without any change, and are left out:\n{output.read_text()[-2000:]}")
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise RuntimeError("tests cannot be run, see above")
        tests = json.loads(result.read_text())
    for file in missing:
        part = {name: test for name, test in tests.items() if name.split("::")[0] == file}
        caches[file].write_text(json.dumps({"digest": digests[file], "tests": part}))
        known.update(part)
    return known


def choose_tests(tests: Tests, module: str, function: str | None, files: Sequence[str]) -> dict[str, float]:
    """Return the fastest tests that call a function (None for all tests), the fastest first, with their times."""
    chosen = {
        name: test["seconds"]
        for name, test in tests.items()
        if name.split("::")[0] in files and (function is None or f"{module}:{function}" in test["functions"])
    }
    total, affordable = 0.0, {}
    for name, seconds in sorted(chosen.items(), key=lambda item: item[1]):
        total += seconds
        if total <= MAX_TEST_SECONDS:
            affordable[name] = seconds
    return affordable


class _Runner:
    """Run the chosen tests in their order, each with a limit of processor time; note the one that fails."""

    def __init__(self, chosen: Mapping[str, float], extra_seconds: float) -> None:
        self.chosen = chosen
        self.extra_seconds = extra_seconds
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = {name: place for place, name in enumerate(self.chosen)}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.failed = item.nodeid
        limit = LOOP_FACTOR * self.chosen[item.nodeid] + LOOP_SECONDS + self.extra_seconds
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


class _ChangedLoader(importlib.abc.InspectLoader):
    """Load a module from a changed text or tree; tracebacks and caches still name its file."""

    def __init__(self, file: Path, source: str | ast.Module) -> None:
        self.file, self.source = file, source

    def get_source(self, fullname: str) -> str:
        return self.file.read_text(encoding="utf-8")

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, str(self.file), "exec")


class _ChangedFinder(importlib.abc.MetaPathFinder):
    """Find some modules, by their paths in the project, in changed sources."""

    def __init__(self, root: Path, sources: Mapping[str, str | ast.Module]) -> None:
        self.loaders = {
            module.removesuffix(".py").replace("/", "."): _ChangedLoader(root / module, source)
            for module, source in sources.items()
        }

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
        loader = self.loaders.get(fullname)
        return loader and importlib.util.spec_from_file_location(fullname, loader.file, loader=loader)


def start_mutant(
    root: Path, module: str, source: str, chosen: Mapping[str, float], kernels: Sequence[str], output: Path
) -> int:
    """Fork a process that runs tests on a mutant and ends with SURVIVED, CAUGHT or a signal; return its id.

    Parameters
    ----------
    module, source
        Path of the module in the project, and its changed text.
    chosen
        Tests to run, in this order, with their times.
    kernels
        Compiled functions that the change affects; they and their callers are compiled anew.
    output
        Gets what pytest prints; the test that failed is in its last line.
    """

    def run() -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        sys.meta_path.insert(0, _ChangedFinder(root, {module: source}))
        runner = _Runner(chosen, COMPILE_SECONDS if kernels else 0.0)
        try:
            if kernels:
                _compile_anew(root / module, kernels)
        except Exception:
            return CAUGHT
        status = _run_pytest(["-x", *sorted({test.split("::")[0] for test in chosen})], runner, output)
        print(f"\n{runner.failed}")
        if status == pytest.ExitCode.NO_TESTS_COLLECTED:
            return NO_TESTS
        return SURVIVED if status == pytest.ExitCode.OK else CAUGHT

    return _fork(run)


def _compile_anew(file: Path, kernels: Sequence[str]) -> None:
    """Ignore compiled code on the disk for functions of a file and for all their callers."""
    from numba.core.caching import NullCache
    from numba.core.registry import CPUDispatcher

    dispatchers: dict[int, Any] = {}
    for package in ("exml_sim", "theory", "simulations"):
        for info in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not info.name.endswith("__main__"):
                values = vars(import_module(info.name)).values()
                dispatchers.update({id(value): value for value in values if isinstance(value, CPUDispatcher)})
    stale = {
        key
        for key, function in dispatchers.items()
        if function.py_func.__code__.co_filename == str(file) and function.py_func.__name__ in kernels
    }
    while True:
        callers = {
            key
            for key, function in dispatchers.items()
            if key not in stale
            and any(id(function.py_func.__globals__.get(name)) in stale for name in function.py_func.__code__.co_names)
        }
        if not callers:
            break
        stale |= callers
    for key in stale:
        dispatchers[key]._cache = NullCache()


def _fork(run: Callable[[], int]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        status = run()
        sys.stdout.flush()
    finally:
        os._exit(status)
