"""Turn a table into a situation: known classes, a hidden class, observed labels, candidates and a budget."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.practice.many import MIN_CLASS_ROWS, SOURCES, load_grouped
from benchmarks.practice.tables import TABLES, FloatArray, IntArray, Table
from benchmarks.practice.unseen import UNSEEN
from exml_sim.oracle import ArrayOracle

#: Largest numbers of rows to train and to test on.
MAX_TRAINING_ROWS, MAX_TEST_ROWS = 500, 1000

#: Size of the hidden class by kind: a share of all rows, or a multiple of an average known class.
SHARES = {"none": 0.0, "5 %": 0.05, "15 %": 0.15}
SIZES = {"full": 1.0, "very large": 1.7}
KINDS = (*SHARES, *SIZES)

#: Share of hidden rows with the first known label where they are labelled alike, and how often that is.
ALIKE, ALIKE_FREQUENCY = 0.75, 0.2

#: Budgets as a share of the cost of all values, by seed modulo 3.
BUDGETS = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10))

#: Observed group of the tables whose groups were made by hand.
OBSERVED = {
    "mfeat": "mor",
    "digits": "lines 0-1",
    "wine": "acids",
    "iris": "sepal",
    "cancer": "surface",
    "diabetes": "person",
    "photos": "spread",
    "terrain": "relief",
    "seabed": "steepness",
    "faces": "spread",
    "angles": "observed",
    "patients": "history",
    "motions": "back",
    "olives": "stearic",
    "crabs": "CL",
    "penguins": "body_mass_g",
    "leaves": "size",
    "tissues": "three genes",
    "jobs": "hour",
}


def read_split() -> dict[str, list[str]]:
    """Read which tables constants were chosen on, and which tables results are reported on."""
    split = json.loads(Path(__file__).with_name("split.json").read_text(encoding="utf-8"))
    return {"choosing": [*split["tuned"], *split["choosing"]], "reporting": split["reporting"]}


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """What a learner gets, and the truth about test rows (the hidden class is the number of known classes).

    Attributes
    ----------
    X, y, candidates
        Training rows: observed columns, observed labels, columns of every candidate.
    unseen
        True classes of training rows, which no learner gets.
    X_test, truth, test
        Test rows: observed columns, true classes, columns of every candidate.
    test_labels
        Observed labels of the test rows.
    costs, budget
        Costs per value, and all the money.
    """

    X: FloatArray
    y: IntArray
    candidates: dict[str, FloatArray]
    X_test: FloatArray
    truth: IntArray
    test: dict[str, FloatArray]
    test_labels: IntArray
    costs: dict[str, int]
    budget: Fraction
    known: int
    unseen: IntArray

    @property
    def oracle(self) -> ArrayOracle:
        """A new source of candidate values."""
        return ArrayOracle(self.candidates, self.costs)


def label_noise_of(known: int, first: float) -> FloatArray:
    """Return the label noise that gives the first known label a share, and the others equal ones."""
    noise = np.full(known, (1.0 - first) / (known - 1))
    noise[0] = first
    return noise


def load(name: str) -> tuple[Table, str]:
    """Load a table by name, and name its observed group."""
    if name in SOURCES:
        return load_grouped(name)
    return (TABLES | UNSEEN)[name](), OBSERVED[name]


def draw_situation(name: str, kind: str, seed: int, known: int | None = None, first: float | None = None) -> Situation:
    """Draw classes, rows, label noise, costs and budget by a seed.

    Parameters
    ----------
    name, kind
        The table, and the size of the hidden class (`KINDS`).
    known
        Number of known classes; 2, 3 or 4 by the seed unless given.
    first
        Share of hidden rows with the first known label; by the seed unless given.
    """
    table, observed = load(name)
    rng = np.random.default_rng([seed, *name.encode()])
    large = np.flatnonzero(np.bincount(table.classes) >= (MIN_CLASS_ROWS if name in SOURCES else 20))
    drawn = int(rng.choice([2, 2, 2, 3, 3, 4]))
    known = min(drawn, len(large) - 1) if known is None else known
    classes = np.full(len(table.classes), -1)
    for new, old in enumerate(rng.permutation(large)[: known + 1]):
        classes[table.classes == old] = new
    rows = _draw_rows(classes, known, SHARES[kind] if kind in SHARES else SIZES[kind] / (known + SIZES[kind]), rng)
    cut = min(MAX_TRAINING_ROWS, int(0.6 * len(rows)))
    learn, check = rows[:cut], rows[cut : cut + MAX_TEST_ROWS]
    alike = rng.random() < ALIKE_FREQUENCY
    if first is None:
        first = ALIKE if alike else 1.0 / known
    noise = rng.choice(known, size=len(classes), p=label_noise_of(known, first))
    labels = np.where(classes == known, noise, classes)
    names = [group for group in table.groups if group != observed]
    costs = {group: (1, 2, 5)[i % 3] if seed % 5 == 4 else 1 for i, group in enumerate(names)}
    return Situation(
        X=table.groups[observed][learn],
        y=labels[learn],
        candidates={group: table.groups[group][learn] for group in names},
        X_test=table.groups[observed][check],
        truth=classes[check],
        test={group: table.groups[group][check] for group in names},
        test_labels=labels[check],
        costs=costs,
        budget=BUDGETS[seed % 3] * cut * sum(costs.values()),
        known=known,
        unseen=classes[learn],
    )


def _draw_rows(classes: IntArray, known: int, share: float, rng: np.random.Generator) -> IntArray:
    """Draw as many rows as possible of which a share is hidden, in random order."""
    ours = rng.permutation(np.flatnonzero((classes >= 0) & (classes < known)))
    hidden = rng.permutation(np.flatnonzero(classes == known))
    wanted = round(share / (1.0 - share) * len(ours))
    if wanted > len(hidden):
        ours = ours[: round((1.0 - share) / share * len(hidden))]
    return np.asarray(rng.permutation(np.concatenate([ours, hidden[:wanted]])), dtype=np.int64)
