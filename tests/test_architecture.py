"""The rules of docs/architecture.md about who may import whom, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imports(file: Path) -> set[str]:
    """Top-level packages that a file imports anywhere, lazily too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_theory_knows_numbers_only() -> None:
    foreign = {
        (file.name, name)
        for file in (ROOT / "theory").rglob("*.py")
        for name in imports(file) - set(sys.stdlib_module_names) - {"theory", "numpy", "scipy"}
    }
    assert not foreign


def test_the_system_does_not_know_the_theory() -> None:
    offenders = {
        file.name
        for file in (ROOT / "exml_sim").rglob("*.py")
        if "cli" not in file.parts and imports(file) & {"theory", "simulations"}
    }
    assert not offenders


def loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(' '.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


HEAVY = {"cvxpy", "matplotlib", "sklearn", "numba", "pandas", "scipy"}


@pytest.mark.parametrize("code", ["import exml_sim", "import exml_sim.cli"])
def test_a_plain_import_is_light(code: str) -> None:
    assert not loaded_after(code) & HEAVY


def test_the_solver_needs_no_cvxpy_and_no_scikit_learn() -> None:
    assert not loaded_after("import exml_sim.rejection") & {"cvxpy", "sklearn", "matplotlib"}
