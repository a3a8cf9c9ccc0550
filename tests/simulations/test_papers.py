"""Claims of other papers: the worked example, the template of `exml new paper`, planted errors and bad packages."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import comb, prod
from pathlib import Path
from typing import Any

import pytest

from exml_sim.cli import main
from exml_sim.engine import BoundContext
from simulations import papers
from simulations.falsify._target import Target
from simulations.falsify.search import Limits, Outcome, search
from simulations.falsify.targets import find_target
from simulations.papers import BoundClaim, Paper, _build_bound_target, load_paper
from simulations.testing import Assumes
from tests.docs.pages import find_blocks, read, run_command
from theory.claims import read_own
from theory.claims.document import run
from theory.claims.registry import Registry

ROOT = Path(__file__).parents[2]
HALVING = load_paper(ROOT / "examples" / "halving")
CLAIMS = list(HALVING.registry.claims.values())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claims_of_the_example_are_as_recorded_and_planted_errors_are_caught(claim) -> None:
    checked = run(claim)
    assert checked.mutant is not None
    assert checked.problems == []
    asleep = run(dataclasses.replace(claim, mutant=claim.reading))
    assert "planted error pass" in asleep.problems[0]


@pytest.mark.parametrize("target", HALVING.targets, ids=lambda target: target.id)
def test_a_search_finds_no_violation_of_the_example(target) -> None:
    outcome = search(target, limits=Limits(evaluations=150))
    assert not outcome.violated
    assert not outcome.undecided
    assert outcome.measured.ratio <= 1


@pytest.mark.parametrize("id", HALVING.bounds)
def test_a_search_finds_the_planted_bound(id: str) -> None:
    bounded = HALVING.bounds[id]
    outcome = search(_build_bound_target(id, bounded.mutant, bounded.assumes, True), limits=Limits(evaluations=400))
    assert outcome.violated
    assert outcome.verdict is not None
    # The smallest violation may be too close for trials.
    assert outcome.verdict.trials == 200_000 or "By enumeration" in outcome.verdict.sentence
    assert outcome.verdict.alpha <= 1e-6


def fail_uniform(means: list[Fraction], budget: int) -> Fraction:
    """Sum over all counts of losses, in fractions: the best arm comes last, so that it loses ties."""
    n = budget // len(means)
    rows = [[comb(n, count) * mean**count * (1 - mean) ** (n - count) for count in range(n + 1)] for mean in means]
    total = Fraction(0)
    for counts in product(range(n + 1), repeat=len(means)):
        if min(counts[:-1]) <= counts[-1]:
            total += prod(row[count] for row, count in zip(rows, counts, strict=True))
    return total


def find_rare_violation() -> tuple[Target, Outcome]:
    """Search a bound that is too small only at rates that no number of trials can confirm."""

    def wrong_union(budget: int, context: BoundContext) -> float:
        return sum(math.exp(-1.3 * (budget // context.K) * gap**2) for gap in context.ordered)

    target = _build_bound_target("wrong-union", wrong_union, Assumes(distribution="bernoulli"), True)
    return target, search(target, limits=Limits(evaluations=600))


def test_a_violation_too_rare_for_trials_is_confirmed_by_enumeration() -> None:
    _, outcome = find_rare_violation()
    assert outcome.violated
    assert outcome.verdict is not None
    assert outcome.best is not None
    means = sorted((outcome.best[f"mean{i}"] for i in range(1, outcome.best.integer("arms") + 1)), reverse=True)
    p = fail_uniform(means, outcome.best.integer("budget"))
    gaps = [float(mean - means[-1]) for mean in means[:-1]]
    n = outcome.best.integer("budget") // len(means)
    assert p > sum(math.exp(-1.3 * n * gap**2) for gap in gaps)
    assert p < 1e-5
    assert outcome.verdict.rate == pytest.approx(float(p), rel=1e-9)
    assert "By enumeration" in outcome.verdict.sentence


def test_an_enumeration_that_trials_contradict_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted enumeration says 10 % too much; 200,000 trials tell it with an error probability below 1e-6."""
    right = papers.exact_instance

    def wrong(*given: Any) -> Any:
        known = right(*given)
        return known and dataclasses.replace(known, least=min(1.0, 1.1 * known.least), most=1.0)

    target, _ = find_rare_violation()
    table = {"arms": 2, "budget": 4, "mean1": "2/5", "mean2": "3/5", "mean3": 0, "mean4": 0}
    instance = target.space.read(table)
    assert "arms = 2, " in instance.describe()
    assert "mean2 = 3/5" in instance.describe()
    assert "mean3" not in instance.describe()
    always = _build_bound_target("planted", lambda budget, context: 0.5, Assumes(distribution="bernoulli"), True)
    assert always.confirm(instance, 1).outcome == "refuted"
    monkeypatch.setattr(papers, "exact_instance", wrong)
    verdict = always.confirm(instance, 1)
    assert verdict.outcome == "undecided"
    assert "fresh trials contradict" in verdict.sentence


