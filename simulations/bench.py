"""Benchmark of strategies with a fixed budget on the families of arms of the literature.

Families as in Audibert, Bubeck and Munos (2010, Section 6): one group, two groups, arithmetic, geometric, three groups,
and sparse (one close rival). All strategies see the same random numbers, so they are compared trial by trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exml_sim.engine.pools import DISTRIBUTIONS, FAMILIES
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
#: Error probability of the comparisons on one pool together.
ALPHA = 0.01


def make_study(trials: int = TRIALS, *, seed: int = 0, arms: Sequence[int] = ARMS) -> Study:
    """Make the study: strategies x families x distributions x numbers of arms."""
    return Study.from_table(
        {
            "name": "bench of strategies",
            "trials": trials,
            "seed": seed,
            "strategies": [
                {**({"name": rule} if isinstance(rule, str) else rule), "label": name} for name, rule in RULES.items()
            ],
            "budgets": {"per_arm": [PER_ARM]},
            "pools": [
                {
                    "kind": "family",
                    "family": family,
                    "distribution": distribution,
                    "gap": GAP,
                    "label": f"{family}, {distribution}",
                    "sweep": {"K": list(arms)},
                }
                for distribution in DISTRIBUTIONS
                for family in FAMILIES
            ],
        }
    )


@dataclass(frozen=True, slots=True)
class Ranking:
    """Failure rates of all strategies on one pool, and the strategies that no other one significantly beats there."""

    pool: str
    rates: dict[str, CellSummary]
    best: tuple[str, ...]


def rank_strategies(result: StudyResult) -> list[Ranking]:
    """Rank the strategies on every pool of the bench, in the order of the study."""
    pools: dict[str, dict[str, CellSummary]] = {}
    for summary in result.summary():
        pools.setdefault(summary.pool, {})[summary.strategy] = summary
    return [Ranking(pool, cells, _find_best(result, cells)) for pool, cells in pools.items()]


def _find_best(result: StudyResult, cells: dict[str, CellSummary]) -> tuple[str, ...]:
    """Find the strategy with the fewest failures, and those that a sign test on the same trials cannot distinguish."""
    first = min(cells, key=lambda name: cells[name].failure_rate)
    level = 1.0 - ALPHA / max(len(cells) - 1, 1)
    pairs = {name: result.compare(cells[name].cell, cells[first].cell, level) for name in cells if name != first}
    return tuple(name for name in cells if name == first or pairs[name].lower <= 0.0 <= pairs[name].upper)


def format_table(rankings: Sequence[Ranking]) -> list[str]:
    """Write rates in percent, pools down and strategies across; a star marks the best strategies."""
    width = max(len(ranking.pool) for ranking in rankings)
    lines = [f"{'failures in %':{width}}" + "".join(f"  {name:>20}" for name in RULES)]
    for ranking in rankings:
        rates = {name: 100 * ranking.rates[name].failure_rate for name in RULES}
        cells = (f"{rate:.2f}{'*' if name in ranking.best else ' '}" for name, rate in rates.items())
        lines.append(f"{ranking.pool:{width}}" + "".join(f"  {cell:>20}" for cell in cells))
    return lines


def write_winners(rankings: Sequence[Ranking]) -> list[str]:
    """Say where each strategy is best, alone or with others."""
    lines = []
    for name in RULES:
        alone = [ranking.pool for ranking in rankings if ranking.best == (name,)]
        shared = sum(name in ranking.best for ranking in rankings) - len(alone)
        where = f": {'; '.join(alone)}" if alone else ""
        lines.append(f"{name} is best alone on {len(alone)} of {len(rankings)} pools, with others on {shared}{where}.")
    return lines
