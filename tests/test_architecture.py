"""The rules of docs/explanation/architecture.md about who may import whom, and what an import costs."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

import exml_sim

ROOT = Path(__file__).parents[1]


#: The layers of docs/explanation/architecture.md, lowest first. A package imports from layers below its own only.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_internal", "__init__"),
    ("plugins",),
    ("seeds",),
    ("money", "losses", "kernels"),
    ("rejection", "population", "oracle"),
    ("datasets",),
    ("bandit",),
    ("strategies",),
    ("pools",),
    ("classifier", "engine"),
    ("testing",),
    ("theory",),
    ("simulations",),
    ("cli",),
    ("__main__",),
)
#: Modules of exml_sim.bandit that run strategies by name: they are above the strategies, the others below.
POOLS = ("exml_sim.bandit.pool", "exml_sim.bandit.parametric", "exml_sim.bandit.rows")
#: Names that the package itself hands out, by the module behind them.
PUBLIC_NAMES = {f"exml_sim.{name}": home for name, home in exml_sim._HOME.items()}
#: The one import that goes up: `Pool.compare` puts results beside bounds, and only simulations knows both.
COMPARE = re.compile(r"exml_sim/bandit/pool\.py:\d+ imports simulations\.compare")
DEPTH = {room: depth for depth, rooms in enumerate(LAYERS) for room in rooms}
#: The rooms of simulations that others build on, lowest first; the rest import these and nothing of each other.
SHARED = (
    ("_cache", "_pool_bounds", "testing", "bench"),
    ("_rare_failures",),
    ("certificates",),
    ("panels",),
    ("_needed_budget", "budget_vs_failure", "figures"),
    ("report", "compare"),
    ("falsify", "verification", "reproduction"),
    ("papers",),
)


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the three packages by its dotted name."""
    files = {}
    for package in ("exml_sim", "theory", "simulations"):
        for file in (root / package).rglob("*.py"):
            parts = file.relative_to(root).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


def room(module: str) -> str:
    """The folder or root file that a module belongs to; theory is one room, and so is simulations."""
    if module in POOLS:
        return "pools"
    package, _, rest = module.partition(".")
    return package if package != "exml_sim" else rest.split(".")[0] or "__init__"


def names_in(node: ast.Import | ast.ImportFrom, module: str, file: Path, known: dict[str, Path]) -> list[str]:
    """Full names that an import statement imports; relative ones are made absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    source = ".".join([*above, *([node.module] if node.module else [])])
    inside = (f"{source}.{alias.name}" for alias in node.names)
    return [name if name in known else PUBLIC_NAMES.get(name, source) for name in inside]


@lru_cache(maxsize=1024)
def statements(text: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The import statements of a file; kept, because planted errors change one file of hundreds."""
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom))


def edges(of: Callable[[str], str], root: Path = ROOT) -> dict[tuple[str, str], list[str]]:
    """Imports between rooms, lazy ones and those for types too, each with the places where it stands."""
    known = modules(root)
    imported: dict[tuple[str, str], list[str]] = {}
    for module, file in known.items():
        for node in statements(file.read_text(encoding="utf-8")):
            for name in names_in(node, module, file, known):
                if name in known and of(name) != of(module):
                    place = f"{file.relative_to(root)}:{node.lineno} imports {name}"
                    imported.setdefault((of(module), of(name)), []).append(place)
    return imported


def places(imported: dict[tuple[str, str], list[str]], depth: dict[str, int]) -> list[str]:
    """Where an import does not go down."""
    return [place for (above, below), lines in imported.items() if depth[above] <= depth[below] for place in lines]


def test_every_room_has_a_layer() -> None:
    assert {room(module) for module in modules()} == set(DEPTH)


def test_imports_only_go_down() -> None:
    upward = places(edges(room), DEPTH)
    assert upward, "the exception is needed no more"
    assert not [place for place in upward if not COMPARE.fullmatch(place)]


