"""What Theorems 3 to 5 say about a known population from its gaps alone, so that no bound here is above theirs.

The moments of a statistic fall like a power of n, the older bounds exponentially: for very small levels they win.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from theory import tighter
from theory.population.design import Design
from theory.population.model import PopulationModel

__all__ = ["by_numbers"]


def by_numbers(
    pool: PopulationModel,
    budget: int,
    strategy: Literal["uniform", "median"],
    rows: Literal["accumulated", "fresh"],
    design: Design,
) -> float:
    """The bound of `theory.tighter`, or 1 where it does not apply: a penalised score, prices, no gap."""
    if pool.ball is None or design.costs is not None:
        return 1.0
    arguments = _arguments(pool)
    if arguments is None:
        return 1.0
    arguments |= {"pairing": design.pairing, "population": None if design.replacement else pool.n_rows}
    if strategy == "uniform":
        value = tighter.delta_fail_uniform(budget, **arguments, strict=False)
    else:
        value = tighter.delta_fail_median(budget, **arguments, rows=rows, strict=False)
    found = float(np.asarray(value))
    # A formula of a few dozen operations on logarithms of at most 1e3.
    return min(1.0, found * (1.0 + 1e-10)) if np.isfinite(found) else 1.0


def _arguments(pool: PopulationModel) -> dict[str, Any] | None:
    """K, gaps, theta and kappa Lambda; a gap is from the worst best arm, less what ties and rounding may take."""
    if "gaps" not in pool.cache:
        low, high = pool.intervals
        worst = max(float(high[j]) for j in pool.best_arms)
        rivals = [float(low[i]) - worst - pool.resolution - 1e-12 for i in pool.rivals]
        pool.cache["gaps"] = rivals
    gaps = pool.cache["gaps"]
    if min(gaps) <= 0.0:
        return None
    return {
        "K": pool.n_arms,
        "gap": None,
        "gaps": np.array([0.0] * (len(pool.best_arms) - 1) + sorted(gaps)),
        "theta": pool.theta,
        "kappa_lambda": pool.kappa * pool.radius,
        "kernel": "nonnegative" if pool.nonnegative else "any",
    }
