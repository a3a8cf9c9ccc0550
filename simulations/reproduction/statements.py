"""What Section 5 says in words, each statement with the test that decides whether it is reproduced.

Three kinds of comparison, all by one-sided paired t-tests over configurations:

- "ahead": the first mean is above the second at the 5 % level, in every instance;
- "at least": the first mean is not below the second, at the 5 % level for all instances of the statement together
  (Bonferroni);
- "close": as "at least", after 2 points are added to the first.

A statement is reproduced if all of its instances are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from scipy import stats as scipy_stats

from exml_sim.arrays import FloatArray, IntArray
from simulations.reproduction import cells as stats
from simulations.reproduction.cells import (
    AUG_ME,
    CSD_ME,
    CSD_UA,
    SIGNIFICANCE,
    SL,
    TABLE_2,
    Method,
    TableCell,
    better,
)
from simulations.reproduction.mfeat import GOOD, POOR
from simulations.reproduction.results import Configuration
from simulations.tables import markdown_table

#: Points of accuracy that count as close: the paper's own cascade is up to 1.6 below the better of its two layers.
CLOSE = 2.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: where, which numbers, p-value of the deciding test, and what it says."""

    where: str
    first: float
    second: float
    p: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of the paper and its instances.

    Attributes
    ----------
    statement
        What the paper says, in our words.
    test
        What was tested.
    """

    statement: str
    test: str
    instances: tuple[Comparison, ...]

    @property
    def reproduced(self) -> bool:
        """Whether all instances hold."""
        return all(one.holds for one in self.instances)


Pair = tuple[str, FloatArray, FloatArray]


def ahead(statement: str, pairs: Iterable[Pair], what: str) -> Statement:
    """The first is better in every instance."""
    found = []
    for where, first, second in pairs:
        p = better(first, second)
        found.append(Comparison(where, float(np.mean(first)), float(np.mean(second)), p, p < SIGNIFICANCE))
    return Statement(statement, f"{what}: paired t-test, p < 0.05 in every instance", tuple(found))


def at_least(statement: str, pairs: Sequence[Pair], what: str, margin: float = 0.0) -> Statement:
    """The first is not worse (by more than the margin) in any instance."""
    level = SIGNIFICANCE / len(pairs)
    found = []
    for where, first, second in pairs:
        p = better(second, first, margin)
        found.append(Comparison(where, float(np.mean(first)), float(np.mean(second)), p, p >= level))
    slack = f" by more than {margin:g} points" if margin else ""
    return Statement(statement, f"{what}: not below{slack} by a paired t-test, 5 % for all together", tuple(found))


class _Cells:
    """Cells of one experiment, by method, group and budget."""

    def __init__(self, configurations: Sequence[Configuration], thetas_by: str) -> None:
        self.configurations, self._thetas_by = configurations, thetas_by

    def of(self, group: str, method: Method, budget: int) -> TableCell:
        return stats.cell(self.configurations, group, method, budget, self._thetas_by)

    def pairs(self, first: Method, second: Method, groups: Iterable[str], budgets: Iterable[int]) -> list[Pair]:
        budgets = tuple(budgets)
        return [
            (f"{group}, {budget} %", self.of(group, first, budget).accuracy, self.of(group, second, budget).accuracy)
            for group in groups
            for budget in budgets
        ]


def of_table_1(configurations: Sequence[Configuration], budgets: Sequence[int], thetas_by: str) -> list[Statement]:
    """Section 5.2."""
    cells = _Cells(configurations, thetas_by)
    views = (*GOOD, *POOR)
    last = max(budgets)

    def supervised(view: str) -> FloatArray:
        return cells.of(view, SL, last).accuracy

    good = np.mean([supervised(view) for view in GOOD], axis=0)
    # The printed table itself has aug/ME below SL on Zer at 10 %, and level with it on Fou.
    augmented = [pair for pair in cells.pairs(AUG_ME, SL, POOR, budgets) if pair[0] not in ("zer, 10 %", "fou, 10 %")]
    order = [(f"{a} over {b}", supervised(a), supervised(b)) for a, b in pairwise(views)]
    return [
        at_least("The views are ordered by quality: Fac, Pix, Kar, Zer, Fou, Mor.", order, "SL on adjacent views"),
        at_least(
            "On good views SL does well and nothing need be explored.",
            cells.pairs(SL, AUG_ME, GOOD, budgets),
            "SL against aug/ME",
        ),
        ahead(
            "On poor views SL degenerates.",
            [(view, good, supervised(view)) for view in POOR],
            "SL, mean of good views against each poor one",
        ),
        ahead("On poor views the augmented model beats SL.", augmented, "aug/ME against SL, where the paper has it"),
        at_least(
            "ExML is at least as good as SL on poor views.",
            cells.pairs(CSD_ME, SL, POOR, budgets),
            "csd/ME against SL",
        ),
        ahead(
            "With the largest budget ExML beats SL on poor views.",
            cells.pairs(CSD_ME, SL, POOR, [last]),
            "csd/ME against SL",
        ),
        at_least(
            "Median elimination is at least as good as uniform allocation.",
            cells.pairs(CSD_ME, CSD_UA, views, budgets),
            "csd/ME against csd/UA",
        ),
        at_least(
            "The cascade is close to the best of both worlds.",
            [_best_of_two(cells, view, budget) for view in views for budget in budgets],
            "csd/ME against the better of SL and aug/ME",
            CLOSE,
        ),
        ahead(
            "Even with uniform allocation the cascade can beat the augmented model alone.",
            cells.pairs(CSD_UA, AUG_ME, GOOD, [min(budgets)]),
            "csd/UA against aug/ME on good views, smallest budget",
        ),
        _selection(cells, budgets),
    ]


def _best_of_two(cells: _Cells, view: str, budget: int) -> Pair:
    both = [cells.of(view, SL, budget), cells.of(view, AUG_ME, budget)]
    top = max(both, key=lambda one: one.mean)
    return f"{view}, {budget} %", cells.of(view, CSD_ME, budget).accuracy, top.accuracy


def _selection(cells: _Cells, budgets: Sequence[int]) -> Statement:
    """Recall on poor views against a random choice among five, which is in the top two with probability 2/5."""
    found = []
    for view in POOR:
        for budget in budgets:
            runs = cells.of(view, CSD_ME, budget).runs
            hits = stats.recall(cells.configurations, view, runs)
            p = float(scipy_stats.binomtest(hits, len(runs), 0.4, alternative="greater").pvalue)
            found.append(Comparison(f"{view}, {budget} %", 100.0 * hits / len(runs), 40.0, p, p < SIGNIFICANCE))
    test = "share of selections among the top two against 2/5: binomial test, p < 0.05 in every instance"
    return Statement("On poor views one of the two best candidates is selected.", test, tuple(found))


def of_table_2(configurations: Sequence[Configuration], budgets: Sequence[int], thetas_by: str) -> list[Statement]:
    """Section 5.4."""
    cells = _Cells(configurations, thetas_by)
    sa_ua, ba_ua, sa_me, ba_me = TABLE_2
    middle = sorted(budgets)[len(budgets) // 2]
    alike = [_spread(cells, view, budget) for view in ("fac", "pix") for budget in budgets]
    rivals = [
        (f"{where} against {rival.name}", ours, theirs)
        for rival in (sa_ua, ba_ua, sa_me)
        for where, ours, theirs in cells.pairs(ba_me, rival, POOR, budgets)
    ]
    without_fac = ("pix", "kar", *POOR)

    def share(view: str, method: Method, groups: Sequence[str]) -> FloatArray:
        return _query_share(cells.of(view, method, middle), groups)

    return [
        at_least("On Fac and Pix all four variants are alike.", alike, "worst against best of the four means", CLOSE),
        at_least("Budget alignment with median elimination is the best on poor views.", rivals, "BA/ME against others"),
        ahead(
            "Budget alignment is ahead of sample alignment on poor views.",
            cells.pairs(ba_me, sa_me, POOR, budgets),
            "BA/ME against SA/ME",
        ),
        ahead(
            "Budget alignment avoids the expensive Fac.",
            [
                (f"{view}, {sa.strategy}", share(view, sa, ["fac"]), share(view, ba, ["fac"]))
                for view in without_fac
                for sa, ba in ((sa_ua, ba_ua), (sa_me, ba_me))
            ],
            f"share of queries on Fac at {middle} %, sample against budget alignment",
        ),
        ahead(
            "Median elimination concentrates on good and cheap features more than uniform allocation.",
            [
                (f"{view}, {me.alignment} alignment", share(view, me, ["pix", "kar"]), share(view, ua, ["pix", "kar"]))
                for view in ("fou", "zer")
                for me, ua in ((sa_me, sa_ua), (ba_me, ba_ua))
            ],
            f"share of queries on Pix and Kar at {middle} %, the two views of the figure",
        ),
    ]


def _spread(cells: _Cells, view: str, budget: int) -> Pair:
    found = sorted((cells.of(view, method, budget) for method in TABLE_2), key=lambda one: one.mean)
    return f"{view}, {budget} %", found[0].accuracy, found[-1].accuracy


def _query_share(found: TableCell, groups: Sequence[str]) -> FloatArray:
    """Share of all queries that went to some candidates, in per cent, per configuration."""
    return np.array([100.0 * sum(run.pulls.get(g, 0) for g in groups) / sum(run.pulls.values()) for run in found.runs])


def of_synthetic(configurations: Sequence[Configuration], budget: int, thetas_by: str) -> list[Statement]:
    """Section 5.1."""
    cells = _Cells(configurations, thetas_by)
    ours, theirs = cells.of("observed", CSD_ME, budget), cells.of("observed", SL, budget)
    names = list(ours.runs[0].pulls)
    best_three = _query_share(ours, names[-3:])
    angles = np.arange(len(names))
    rank = [_rank_correlation(angles, [run.pulls[name] for name in names]) for run in ours.runs]
    return [
        ahead("ExML has a substantial advantage over SL.", [("20 %", ours.accuracy, theirs.accuracy)], "csd/ME, SL"),
        ahead(
            "The allocation concentrates on informative features (larger angles).",
            [
                ("share of the three best, against one half", best_three, np.full(len(best_three), 50.0)),
                ("rank correlation of angle and pulls, against 0", np.array(rank), np.zeros(len(rank))),
            ],
            "per repetition",
        ),
    ]


def _rank_correlation(first: Sequence[float] | IntArray, second: Sequence[float]) -> float:
    found = float(scipy_stats.spearmanr(first, second).statistic)
    return found if np.isfinite(found) else 0.0


def of_realdisp(
    configurations: Sequence[Configuration], sensors: Sequence[str], budgets: Sequence[int], thetas_by: str
) -> list[Statement]:
    """Section 5.3; accuracies are means over sensors, repetition by repetition."""
    cells = _Cells(configurations, thetas_by)

    def mean(method: Method, budget: int) -> FloatArray:
        found: FloatArray = np.mean([cells.of(sensor, method, budget).accuracy for sensor in sensors], axis=0)
        return found

    rivals = [
        (f"{rival.name}, {budget} %", mean(CSD_ME, budget), mean(rival, budget))
        for rival in (SL, AUG_ME, CSD_UA)
        for budget in budgets
    ]
    return [
        at_least("ExML outperforms the others.", rivals, "csd/ME against each, mean over sensors"),
        ahead(
            "With the largest budget ExML beats SL.",
            [(f"{max(budgets)} %", mean(CSD_ME, max(budgets)), mean(SL, max(budgets)))],
            "csd/ME against SL, mean over sensors",
        ),
        _modal_selection(cells, sensors, max(budgets)),
    ]


def _modal_selection(cells: _Cells, sensors: Sequence[str], budget: int) -> Statement:
    """The candidate that is selected most often, for every observed sensor; the paper excuses one of nine."""
    found = []
    for sensor in sensors:
        quality = stats.attainable(cells.configurations, sensor)
        ranked = sorted(quality, key=lambda name: -quality[name])
        chosen = most_selected(cells.of(sensor, CSD_ME, budget))
        found.append((sensor, quality[chosen], quality[ranked[1]], chosen in ranked[:2]))
    misses = sum(not one[3] for one in found)
    return Statement(
        "The selected candidate is one of the two best, for all sensors but one.",
        "most often selected candidate by mean attainable accuracy; no test, at most one miss allowed",
        tuple(
            Comparison(where, first, second, float("nan"), inside or misses <= 1)
            for where, first, second, inside in found
        ),
    )


def most_selected(found: TableCell) -> str:
    """The candidate that was selected in most configurations; the first in order of the list, if equal."""
    names = list(found.runs[0].pulls)
    return max(names, key=lambda name: sum(run.selected == name for run in found.runs))


def markdown(said: Sequence[Statement]) -> str:
    """All verdicts: a summary line, one line per statement, and the instances that do not hold."""
    parts = [(one, part) for one in said for part in one.instances]
    misses = [(one, part) for one, part in parts if not part.holds]
    lines = [
        (
            one.statement,
            "reproduced" if one.reproduced else "**not reproduced**",
            f"{sum(part.holds for part in one.instances)} of {len(one.instances)}",
            one.test,
        )
        for one in said
    ]
    text = (
        f"{sum(one.reproduced for one in said)} of {len(said)} statements are reproduced "
        f"({len(parts) - len(misses)} of {len(parts)} comparisons hold).\n\n"
    ) + markdown_table(("Statement", "Verdict", "Holds in", "Test"), lines)
    if misses:
        text += "\nWhat does not hold:\n\n"
    return text + "".join(
        f"- {one.statement} {i.where}: {i.first:.2f} against {i.second:.2f}, p = {i.p:.2g}\n" for one, i in misses
    )


def as_data(said: Sequence[Statement]) -> list[dict[str, object]]:
    """The same for JSON."""
    return [
        {
            "statement": one.statement,
            "test": one.test,
            "reproduced": one.reproduced,
            "instances": [{**asdict(part), "p": None if np.isnan(part.p) else part.p} for part in one.instances],
        }
        for one in said
    ]
