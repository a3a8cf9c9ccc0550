"""Evaluate a fitted classifier on out-of-fold predictions, next to simpler models, and list diagnostics.

Every row is predicted by models fitted without it: by nested cross-validation, or, for
rejection models and cascades of more than two layers, by the folds that also chose theta, which is optimistic. Metrics
are about observed labels. Their intervals are those of Clopper and Pearson, with 2 rows counted as one, because
folds share models, and more where rows of a group are right or wrong together (`design_effect`). What is said about the
truth holds under both readings, with and without a hidden class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.selection_report import sign_test
from exml_sim.classifier import constants
from exml_sim.classifier._latent_class import decide
from exml_sim.classifier._probability_models import (
    StackedModel,
    draw_folds,
    group_duplicates,
    join_groups,
    normalise,
    scale_odds,
)

if TYPE_CHECKING:
    from exml_sim.classifier._growth import LayerRecord
    from exml_sim.classifier._latent_class import LabelNoise, LatentFit
    from exml_sim.classifier._layers import FittedLayer, LatentLayers
    from exml_sim.classifier._preflight import Parameters


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding for the reader.

    Attributes
    ----------
    code
        Stable name of the kind of finding.
    message
        The finding in words, without a full stop.
    severity
        "error", "warning" or "note".
    subject
        What it concerns: a candidate, a class, "labels".
    """

    code: str
    message: str
    severity: str = "note"
    subject: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Metric:
    """An accuracy: `right` of `rows`, the mean over classes, and the rows that count as one in the interval."""

    name: str
    right: int
    rows: int
    balanced: float
    rows_per_row: float = 1.0

    @property
    def accuracy(self) -> float:
        """Fraction of right rows; NaN of no rows."""
        return self.right / self.rows if self.rows else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the accuracy; exact for a fixed model."""
        return _widened_interval(self.right, self.rows, self.rows_per_row)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        numbers = {"accuracy": self.accuracy, "interval": list(self.interval), "balanced": self.balanced}
        return {"name": self.name, "right": self.right, "rows": self.rows} | (
            numbers if self.rows else dict.fromkeys(numbers)
        )


@dataclass(frozen=True, slots=True)
class HiddenClass:
    """What labels and features say about a hidden class, under both readings.

    Attributes
    ----------
    excludes_large
        Whether the labels show no class as large as a known one.
    share_limit
        Upper limit of the share of hidden rows, if they carry labels with the given label noise, or with equal shares.
    is_noise_given
        Whether the label noise was given.
    if_none
        Accuracy of the best known label on new rows if nothing is hidden, and its interval.
    if_hidden
        Accuracy on accepted rows by the truth: an interval. It holds if the labels of hidden rows do not depend on the
        columns: hidden rows that are labelled by the columns look like known ones.
    """

    excludes_large: bool
    share_limit: float
    if_none: tuple[float, float, float]
    if_hidden: tuple[float, float]
    is_noise_given: bool = False

    def sentences(self) -> list[str]:
        """Return the statements in words; presence is never stated."""
        claim = "Labels and features cannot decide whether a hidden class exists."
        if self.excludes_large:
            claim = (
                "The labels show no class as large as a known one; in the benchmark this was said wrongly for "
                f"{constants.MISSED_LARGE_CLASSES:.0%} of such classes. A smaller class may exist."
            )
        limit = f"At most {self.share_limit:.0%} of the rows are hidden"
        if not self.is_noise_given:
            limit += ", if all known labels are equally frequent among them. If one label prevails, more may be hidden"
        accuracy, low, high = self.if_none
        return [
            claim,
            f"{limit}.",
            f"If nothing is hidden, the best known label is right for {accuracy:.1%} of new rows "
            f"({low:.1%} to {high:.1%}).",
            f"If a class is hidden whose labels do not follow the columns, {self.if_hidden[0]:.1%} to "
            f"{self.if_hidden[1]:.1%} of the accepted rows are right.",
        ]


@dataclass(frozen=True, slots=True)
class ClassMetric:
    """One known class: rows, accepted rows, and those of them that are recognised."""

    name: Any
    rows: int
    accepted: int
    recognised: int

    @property
    def has_poor_recall(self) -> bool:
        """Whether most decided rows of the class are wrong, and it has rows enough to say so."""
        return self.rows >= constants.MIN_RECALL_ROWS and self.recognised < constants.MIN_RECALL * self.accepted


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Out-of-fold metrics of a fitted classifier.

    Attributes
    ----------
    rows
        Evaluated rows: those that the last layer was trained on.
    hidden
        Rows that all layers reject.
    metrics
        The model on the rows that it accepts, then simpler models on all rows.
    classes
        Class by class.
    gained, lost
        Rows that are right only with, and only without the candidates, rejection aside. None without candidates.
    diagnostics
        Warnings about these numbers.
    hidden_class
        Both readings, from nested cross-validation; None without it.
    hidden_rows_per_row
        Rows that count as one in the interval of the share called hidden.
    """

    rows: int
    hidden: int
    metrics: tuple[Metric, ...]
    classes: tuple[ClassMetric, ...]
    gained: int | None
    lost: int | None
    diagnostics: tuple[Diagnostic, ...]
    hidden_class: HiddenClass | None = None
    hidden_rows_per_row: float = constants.ROWS_PER_INDEPENDENT_ROW

    @property
    def hidden_interval(self) -> tuple[float, float]:
        """Interval of the share of new rows that are called hidden."""
        return _widened_interval(self.hidden, self.rows, self.hidden_rows_per_row)

    @property
    def poor_classes(self) -> tuple[ClassMetric, ...]:
        """Classes that are mostly decided wrongly, whatever the overall accuracy."""
        return tuple(metric for metric in self.classes if metric.has_poor_recall)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        values = asdict(self) | {"metrics": [metric.to_dict() for metric in self.metrics]}
        del values["hidden_rows_per_row"]
        return values