@pytest.mark.parametrize(
    "planted",
    [
        "from exml_sim.engine import run",
        "from exml_sim import ExMLClassifier",
        "from exml_sim import engine",
        "from ..engine import run",
        "from .. import engine",
        "import exml_sim.engine",
    ],
)
def test_the_layers_catch_a_lazy_import_from_above(planted: str, tmp_path: Path) -> None:
    """Planted errors: a pool that imports from above inside a function, in every spelling."""
    for package in ("exml_sim", "theory", "simulations"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    with (tmp_path / "exml_sim/bandit/pool.py").open("a", encoding="utf-8") as file:
        file.write(f"\n\ndef planted() -> None:\n    {planted}\n")
    upward = [place for place in places(edges(room, tmp_path), DEPTH) if not COMPARE.fullmatch(place)]
    assert any(re.match(r"exml_sim/bandit/pool.py:\d+ imports exml_sim.(engine|classifier)", place) for place in upward)


def part(module: str) -> str:
    """The room inside simulations; everything else is one place."""
    package, _, rest = module.partition(".")
    return rest.split(".")[0] if package == "simulations" and rest else "elsewhere"


def test_the_rooms_of_simulations_form_no_knot() -> None:
    depth = {name: level for level, names in enumerate(SHARED) for name in names}
    inner = {pair: lines for pair, lines in edges(part).items() if "elsewhere" not in pair}
    assert {part(module) for module in modules()} == {*depth, "elsewhere"}
    assert not places(inner, depth)


def test_dynamic_imports_stand_where_they_are_declared() -> None:
    """What no syntax tree can follow: `import_module` is called in these files only."""
    dynamic = {
        str(file.relative_to(ROOT))
        for file in modules().values()
        if re.search(r"\bimport_module\(|\b__import__\(", file.read_text(encoding="utf-8"))
    }
    assert dynamic == {
        "exml_sim/__init__.py",
        "exml_sim/plugins.py",
        "exml_sim/cli/__init__.py",
        "exml_sim/cli/plot.py",
        "simulations/papers.py",
        "theory/claims/registry.py",
    }


def imports(file: Path) -> set[str]:
    """Top-level packages that a file imports anywhere, lazily too."""
    names = set()
    for node in statements(file.read_text(encoding="utf-8")):
        names |= (
            {a.name for a in node.names} if isinstance(node, ast.Import) else {"." * node.level + (node.module or "")}
        )
    return {name.partition(".")[0] for name in names} - {""}


def test_theory_knows_numbers_only_and_the_system_does_not_know_the_theory() -> None:
    allowed = {*sys.stdlib_module_names, "theory", "numpy", "scipy"}
    for file in (ROOT / "theory").rglob("*.py"):
        assert imports(file) - allowed <= ({"flint"} if "evidence" in file.parts else set()), file
    system = [file for file in (ROOT / "exml_sim").rglob("*.py") if file.parent.name != "cli"]
    offenders = [file.name for file in system if imports(file) & {"theory", "simulations"}]
    assert offenders == ["pool.py"], "only Pool.compare"


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(exml_sim, name) is not None for name in exml_sim.__all__)
    above = [name for name, home in exml_sim._HOME.items() if home.startswith(("theory", "simulations"))]
    assert above == ["Comparison", "compare", "plot"]


def loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(' '.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import exml_sim", {"cvxpy", "matplotlib", "sklearn", "numba", "pandas", "scipy"}),
        ("import exml_sim.cli", {"cvxpy", "matplotlib", "sklearn", "numba", "pandas", "scipy"}),
        ("import exml_sim.rejection", {"cvxpy", "sklearn", "matplotlib"}),
    ],
)
def test_an_import_is_light(code: str, heavy: set[str]) -> None:
    assert not loaded_after(code) & heavy


def test_an_exploration_needs_no_scikit_learn() -> None:
    """It takes as long to import as a small exploration takes."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from exml_sim.cli import _explore_files, explore\n"
        "from exml_sim.datasets import make_synthetic\n"
        "from exml_sim.classifier.estimator import BaseExMLClassifier\n"
        "from exml_sim.oracle import ArrayOracle\n"
        "rows = make_synthetic(20, angles=[20, 90], rng=0)\n"
        "oracle = ArrayOracle({c.name: c.values for c in rows.candidates})\n"
        "BaseExMLClassifier(budget_ratio=0.5, explore='always').fit(rows.X, rows.y, oracle).report()\n"
    )
    assert not loaded_after(code) & {"cvxpy", "sklearn", "scipy.stats", "pandas"}
