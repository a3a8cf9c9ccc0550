"""How good the model is, on rows that its parts had not seen, next to what one could do without it.

All figures are about perceived labels, the only ones there are. Every row is judged by models fitted without it. The
same rows chose candidates, models and prices, so the figures of the model itself are too good; intervals are exact for
a fixed model (Clopper and Pearson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from exml_sim.arrays import BoolArray, IntArray
from exml_sim.bandit.selection_report import sign_test

if TYPE_CHECKING:
    from exml_sim.classifier.layers import LayerRecord
    from exml_sim.classifier.mislabelling import Mislabelling

#: Level of the intervals, and of the test whether candidates help.
LEVEL = 0.95

#: A class that is recognised in less than this share of its accepted rows, if its rows are not too few to say so.
POOR_RECALL, ENOUGH_ROWS = 0.5, 5


#: Share of hidden rows with the same label at which a run that explores nothing is looked at, and a share of rows that
#: may be hidden without a word. A law that leans as far as the last number is said.
LOPSIDED, NEGLIGIBLE, LEANING = 0.95, 0.05, 0.7


@dataclass(frozen=True, slots=True)
class Figure:
    """A share of rows: `right` of `rows`, and the mean of the shares class by class."""

    name: str
    right: int
    rows: int
    balanced: float

    @property
    def accuracy(self) -> float:
        """The share; NaN of no rows."""
        return self.right / self.rows if self.rows else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Exact interval of the share at `LEVEL`."""
        return share_interval(self.right, self.rows)


@dataclass(frozen=True, slots=True)
class ClassFigure:
    """One known class: rows, rows that are accepted, and those of them that are recognised."""

    name: Any
    rows: int
    accepted: int
    right: int

    @property
    def unknown(self) -> bool:
        """Whether the class has rows enough, and the model decides some of them, and mostly wrongly."""
        return self.rows >= ENOUGH_ROWS and self.right < POOR_RECALL * self.accepted


@dataclass(frozen=True, slots=True)
class Judgement:
    """Held-out figures of a fitted classifier.

    Attributes
    ----------
    rows
        Rows that are judged: those that the last layer was trained on.
    hidden
        Rows that all layers give up.
    figures
        The model on the rows that it accepts, then what there is without it, on all rows.
    classes
        Class by class.
    gained, lost
        Rows that are right only with, and only without the candidates; rejection aside. None without candidates.
    remarks
        What a reader must not overlook, a sentence each.
    """

    rows: int
    hidden: int
    figures: tuple[Figure, ...]
    classes: tuple[ClassFigure, ...]
    gained: int | None
    lost: int | None
    remarks: tuple[str, ...]

    @property
    def unknown(self) -> tuple[ClassFigure, ...]:
        """Classes that the model decides mostly wrongly, whatever its accuracy in all."""
        return tuple(one for one in self.classes if one.unknown)


def share_interval(right: int, rows: int, level: float = LEVEL) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share: its true value is inside at least at the level."""
    tail = (1.0 - level) / 2.0
    low = 0.0 if right == 0 else float(betaincinv(right, rows - right + 1, tail))
    high = 1.0 if right == rows else float(betaincinv(right + 1, rows - right, 1.0 - tail))
    return low, high


def judge(records: Sequence[LayerRecord], y: IntArray, classes: NDArray[Any], cascade: bool) -> Judgement | None:
    """Judge a run; None if it was not cross-validated, because theta was given.

    Parameters
    ----------
    records
        Its layers.
    y
        Class numbers of perceived labels.
    classes
        Known classes.
    cascade
        Whether layers before the last one decide, too.
    """
    deciding = records if cascade else records[-1:]
    last = records[-1]
    if any(winners(one) is None or one.given_up is None for one in (*deciding, records[0])):
        return None
    rows = last.rows
    prediction = np.full(len(y), -1, dtype=np.int64)
    for record in deciding:
        assert record.given_up is not None
        mine = record.rows[(prediction[record.rows] < 0) & ~record.given_up[record.rows]]
        prediction[mine] = _winner(record, len(y))[mine]
    truth, found = y[rows], prediction[rows]
    accepted = found >= 0
    plain, full = _plain(records[0])[rows], _winner(last, len(y))[rows]
    majority = np.full(len(rows), np.bincount(truth, minlength=len(classes)).argmax())
    figures = [_figure("this model, on the rows that it accepts", found, truth, accepted)]
    everyone = np.ones(len(rows), dtype=np.bool_)
    if last.candidates:
        figures.append(_figure("the same without rejection", full, truth, everyone))
    figures.append(_figure("a plain classifier on the observed columns", plain, truth, everyone))
    figures.append(_figure("always the most frequent class", majority, truth, everyone))
    by_class = tuple(_class_figure(name, number, found, truth) for number, name in enumerate(classes))
    gained = lost = None
    if last.candidates:
        gained, lost = int(((full == truth) & (plain != truth)).sum()), int(((full != truth) & (plain == truth)).sum())
    remarks = _remarks(figures, by_class, gained, lost, bool(last.candidates))
    if last.held_out is not None and last.candidates:
        remarks += tuple(leaning(last.held_out.mislabelling, list(classes)))
    return Judgement(len(rows), int((~accepted).sum()), tuple(figures), by_class, gained, lost, remarks)


def winners(record: LayerRecord) -> IntArray | None:
    """The likeliest known class of a layer's rows by models fitted without them; None if there were none."""
    if record.held_out is not None:
        return np.asarray(record.held_out.held[:, :-1].argmax(axis=1), dtype=np.int64)
    return record.winner