@dataclass(frozen=True, slots=True, eq=False)
class NestedPredictions:
    """Predictions of the last layer's rows by cascades fitted without them.

    Attributes
    ----------
    winner, accepted
        Best known class, and whether it is accepted, shape (n,).
    hidden_label_rate
        Probability that the row is hidden and carries the label of the winner, shape (n,).
    groups
        Group numbers of the rows, duplicates included, shape (n,); None if all rows are apart.
    """

    winner: IntArray
    accepted: BoolArray
    hidden_label_rate: FloatArray
    groups: IntArray | None = None


def evaluate(
    records: Sequence[LayerRecord],
    y: IntArray,
    classes: NDArray[Any],
    cascade: bool,
    nested: NestedPredictions | None = None,
) -> Evaluation | None:
    """Evaluate the layers of a run; None if it was not cross-validated, because theta was given.

    Parameters
    ----------
    cascade
        Whether layers before the last one decide, too.
    nested
        Predictions by nested cross-validation; None to use the out-of-fold predictions of the layers.
    """
    winners = [_scatter_winners(record, len(y)) for record in records]
    prediction = np.full(len(y), -1, dtype=np.int64)
    first, last = records[0], records[-1]
    for record, winner in zip(records, winners, strict=True):
        if not cascade and record is not last:
            continue
        if winner is None or record.rejected is None:
            return None
        decided = record.rows[(prediction[record.rows] < 0) & ~record.rejected[record.rows]]
        prediction[decided] = winner[decided]
    if winners[0] is None or winners[-1] is None:
        return None
    rows = last.rows
    truth, predicted, full = y[rows], prediction[rows], winners[-1][rows]
    if nested is not None:
        predicted, full = np.where(nested.accepted, nested.winner, -1), nested.winner
    latent = first.fitted.latent
    plain = (winners[0] if latent is None else latent.label_probabilities.argmax(axis=1))[rows]
    majority = np.full(len(rows), np.bincount(truth, minlength=len(classes)).argmax())
    accepted, everything = predicted >= 0, np.ones(len(rows), dtype=np.bool_)
    wide = constants.ROWS_PER_INDEPENDENT_ROW
    groups = None if nested is None else nested.groups
    metrics = [_measure("this model, on the rows that it accepts", predicted, truth, accepted, wide, groups)]
    gained = lost = None
    if last.candidates:
        metrics.append(_measure("the same without rejection", full, truth, everything, wide, groups))
        gained, lost = int(((full == truth) & (plain != truth)).sum()), int(((full != truth) & (plain == truth)).sum())
    metrics.append(_measure("a plain classifier on the observed columns", plain, truth, everything, 1.0, groups))
    metrics.append(_measure("always the most frequent class", majority, truth, everything, 1.0, groups))
    by_class = tuple(_measure_class(name, number, predicted, truth) for number, name in enumerate(classes))
    diagnostics = _diagnose_metrics(metrics, by_class, gained, lost)
    if last.fitted.latent is not None and last.candidates:
        diagnostics += diagnose_noise(last.fitted.latent.label_noise, list(classes))
    hidden = int((~accepted).sum())
    latent = last.fitted.latent
    readings = None if nested is None or latent is None else _read_both_ways(nested, truth, latent)
    wide *= design_effect(~accepted, groups)
    return Evaluation(len(rows), hidden, tuple(metrics), by_class, gained, lost, tuple(diagnostics), readings, wide)


