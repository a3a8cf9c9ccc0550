"""Every function and class on an API page has an example, and every example of the packages runs."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.docs.pages import DOCS, ROOT
from tools._measures import list_code


def resolve(path: str) -> Any:
    """Return the module or object of a dotted path."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        parent, _, name = path.rpartition(".")
        return getattr(resolve(parent), name)


def list_documented() -> Iterator[tuple[str, Any]]:
    """Yield path and object of every function and class that an API page shows."""
    for page in sorted((DOCS / "reference" / "api").glob("*.md")):
        for path in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            target = resolve(path)
            members = vars(target).items() if isinstance(target, ModuleType) else []
            for name, member in members:
                is_own = getattr(member, "__module__", None) == path and not name.startswith("_")
                if is_own and (inspect.isfunction(member) or inspect.isclass(member)):
                    yield f"{path}.{name}", member
            if not isinstance(target, ModuleType):
                yield path, target


OBJECTS = dict(list_documented())
MODULES = {name for _, name, text in list_code(ROOT) if ">>> " in text} | {m.__module__ for m in OBJECTS.values()}
EXAMPLES = [
    test for name in sorted(MODULES) for test in doctest.DocTestFinder().find(import_module(name)) if test.examples
]


@pytest.mark.parametrize("path", OBJECTS)
def test_a_documented_object_has_an_example(path: str) -> None:
    members = [OBJECTS[path]]
    members += (
        [value for name, value in vars(members[0]).items() if not name.startswith("_")]
        if inspect.isclass(members[0])
        else []
    )
    assert any(">>> " in (inspect.getdoc(member) or "") for member in members)


def run(example: doctest.DocTest) -> doctest.TestResults:
    """Run the example of one docstring."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example)
    return runner.summarize(verbose=False)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(example).failed == 0


def test_a_wrong_example_is_reported() -> None:
    assert run(doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "planted", None, 0)).failed == 1
