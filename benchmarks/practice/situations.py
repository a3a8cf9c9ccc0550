"""From a table to a situation: a hidden class, perceived labels, a weak observed group, candidates and a budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.practice.tables import TABLES, FloatArray, IntArray
from benchmarks.practice.unseen import UNSEEN
from exml_sim.oracle import ArrayOracle

#: Largest numbers of rows to train and to test on.
TRAIN, TEST = 500, 1000

#: Share of the hidden rows that carry the first known label when mislabelling is lopsided.
LOPSIDED = 0.8


@dataclass(frozen=True, slots=True)
class Setting:
    """How situations are made of a table.

    Attributes
    ----------
    table, observed
        Name of the table, and its observed group.
    known
        Number of known classes; the hidden class is one more. Which ones depends on the seed.
    ratio
        Budget as a share of the price of everything.
    costs
        "equal", or "unequal": 1, 2, 5, 1, 2, 5, … by candidate.
    lopsided
        Whether most hidden rows carry the same known label.
    """

    table: str
    observed: str
    known: int
    ratio: Fraction
    costs: str = "equal"
    lopsided: bool = False

    @property
    def name(self) -> str:
        """For tables and keys."""
        extra = ("" if self.costs == "equal" else ", costs 1-2-5") + (", 80/20" if self.lopsided else "")
        return f"{self.table}/{self.observed} {self.known}+1, {float(self.ratio):.0%}{extra}"


def _both(table: str, observed: str, known: int, **more: object) -> list[Setting]:
    return [Setting(table, observed, known, Fraction(b, 100), **more) for b in (10, 30)]  # type: ignore[arg-type]


#: All settings of the benchmark.
SETTINGS: tuple[Setting, ...] = (
    *_both("mfeat", "mor", 2),
    *_both("mfeat", "fou", 4),
    *_both("digits", "lines 0-1", 2),
    *_both("digits", "lines 6-7", 4),
    *_both("wine", "acids", 2),
    *_both("iris", "sepal", 2),
    *_both("cancer", "surface", 2),
    *_both("diabetes", "person", 2),
    *_both("photos", "spread", 3),
    *_both("terrain", "relief", 2),
    *_both("seabed", "steepness", 2),
    *_both("faces", "spread", 2),
    *_both("angles", "observed", 2),
    *_both("patients", "history", 3),
    *_both("motions", "back", 4),
    Setting("photos", "spread", 2, Fraction(1, 5), "unequal"),
    Setting("cancer", "surface", 2, Fraction(1, 5), "unequal"),
    Setting("mfeat", "mor", 3, Fraction(1, 5), "unequal"),
    Setting("seabed", "steepness", 2, Fraction(1, 5), "unequal"),
    Setting("mfeat", "zer", 2, Fraction(1, 5), lopsided=True),
    Setting("digits", "lines 0-1", 3, Fraction(1, 5), lopsided=True),
    Setting("motions", "back", 2, Fraction(1, 5), lopsided=True),
)

#: Settings of tables that no constant was chosen on.
UNSEEN_SETTINGS: tuple[Setting, ...] = (
    *_both("olives", "stearic", 2),
    Setting("crabs", "CL", 2, Fraction(3, 10)),
    Setting("crabs", "CL", 3, Fraction(3, 10)),
    *_both("penguins", "body_mass_g", 2),
    Setting("leaves", "size", 2, Fraction(3, 10)),
    *_both("leaves", "size", 4),
    Setting("tissues", "three genes", 3, Fraction(3, 10)),
    *_both("jobs", "hour", 2),
    *_both("jobs", "hour", 3),
    Setting("olives", "stearic", 2, Fraction(1, 5), "unequal"),
    Setting("jobs", "hour", 2, Fraction(1, 5), "unequal"),
    Setting("leaves", "size", 3, Fraction(1, 5), lopsided=True),
    Setting("olives", "stearic", 2, Fraction(1, 5), lopsided=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """What a learner gets, and the truth about test rows (`hidden` is the number of known classes).

    Attributes
    ----------
    X, y, candidates
        Training rows: observed columns, perceived labels, columns of every candidate.
    unseen
        True classes of training rows, which no learner gets.
    X_test, truth, test
        Test rows: observed columns, true classes, columns of every candidate.
    costs, budget
        Prices per row, and all the money.
    """

    X: FloatArray
    y: IntArray
    candidates: dict[str, FloatArray]
    X_test: FloatArray
    truth: IntArray
    test: dict[str, FloatArray]
    costs: dict[str, int]
    budget: Fraction
    known: int
    unseen: IntArray

    @property
    def oracle(self) -> ArrayOracle:
        """A fresh source of candidate values."""
        return ArrayOracle(self.candidates, self.costs)


def law_of(known: int, first: float) -> FloatArray:
    """The law of mislabelling that gives the first known label a share, the others equal ones."""
    law = np.full(known, (1.0 - first) / (known - 1))
    law[0] = first
    return law


def situation(setting: Setting, seed: int, first: float | None = None) -> Situation:
    """Draw known and hidden classes, the split, mislabels: the paper's protocol for Mfeat, on any table.

    `first` is the share of hidden rows with the first known label; by default what the setting says.
    """
    table = (TABLES | UNSEEN)[setting.table]()
    rng = np.random.default_rng([seed, *setting.table.encode(), setting.known])
    roles = rng.permutation(int(table.classes.max()) + 1)[: setting.known + 1]
    classes = np.full(len(table.classes), -1)
    for new, old in enumerate(roles):
        classes[table.classes == old] = new
    rows = rng.permutation(np.flatnonzero(classes >= 0))
    cut = min(TRAIN, int(0.6 * len(rows)))
    learn, check = rows[:cut], rows[cut : cut + TEST]
    if first is None:
        first = LOPSIDED if setting.lopsided else 1.0 / setting.known
    die = rng.choice(setting.known, size=len(classes), p=law_of(setting.known, first))
    perceived = np.where(classes == setting.known, die, classes)
    names = [name for name in table.groups if name != setting.observed]
    prices = {name: (1, 2, 5)[i % 3] if setting.costs == "unequal" else 1 for i, name in enumerate(names)}
    return Situation(
        X=table.groups[setting.observed][learn],
        y=perceived[learn],
        candidates={name: table.groups[name][learn] for name in names},
        X_test=table.groups[setting.observed][check],
        truth=classes[check],
        test={name: table.groups[name][check] for name in names},
        costs=prices,
        budget=setting.ratio * cut * sum(prices.values()),
        known=setting.known,
        unseen=classes[learn],
    )
