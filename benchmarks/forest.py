"""Time of the compiled forest over that of scikit-learn: ``python -m benchmarks.forest [--repeats N]``.

Both grow the same number of trees on the same rows and predict the rows that a tree did not draw, on one core. The
least processor time of several repeats counts. A ratio of 10 means that scikit-learn takes ten times as long.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from exml_sim._internal.threads import one_thread
from exml_sim.classifier._regression import grow_forest
from exml_sim.classifier.constants import N_TREES

ROWS = (32, 120, 400, 1_500)
#: Columns, and classes whose indicators are the targets.
COLUMNS, CLASSES = 10, 3


def measure(work: Callable[[], object], repeats: int) -> float:
    """Return the least seconds of processor time of several runs; the first run, which may compile, does not count."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def main() -> None:
    """Print one line per number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    peer = RandomForestRegressor(N_TREES, max_features="sqrt", oob_score=True, random_state=0, n_jobs=1)
    print(f"| rows | forest of {N_TREES} trees (ms) | RandomForestRegressor (ms) | ratio |")
    print("|---|---|---|---|")
    for rows in ROWS:
        rng = np.random.default_rng(0)
        classes = rng.integers(0, CLASSES, rows)
        X, T = rng.normal(size=(rows, COLUMNS)) + classes[:, None], np.eye(CLASSES)[classes]
        with one_thread("blas"):
            ours = measure(partial(grow_forest, X, T, N_TREES, 0), repeats)
            theirs = measure(partial(peer.fit, X, T), repeats)
        print(f"| {rows:,} | {1e3 * ours:.1f} | {1e3 * theirs:.1f} | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