def _winner(record: LayerRecord, n: int) -> IntArray:
    found = winners(record)
    assert found is not None
    out = np.full(n, -1, dtype=np.int64)
    out[record.rows] = found
    return out


def _plain(first: LayerRecord) -> IntArray:
    """A classifier of the observed columns that knows no hidden class."""
    if first.discovered is not None:
        return np.asarray(first.discovered.perceived.argmax(axis=1), dtype=np.int64)
    found = winners(first)
    assert found is not None
    return found


def _figure(name: str, found: IntArray, truth: IntArray, among: BoolArray) -> Figure:
    right = (found == truth) & among
    there = np.unique(truth[among])
    shares = [right[truth == c].sum() / (among & (truth == c)).sum() for c in there]
    return Figure(name, int(right.sum()), int(among.sum()), float(np.mean(shares)) if shares else float("nan"))


def _class_figure(name: Any, number: int, found: IntArray, truth: IntArray) -> ClassFigure:
    own = truth == number
    plain = name.item() if isinstance(name, np.generic) else name
    return ClassFigure(plain, int(own.sum()), int((own & (found >= 0)).sum()), int((own & (found == number)).sum()))


def _remarks(
    figures: Sequence[Figure], classes: Sequence[ClassFigure], gained: int | None, lost: int | None, explored: bool
) -> tuple[str, ...]:
    out = []
    own, most = figures[0], figures[-1]
    for one in classes:
        if one.unknown:
            out.append(
                f"class {one.name!r} is recognised in {one.right} of {one.accepted} accepted rows, of {one.rows} "
                "in all: the other figures hide it"
            )
    if own.rows and own.interval[0] <= most.accuracy:
        out.append(f"with {own.rows} accepted rows the model cannot be told from always saying the most frequent class")
    if gained is not None and lost is not None:
        if gained <= lost or sign_test(gained, lost) > 1.0 - LEVEL:
            out.append(
                f"the candidates make {gained} rows right and {lost} wrong: the data do not show that they help, and "
                "exploring may not pay"
            )
    elif not explored and own.rows:
        out += _lopsided(own)
    return tuple(out)


def _lopsided(own: Figure) -> list[str]:
    """How large a hidden class could be whose rows nearly all carry one label: they hardly add to the wrong labels.

    If a share q of hidden rows carries the label of the class that they look like, n of them leave n (1 - q) rows whose
    label the model misses; so the upper limit of missed labels over 1 - q is what the data leave open.
    """
    missed = own.rows - own.right
    most = min(1.0, share_interval(missed, own.rows)[1] / (1.0 - LOPSIDED))
    if most <= NEGLIGIBLE:
        return []
    return [
        f"if {LOPSIDED:.0%} of the hidden rows carried the same label, up to {most:.0%} of the rows could be hidden "
        f"with no more missed labels than the {missed} of {own.rows} that there are: the data cannot tell"
    ]


def leaning(estimate: Mislabelling | None, classes: Sequence[Any]) -> list[str]:
    """An estimated law of mislabelling so lopsided that labels hardly tell hidden rows from a class."""
    if estimate is None or estimate.law.max() < LEANING:
        return []
    at = int(estimate.law.argmax())
    low, high = (ends[at] for ends in estimate.range)
    return [
        f"hidden rows seem to be labelled {classes[at]!s} in {estimate.law[at]:.0%} of all cases ({low:.0%} to "
        f"{high:.0%} are left open): labels hardly tell them from that class; if you know how hidden rows are "
        "labelled, say so (mislabelling)"
    ]


def text(judgement: Judgement | None) -> str:
    """The figures as a section of the report."""
    if judgement is None:
        return "Theta was given, so nothing was cross-validated, and there are no held-out figures."
    lines = [
        f"On {judgement.rows} rows, each judged by models that had not seen it; {judgement.hidden} are given up as "
        "hidden. The same rows chose candidates, models and prices, so the first two lines are too good, the more so "
        "the fewer rows. Labels are the perceived ones: no model can reach 100 % where hidden rows are mislabelled.",
        "",
        f"| | right | accuracy | {LEVEL:.0%} interval | balanced |",
        "|---|---|---|---|---|",
    ]
    for one in judgement.figures:
        low, high = one.interval
        shown = f"{one.accuracy:.1%} | {low:.1%} to {high:.1%} | {one.balanced:.1%}" if one.rows else "- | - | -"
        lines.append(f"| {one.name} | {one.right} of {one.rows} | {shown} |")
    lines += ["", "| class | rows | accepted | recognised |", "|---|---|---|---|"]
    lines += [f"| {one.name} | {one.rows} | {one.accepted} | {one.right} |" for one in judgement.classes]
    lines += ["", *(f"Warning: {one}." for one in judgement.remarks)] if judgement.remarks else []
    return "\n".join(lines)


def facts(judgement: Judgement | None) -> dict[str, Any] | None:
    """The same as plain values."""
    if judgement is None:
        return None
    return {
        "rows": judgement.rows,
        "hidden": judgement.hidden,
        "figures": [
            {
                "name": one.name,
                "right": one.right,
                "rows": one.rows,
                "accuracy": one.accuracy if one.rows else None,
                "interval": list(one.interval) if one.rows else None,
                "balanced": one.balanced if one.rows else None,
            }
            for one in judgement.figures
        ],
        "classes": [
            {"name": one.name, "rows": one.rows, "accepted": one.accepted, "recognised": one.right}
            for one in judgement.classes
        ],
        "gained": judgement.gained,
        "lost": judgement.lost,
        "remarks": list(judgement.remarks),
    }
