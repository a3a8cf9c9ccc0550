"""Excess risk on Section 5.1's distribution where the model accepts rows: truth, Theorem 6 (ii), limits from counts.

Run ``python -m benchmarks.risk_limits``; ``--trials`` changes the number of trials per line. It exits with 1 if a mean
limit is above its promise, or if more risks are above their limits than chance allows.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from exml_sim.engine._specs import Score
from exml_sim.engine.modes._excess_risk import truth
from exml_sim.engine.pools import SyntheticPool
from simulations.verification._limit_trials import ANGLES, GAMMA, run_trials
from theory import tighter
from theory.verdicts import critical_count

DELTA = 0.05
#: Strategy, theta, kappa Lambda, rows per arm of uniform allocation, and the largest mean limit that is promised.
LINES = (
    ("uniform", 0.1, 4.0, 300, None),
    ("uniform", 0.1, 8.0, 300, None),
    ("uniform", 0.1, 8.0, 600, 0.09),
    ("uniform", 0.1, 16.0, 600, None),
    ("uniform", 0.3, 4.0, 300, 0.22),
    ("median", 0.1, 8.0, 300, None),
    ("median", 0.1, 8.0, 600, 0.09),
    ("median", 0.3, 4.0, 300, 0.22),
)
HEADER = "| strategy | θ | κΛ | rows per arm | accepted | true risk | limit | limit of the mean risk | Theorem 6 |"


def main() -> int:
    """Print the table; return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    given = parser.parse_args()
    print(f"{HEADER}\n|{9 * '---|'}")
    broken, above = False, 0
    for strategy, theta, kappa_lambda, rows, promise in LINES:
        trials = list(run_trials(strategy, theta, kappa_lambda, rows, range(given.trials), 0, DELTA))
        table = np.array(
            [
                [t.accepted, t.risk, t.limit, t.mean_limit, t.limit - t.tested_risk, t.mean_limit - t.mean_risk]
                for t in trials
            ]
        )
        above += int((table[:, 4:] < 0).sum())
        accepted, risk, limit, mean_limit = table.mean(axis=0)[:4]
        broken |= promise is not None and not limit <= promise
        known = truth(SyntheticPool(angles=ANGLES, gamma=GAMMA), Score(theta=theta, ball=kappa_lambda), 0)
        bound = tighter.excess_risk_uniform if strategy == "uniform" else tighter.excess_risk_median
        point = (rows * len(ANGLES), len(ANGLES), theta, kappa_lambda, DELTA)
        excess = float(bound(*point, approximation_error=known.surrogate - known.bayes, kernel="nonnegative"))
        print(
            f"| {strategy} | {theta} | {kappa_lambda:g} | {rows} | {accepted:.0%} | {risk:.3f} | {limit:.3f} | "
            f"{mean_limit:.3f} | {excess + known.bayes:.2f} |",
            flush=True,
        )
    limits = 2 * given.trials * len(LINES)
    print(f"\nRejecting everything has risk θ. {above} of {limits} risks are above their limits at δ = {DELTA}.")
    return int(broken or above >= critical_count(limits, DELTA, 1e-6))


if __name__ == "__main__":
    sys.exit(main())
