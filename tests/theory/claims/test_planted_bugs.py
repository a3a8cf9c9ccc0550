"""Bugs planted in the library, not in the claims: the registry notices each of them by name."""

import ast
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import theory
from theory import corrected, paper
from theory.claims import _instances as rounds
from theory.claims import get, theorem_1
from theory.claims.document import run

NAMES = {
    paper: "lemma_4 delta_fail_uniform delta_fail_median excess_risk_uniform excess_risk_median excess_risk_supervised "
    "exploratory_regret_median",
    corrected: "lemma_4 term_d delta_fail_uniform",
}
ORIGINAL = {(module, name): getattr(module, name) for module, names in NAMES.items() for name in names.split()}


def scaled(module, name, factor):
    """The function times a factor."""
    return lambda *args, **options: factor * ORIGINAL[module, name](*args, **options)


def without_arms(B, K, *args, log=False, **options):
    """Eq. 9 with K - 1 forgotten."""
    value = ORIGINAL[paper, "delta_fail_uniform"](B, K, *args, log=True, **options) - np.log(K - 1.0)
    return value if log else np.exp(value)


def half_the_prefactor(*args, log=False, **options):
    """Eq. 11 with 4 in place of 8."""
    value = ORIGINAL[paper, "delta_fail_median"](*args, log=True, **options) - math.log(2)
    return value if log else np.exp(value)


def lemma_4_without_range(n, gap, theta, r, *, log=False, strict=True):
    """The corrected Lemma 4 with M forgotten."""
    rate = gap / 2 - 2 * (1 - theta) / (1 - 2 * theta) * r / math.sqrt(n)
    value = math.log(2) - 2 * n * rate**2
    return value if log else math.exp(value)


def uniform_without_range(B, K, gap, theta, r, *, best_count=1, strict=True):
    """The corrected Lemma 1 with M forgotten."""
    return (K - best_count) * lemma_4_without_range(B // K, gap, theta, r)


def term_d_without_range(m, theta, r, delta):
    """The corrected term (d) with M forgotten."""
    return math.sqrt(math.log(1 / delta) / (2 * m))


def halving_down(B, K):
    """Algorithm 1 with the kept half rounded down (and at least one arm kept)."""
    rounds = (K - 1).bit_length()
    active = [K]
    for _ in range(rounds - 1):
        active.append(max(1, active[-1] // 2))
    pulls = [B // (rounds * a) for a in active]
    spent = sum(a * n for a, n in zip(active, pulls, strict=True))
    return SimpleNamespace(active=np.array(active), pulls=np.array(pulls), spent=spent)


#: Module, name, replacement, and the claim that notices it.
BUGS = {
    "K - 1 forgotten": (paper, "delta_fail_uniform", without_arms, "a2-delta-line-1"),
    "4 for 8 in Eq. 11": (paper, "delta_fail_median", half_the_prefactor, "a3-delta"),
    "range forgotten in the corrected lemma 4": (corrected, "lemma_4", lemma_4_without_range, "lemma-4"),
    "range forgotten in the corrected lemma 1": (corrected, "delta_fail_uniform", uniform_without_range, "lemma-1-i"),
    "range forgotten in the corrected term d": (corrected, "term_d", term_d_without_range, "term-d"),
    "halves rounded down": (rounds, "halving_schedule", halving_down, "me-sample-count"),
    "Rademacher constant too small": (theorem_1, "rademacher_constant", lambda theta: 0.9, "a2-step-4"),
    **{
        f"{name} times {factor}": (paper, name, scaled(paper, name, factor), claim_id)
        for name, factor, claim_id in (
            ("lemma_4", 0.5, "a6-conclusion"),
            ("excess_risk_uniform", 1.01, "a2-sum"),
            ("excess_risk_median", 1.01, "a3-sum"),
            ("excess_risk_supervised", 1.01, "remark-6-sqrt-k"),
            ("exploratory_regret_median", 1.01, "remark-7-sqrt-log"),
        )
    },
}


@pytest.mark.parametrize("bug", sorted(BUGS))
def test_a_planted_bug_is_noticed(bug, monkeypatch):
    module, name, replacement, claim_id = BUGS[bug]
    assert run(get(claim_id)).as_recorded
    monkeypatch.setattr(module, name, replacement)
    assert not run(get(claim_id)).as_recorded


def test_the_registry_imports_numpy_and_scipy_only():
    """theory knows numbers only: nothing of the system, nothing beyond numpy and scipy."""
    folder = Path(theory.__file__).parent
    files = [folder / "exact.py", folder / "verdicts.py", *sorted((folder / "claims").glob("*.py"))]
    assert len(files) > 10
    allowed = {"numpy", "scipy", "theory"}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module]
            roots = {name.split(".")[0] for name in names}
            outside = {root for root in roots if root not in allowed and root not in sys.stdlib_module_names}
            assert not outside, f"{path.name} imports {outside}"