def _widened_interval(right: float, rows: float, rows_per_row: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson with several rows counted as one."""
    return clopper_pearson(right / rows_per_row, rows / rows_per_row, constants.CONFIDENCE_LEVEL)


def _read_both_ways(nested: NestedPredictions, labels: IntArray, latent: LatentFit) -> HiddenClass:
    """Return accuracies with and without a hidden class, and the upper limit of its share.

    If rows are hidden, an accepted one of them is wrong although its label may agree. The lower limit counts the
    expected number of such rows as wrong. A hidden row carries a label other than the winner's with probability 1 - q
    at least, with q the share of the most frequent label among hidden rows, so their share is at most the upper limit
    of errors over 1 - q. Labels do not tell q: without a given label noise it is 1/C.
    """
    right, accepted, rows, groups = nested.winner == labels, nested.accepted, len(labels), nested.groups
    wide = constants.ROWS_PER_INDEPENDENT_ROW * design_effect(right, groups)
    kept = None if groups is None else groups[accepted]
    narrow = constants.ROWS_PER_INDEPENDENT_ROW * design_effect(right[accepted], kept)
    confirmed = float((right & accepted).sum())
    low = _widened_interval(
        max(confirmed - float(nested.hidden_label_rate[accepted].sum()), 0.0), accepted.sum(), narrow
    )[0]
    high = _widened_interval(confirmed, accepted.sum(), narrow)[1]
    missed = _widened_interval(float((~right).sum()), rows, wide)[1]
    is_given = latent.label_noise is None
    largest = float(latent.model.noise.max()) if is_given else 1.0 / len(latent.model.noise)
    return HiddenClass(
        bool(latent.gain_deviations < constants.MIN_SIZE_DEVIATIONS),
        min(1.0, missed / (1.0 - largest)) if largest < 1.0 else 1.0,
        (float(right.mean()), *_widened_interval(float(right.sum()), rows, wide)),
        (low, high),
        is_given,
    )


def _scatter_winners(record: LayerRecord, n: int) -> IntArray | None:
    """Return out-of-fold winners of a layer at the places of its rows, -1 elsewhere; None if there are none."""
    if record.fitted.decided is None:
        return None
    winners = np.full(n, -1, dtype=np.int64)
    winners[record.rows] = record.fitted.decided.winner
    return winners


def design_effect(right: BoolArray, groups: IntArray | None) -> float:
    r"""Return how many rows count as one because rows of a group are right or wrong together (Kish 1965).

    With e the deviation of a row from the mean, the variance of the mean grows by the factor

    .. math:: \frac{\sum_g (\sum_{i \in g} e_i)^2}{\sum_i e_i^2},

    and it is taken to be at least 1. If all rows are right, or all wrong, every group counts as one row.
    """
    if groups is None or not len(right):
        return 1.0
    _, group = np.unique(groups, return_inverse=True)
    apart = right - right.mean()
    squares = float((apart**2).sum())
    if squares == 0.0:
        return float((np.bincount(group) ** 2).sum() / len(right))
    return max(1.0, float((np.bincount(group, weights=apart) ** 2).sum() / squares))


def _measure(
    name: str,
    predicted: IntArray,
    truth: IntArray,
    among: BoolArray,
    wide: float = 1.0,
    groups: IntArray | None = None,
) -> Metric:
    right = (predicted == truth) & among
    shares = [right[truth == c].sum() / (among & (truth == c)).sum() for c in np.unique(truth[among])]
    balanced = float(np.mean(shares)) if shares else float("nan")
    wide *= design_effect(right[among], None if groups is None else groups[among])
    return Metric(name, int(right.sum()), int(among.sum()), balanced, wide)


def _measure_class(name: Any, number: int, predicted: IntArray, truth: IntArray) -> ClassMetric:
    own = truth == number
    label = name.item() if isinstance(name, np.generic) else name
    counts = own, own & (predicted >= 0), own & (predicted == number)
    return ClassMetric(label, *(int(mask.sum()) for mask in counts))


def _diagnose_metrics(
    metrics: Sequence[Metric], classes: Sequence[ClassMetric], gained: int | None, lost: int | None
) -> list[Diagnostic]:
    warnings = []
    own, majority = metrics[0], metrics[-1]
    for metric in classes:
        if metric.has_poor_recall:
            text = (
                f"class {metric.name!r} is recognised in {metric.recognised} of {metric.accepted} accepted rows, of "
                f"{metric.rows} in all; the other metrics hide this"
            )
            warnings.append(Diagnostic("poor_recall", text, "warning", str(metric.name)))
    if own.rows and own.interval[0] <= majority.accuracy:
        text = f"on {own.rows} accepted rows the model is not significantly better than the most frequent class"
        warnings.append(Diagnostic("no_better_than_majority", text, "warning"))
    if gained is None or lost is None:
        return warnings
    if gained <= lost or sign_test(gained, lost) > 1.0 - constants.CONFIDENCE_LEVEL:
        text = f"the candidates make {gained} rows right and {lost} wrong: "
        text += "no significant improvement" if gained > lost else "no candidate helps, predict without them"
        warnings.append(Diagnostic("candidates_do_not_help", text, "warning"))
    return warnings


def diagnose_noise(estimate: LabelNoise | None, classes: Sequence[Any]) -> list[Diagnostic]:
    """Report estimated label noise that hardly separates hidden rows from a class."""
    if estimate is None or estimate.estimate.max() < constants.REPORTED_NOISE_FRACTION:
        return []
    at = int(estimate.estimate.argmax())
    low, high = (ends[at] for ends in estimate.range)
    text = (
        f"estimated label noise: {estimate.estimate[at]:.0%} of hidden rows carry the label {classes[at]!s} "
        f"({low:.0%} to {high:.0%} possible), so labels hardly separate them from that class; pass label_noise if it "
        "is known"
    )
    return [Diagnostic("one_sided_noise_estimated", text, "warning", str(classes[at]))]


def cross_validate(
    records: Sequence[LayerRecord], y: IntArray, n_classes: int, parameters: Parameters, groups: IntArray | None = None
) -> NestedPredictions | None:
    """Cross-validate the last layer and the first one before it; None for rejection models and further layers.

    Rows of a group stay together; without groups all are apart. The size of the hidden class is that of the last layer,
    so the figures are about the model that predicts, and this one choice has seen all rows.
    """
    from exml_sim.classifier._layers import LatentLayers

    first, last = records[0], records[-1]
    if first.fitted.latent is None or len(records) > 2 or len(last.rows) < constants.MIN_NESTED_ROWS:
        return None
    n, rng = len(last.rows), np.random.default_rng(0)
    own = join_groups(None if groups is None else groups[last.rows], group_duplicates(last.points, y[last.rows]))
    if own is not None and len(np.unique(own)) < 2:
        return None
    fold = draw_folds(y[last.rows], own, constants.NESTED_FOLDS, rng)
    winner, accepted, rate = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), np.zeros(n)
    for k in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if len(records) == 1:
            own_groups = None if groups is None else groups[inside]
            fitter = LatentLayers(parameters, n_classes, rng, own_groups, last.fitted.latent)
            model: Any = fitter.fit_initial(first.points[inside], y[inside]).model
            f = model.outputs(first.points[outside])
            best, kept = decide(f, model.noise, model.theta)
            parts = best, kept, f[:, -1] * model.noise[best]
        else:
            fitter = LatentLayers(parameters, n_classes, rng, groups, last.fitted.latent)
            parts = _predict_augmented(fitter, records, y, inside, outside, parameters)
        winner[outside], accepted[outside], rate[outside] = parts
    return NestedPredictions(winner, accepted, rate, own)


def _predict_augmented(
    fitter: LatentLayers,
    records: Sequence[LayerRecord],
    y: IntArray,
    inside: IntArray,
    outside: IntArray,
    parameters: Parameters,
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Fit the second layer to the places inside, and predict those outside; the first predicts them out of fold."""
    first, last = records[0].fitted, records[-1]
    rows = last.rows[inside]
    second = fitter.fit_augmented(last.points[inside], y[rows], rows, None, first)
    latent = first.latent.resize(second.latent.size)  # type: ignore[union-attr]
    points, ahead = last.points[outside], latent.out_of_fold[last.rows[outside]]
    stacked = second.model.probabilities  # type: ignore[union-attr]
    assert isinstance(stacked, StackedModel)
    own = scale_odds(normalise(stacked.second.predict(points)), stacked.odds[1])
    f = (1.0 - stacked.weight) * ahead + stacked.weight * own
    noise = second.model.noise  # type: ignore[union-attr]
    winner, accepted = decide(f, noise, second.model.theta)
    rate = f[:, -1] * noise[winner]
    placed: FittedLayer | None = None
    if parameters.cascade:
        placed = fitter.place_first(first, second, y, rows)
    if placed is not None:
        early, certain = decide(ahead, latent.model.noise, placed.model.theta)
        winner, accepted = np.where(certain, early, winner), accepted | certain
        rate = np.where(certain, ahead[:, -1] * latent.model.noise[early], rate)
    return np.asarray(winner, dtype=np.int64), np.asarray(accepted, dtype=np.bool_), np.asarray(rate)
