"""Every function and class on an API page has an example, and every example runs."""

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

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "api"


def resolve(path: str) -> Any:
    """Return the module or object of a dotted path."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        parent, _, name = path.rpartition(".")
        return getattr(resolve(parent), name)


def documented() -> Iterator[tuple[str, Any]]:
    """Yield path and object of every function and class that an API page shows."""
    for page in sorted(PAGES.glob("*.md")):
        for path in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            target = resolve(path)
            if not isinstance(target, ModuleType):
                yield path, target
                continue
            for name, member in vars(target).items():
                is_own = getattr(member, "__module__", None) == path and not name.startswith("_")
                if is_own and (inspect.isfunction(member) or inspect.isclass(member)):
                    yield f"{path}.{name}", member


OBJECTS = dict(documented())


def run(path: str, member: Any) -> doctest.TestResults:
    """Run the examples of an object and of its public methods."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    texts = [inspect.getdoc(member) or ""]
    if inspect.isclass(member):
        methods = [method for name, method in vars(member).items() if not name.startswith("_")]
        texts += [inspect.getdoc(method) or "" for method in methods]
    space = dict(vars(import_module(member.__module__)))
    for text in texts:
        test = doctest.DocTestParser().get_doctest(text, dict(space), path, None, 0)
        runner.run(test, clear_globs=True)
    return runner.summarize(verbose=False)


@pytest.mark.parametrize("path", OBJECTS)
def test_examples(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(path, OBJECTS[path])
    assert result.attempted > 0, "no example"
    assert result.failed == 0


def test_a_wrong_example_is_reported() -> None:
    def double(number: int) -> int:
        """Return twice the number.

        >>> 1 + 1
        3
        """
        return 2 * number

    assert run("double", double).failed == 1
