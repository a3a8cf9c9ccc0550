"""Estimates of label noise, and what they are worth: ``python -m benchmarks.label_noise``.

Rows with one to three candidates of the tables of `benchmarks.practice`; the first known label is carried by a share of
the hidden rows, or there is no hidden class at all. For every share: the estimate, how often the shares that it leaves
open hold the true one, and the accuracy of the layer on test rows (the hidden class is one) with the true label noise,
the fair die, and the estimate.

The constants of `exml_sim/classifier/constants.py` were chosen with seeds below 100.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from benchmarks.practice.situations import Situation, draw_situation, label_noise_of
from benchmarks.practice.tables import FloatArray, IntArray
from benchmarks.practice.unseen import HINT, there
from exml_sim._internal.threads import one_thread
from exml_sim.classifier._latent_class import fit_em, uniform_noise
from exml_sim.classifier._probability_models import make_fitter

#: Table, and the numbers of known classes that it has enough classes for.
TABLES = (
    ("mfeat", (2, 3, 4)),
    ("digits", (2, 3, 4)),
    ("wine", (2,)),
    ("iris", (2,)),
    ("photos", (2, 3)),
    ("motions", (2, 3, 4)),
    ("angles", (2,)),
    ("patients", (2, 3)),
)
UNSEEN_TABLES = (("olives", (2,)), ("leaves", (2, 3, 4)), ("jobs", (2, 3)), ("crabs", (2, 3)))
SHARES = (0.65, 0.8, 0.9)
ROWS = (60, 120, 250)
FIRST_SEED = 100

#: Name of the distribution without a hidden class.
NONE = "none hidden"


def draw_rows(task: Situation, rows: int, seed: int) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """Random training rows with some candidates, their labels and true classes, and the test rows."""
    rng = np.random.default_rng([seed, 7])
    names = list(task.candidates)
    chosen = [names[i] for i in rng.permutation(len(names))[: 1 + seed % 3]]
    permutation = rng.permutation(len(task.y))[:rows]
    train = np.hstack([task.X, *(task.candidates[name] for name in chosen)])[permutation]
    return (
        train,
        task.y[permutation],
        task.unseen[permutation],
        np.hstack([task.X_test, *(task.test[name] for name in chosen)]),
    )


def cases(seeds: int) -> Iterator[tuple[tuple[int, str, int], FloatArray, tuple[FloatArray, ...]]]:
    """Known classes and rows by name; the distribution; training rows, labels, test rows and their classes."""
    for table, counts in TABLES + (UNSEEN_TABLES if there() else ()):
        for known in counts:
            for first in (1.0 / known, *SHARES):
                for seed in range(FIRST_SEED, FIRST_SEED + seeds):
                    task = draw_situation(table, "full", seed, known, first)
                    for rows in ROWS:
                        train, y, true, test = draw_rows(task, rows, seed)
                        if len(y) < rows or len(np.unique(y)) < known:
                            continue
                        name = "fair" if first == 1.0 / known else f"{first:.0%}"
                        yield (known, name, rows), label_noise_of(known, first), (train, y, test, task.truth)
                        ours, theirs = true < known, task.truth < known
                        if name == "fair" and len(np.unique(y[ours])) == known:
                            result = (train[ours], y[ours], test[theirs], task.truth[theirs])
                            yield (known, NONE, rows), uniform_noise(known), result


def judge_estimate(
    distribution: FloatArray, train: FloatArray, y: IntArray, test: FloatArray, truth: IntArray
) -> list[float]:
    """Estimate, whether it is open, accuracies with the true distribution, the fair die, the estimate."""
    known = len(distribution)
    fit = make_fitter("mean", len(y), 0)
    layers = [fit_em(fit, train, y, known, value) for value in (distribution, uniform_noise(known), None)]
    estimate = layers[-1].label_noise
    assert estimate is not None
    low, high = estimate.range
    accuracies = []
    for layer in layers:
        winner, accepted, _ = layer.model.evaluate(test)
        accuracies.append(float(np.mean(np.where(accepted, winner, known) == truth)))
    return [float(estimate.estimate[0]), float(low[0] - 1e-9 <= distribution[0] <= high[0] + 1e-9), *accuracies]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_noise", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    if not there():
        print(HINT)
    result: dict[tuple[int, str, int], list[list[float]]] = defaultdict(list)
    with one_thread():
        for key, distribution, rows in cases(given.seeds):
            result[key].append(judge_estimate(distribution, *rows))
    print(
        "| known classes | first label | rows | runs | estimate | left open | true label noise | fair die | estimate |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for (known, name, rows), lines in sorted(result.items()):
        share, left_open, *accuracies = np.mean(lines, axis=0)
        seen = "- | -" if name == NONE else f"{share:.0%} | {left_open:.0%}"
        print(f"| {known} | {name} | {rows} | {len(lines)} | {seen} | {' | '.join(f'{a:.1%}' for a in accuracies)} |")
    covered = np.mean([line[1] for key, lines in result.items() if key[1] != NONE for line in lines])
    print(f"\nThe true share is left open in {covered:.0%} of all runs with a hidden class.")


if __name__ == "__main__":
    main()
