"""The bench: all rules with a fixed budget on the families of arms of the literature, and where each of them wins.

Families as in Audibert, Bubeck and Munos (2010, Section 6): one group, two groups, arithmetic, geometric, three groups,
and sparse (one close rival). All rules see the same random numbers, so they are compared trial by trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exml_sim.engine.families import FAMILIES, LAWS
from exml_sim.engine.result import CellSummary, StudyResult
from exml_sim.engine.study import Study

#: What is called sequential halving forgets the pulls of earlier rounds; median elimination keeps them.
RULES: dict[str, str | dict[str, object]] = {
    "uniform": "uniform_allocation",
    "median elimination": "median_elimination",
    "sequential halving": {"name": "median_elimination", "accumulate": False},
    "successive rejects": "successive_rejects",
    "UGapEb": "ugap_eb",
    "OCBA": "ocba",
    "top two": "top_two",
}
#: Numbers of arms of the preset, and of the long one.
ARMS = (8, 32)
ALL_ARMS = (8, 16, 32, 64, 128)
#: Smallest gap and pulls per arm: at K = 8 the budget is 800.
GAP = 0.08
PER_ARM = 100
TRIALS = 10_000
#: Error probability of the comparisons of one place together.
LEVEL = 0.01


def make_study(trials: int = TRIALS, *, seed: int = 0, arms: Sequence[int] = ARMS) -> Study:
    """Rules x families x laws x numbers of arms."""
    return Study.from_table(
        {
            "name": "bench of strategies",
            "trials": trials,
            "seed": seed,
            "strategies": list(RULES.values()),
            "budgets": {"per_arm": [PER_ARM]},
            "pools": [
                {"kind": "family", "family": family, "law": law, "gap": GAP, "label": f"{family}, {law}"}
                for law in LAWS
                for family in FAMILIES
            ],
            "grid": {"K": list(arms)},
        }
    )


@dataclass(frozen=True, slots=True)
class Place:
    """One pool: failure rates of all rules, and the rules that no other rule certainly beats there."""

    pool: str
    rates: dict[str, CellSummary]
    best: tuple[str, ...]


def places(result: StudyResult) -> list[Place]:
    """Every pool of the bench, in the order of the study."""
    names = {spec.label: name for spec, name in zip(result.study.strategies, RULES, strict=True)}
    pools: dict[str, dict[str, CellSummary]] = {}
    for one in result.summary():
        pools.setdefault(one.pool, {})[names[one.strategy]] = one
    return [Place(pool, cells, _best(result, cells)) for pool, cells in pools.items()]


def _best(result: StudyResult, cells: dict[str, CellSummary]) -> tuple[str, ...]:
    """The rule with the fewest failures, and those that the sign test on the same trials cannot tell from it."""
    first = min(cells, key=lambda name: cells[name].failure_rate)
    level = 1.0 - LEVEL / max(len(cells) - 1, 1)
    close = [name for name in cells if name == first or _open(result, cells[first], cells[name], level)]
    return tuple(close)


def _open(result: StudyResult, first: CellSummary, second: CellSummary, level: float) -> bool:
    found = result.compare(second.cell, first.cell, level)
    return bool(found.lower <= 0.0 <= found.upper)


def table(found: Sequence[Place]) -> list[str]:
    """Rates in percent, pools down and rules across; a star marks the rules that win."""
    width = max(len(place.pool) for place in found)
    head = f"{'failures in %':{width}}" + "".join(f"  {name:>20}" for name in RULES)
    lines = [head]
    for place in found:
        cells = (f"{100 * place.rates[name].failure_rate:.2f}{'*' if name in place.best else ' '}" for name in RULES)
        lines.append(f"{place.pool:{width}}" + "".join(f"  {cell:>20}" for cell in cells))
    return lines


def sentences(found: Sequence[Place]) -> list[str]:
    """Where each rule wins, alone or with others."""
    lines = []
    for name in RULES:
        alone = [place.pool for place in found if place.best == (name,)]
        shared = sum(name in place.best for place in found) - len(alone)
        where = f": {'; '.join(alone)}" if alone else ""
        lines.append(
            f"{name} wins alone on {len(alone)} of {len(found)} pools and shares the place on {shared}{where}."
        )
    return lines
