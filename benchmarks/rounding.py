"""Floating-point bounds against exact values: ``python -m benchmarks.rounding [--points N]``.

The N points are shared by all functions; where a premise fails by rounding, a point is not counted.
A share of at most 16 is what docs/proofs.md states.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.rounding_checks import CHECKS, UNIT, compare


def main() -> None:
    """Print one line per function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_200_000)
    parser.add_argument("--seed", type=int, default=20261116)
    options = parser.parse_args()
    each = -(-options.points // len(CHECKS))
    start = time.process_time()
    print(f"| function | points | floats below the exact value | largest deficit / (2^{int(np.log2(UNIT))} * sizes) |")
    print("|---|---|---|---|")
    total, worst = 0, -np.inf
    for index, check in enumerate(CHECKS):
        result = compare(check, each, np.random.default_rng([options.seed, index]))
        total, worst = total + result.points, max(worst, result.worst)
        print(f"| `{result.name}` | {result.points:,} | {result.below:,} | {result.worst:.3f} |", flush=True)
    seconds = time.process_time() - start
    print(f"\n{total:,} points, largest share {worst:.3f}, {seconds:.0f} s of processor time.")


if __name__ == "__main__":
    main()