def test_a_bound_is_tested_on_exact_and_counted_instances() -> None:
    claim = HALVING.registry.get("rejects-theorem-2")
    evidence = HALVING.test_claim(claim, seed=0)
    assert {cell.method for cell in evidence} == {"exact", "monte_carlo"}
    assert {cell.verdict.outcome for cell in evidence if cell.method == "exact"} == {"consistent", "vacuous"}
    assert not any(cell.verdict.outcome == "refuted" for cell in evidence)
    counted = [cell.verdict.alpha for cell in evidence if cell.method == "monte_carlo"]
    assert sum(counted) <= 1e-6 * (1 + 1e-9)
    right = HALVING.bounds[claim.id]
    wrong = dataclasses.replace(right, bound=right.mutant, corrected=right.bound)
    planted = Paper("planted", HALVING.registry, {claim.id: wrong}).test_claim(claim, seed=0)
    assert {cell.reading for cell in planted if cell.verdict.outcome == "refuted"} == {"paper"}


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of the page, on a new package and on the example; a replay needs the package, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = read("how-to/check-another-theory.md")
    outputs = {
        command: run_command(command.partition(" > ")[0], capsys)
        for _, block in find_blocks(page, "sh")
        for command in block.splitlines()
    }
    assert len(outputs) == 10
    assert "rows-per-arm: VIOLATED" in outputs["exml falsify rows-per-arm --from my_paper"]
    assert outputs["exml claims --from my_paper --check"].count("as recorded") == 3
    html = outputs["exml claims --from my_paper --html > my_paper.html"]
    assert html.count('<article class="claim"') == 3
    assert "Unknown Unknowns" not in html
    verified = outputs["exml verify --from examples/halving"]
    assert verified.startswith("Nothing that should hold is refuted.")
    rows = {line.split()[0]: line.split()[-1] for line in verified.splitlines() if "planted error caught" in line}
    assert f"a factor of {rows['rejects-theorem-2']}." in page
    assert f"at least {rows['halving-theorem-4-1']} times" in page
    replay = run_command("exml falsify --replay out/rows-per-arm.toml --from my_paper", capsys)
    assert "still violated" in replay
    # The template's own tests, in a process of their own.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "my_paper"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    assert "7 passed" in done.stdout, done.stdout


CLAIM = """
title = "Planted"
[[claim]]
id = "one"
section = "1"
label = "x"
line = 1
statement = 'x'
plain = "x"
printed = "holds"
kind = "inequality"
relation = "<="
"""
CHECK = """
from theory.claims import Check
CHECKS = {"one": Check(({"x": 1},), (lambda x: x, lambda x: 1 / (x - 1)), mutant=(lambda x: x, lambda x: 0))}
"""


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "there is no folder or package 'paper_0'"),
        ({"claims.toml": CLAIM}, "is no package: it needs __init__.py"),
        ({"__init__.py": "raise SystemExit(0)"}, "cannot be imported: SystemExit"),
        ({"__init__.py": "import no_such_module"}, "needs the package 'no_such_module'"),
        ({"__init__.py": ""}, "has no claims.toml; `exml new paper NAME`"),
        ({"__init__.py": "", "claims.toml": "title"}, "is not a TOML file"),
        ({"__init__.py": "", "claims.toml": "title = 'x'"}, "needs a title and at least one [[claim]]"),
        ({"__init__.py": "", "claims.toml": CLAIM}, "claim 'one' of paper_7 has no check"),
        ({"__init__.py": CHECK, "claims.toml": CLAIM.replace('plain = "x"', "")}, "lacks plain"),
        ({"__init__.py": CHECK, "claims.toml": CLAIM + "proven = true"}, "unknown entry 'proven'"),
        (
            {"__init__.py": CHECK, "claims.toml": CLAIM.replace('"holds"', '"true"')},
            "printed = 'true'; allowed are holds",
        ),
        ({"__init__.py": CHECK + "SPACES = {'two': None}", "claims.toml": CLAIM}, "does not state the claims two"),
        ({"__init__.py": CHECK + "BOUNDS = {'one': None}", "claims.toml": CLAIM}, "is in CHECKS and in BOUNDS"),
        ({"__init__.py": CHECK, "claims.toml": CLAIM}, "a side fails at x = 1: ZeroDivisionError"),
    ],
)
def test_bad_packages_are_one_line(
    files: dict[str, str] | None,
    message: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    # Every case has a name of its own, as modules stay imported.
    name = f"paper_{request.node.callspec.indices['files']}"
    if files is not None:
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["claims", "--check", "--from", name])
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize(
    ("claim", "message"),
    [("quality-order", "has no search space: give it a space in SPACES"), ("xyz", "give it a space in SPACES")],
)
def test_a_claim_without_a_space_is_one_line_with_the_remedy(claim: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_target(claim, (), read_own())


def test_a_bound_that_fails_is_one_line_with_its_place() -> None:
    broken = BoundClaim(lambda budget, context: 1 / 0, Assumes(distribution="bernoulli"), mutant=lambda *_: 0.0)
    with pytest.raises(ValueError, match=r"fails at means .*, budget 4: ZeroDivisionError"):
        broken.build_check().printed[1]("means 0.45, 0.55", 4)


@pytest.mark.parametrize(
    ("name", "message"),
    [("my-paper", "is no name of a package"), ("json", "is installed"), ("there", "exists already")],
)
def test_names_of_new_papers(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(SystemExit) as stop:
        main(["new", "paper", name])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert {entry.name for entry in tmp_path.iterdir()} == {"there"}


def test_a_space_needs_an_inequality() -> None:
    claim = dataclasses.replace(CLAIMS[0], reading=dataclasses.replace(CLAIMS[0].reading, relation="=="))
    registry = Registry({}, {})
    registry.__dict__["claims"] = {claim.id: claim}
    with pytest.raises(ValueError, match="which goes with <=, <, >= and >"):
        assert Paper("planted", registry, spaces={claim.id: HALVING.spaces[claim.id]}).targets
