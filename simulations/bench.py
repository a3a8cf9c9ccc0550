"""Benchmark of strategies with a fixed budget on the families of arms of the literature.

Families as in Audibert, Bubeck and Munos (2010, Section 6): one group, two groups, arithmetic, geometric, three groups,
and sparse (one close rival). All strategies see the same random numbers, so they are compared trial by trial.
"""

from __future__ import annotations

from collections.abc import Sequence

from exml_sim.engine.pools import DISTRIBUTIONS, FAMILIES
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
