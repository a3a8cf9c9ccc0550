"""Check parameters and data before any money is spent.

Parameters are resolved to the objects that fitting uses. Diagnostics about data use only free information: labels,
observed columns, costs, and which values could be bought.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray
from exml_sim._internal.columns import MISSING, Encodings
from exml_sim._internal.memory import free_memory, in_bytes
from exml_sim._internal.validation import (
    as_numbers,
    check_alike,
    check_choice,
    check_count,
    check_jobs,
    check_theta,
    counted,
)
from exml_sim.bandit.scoring import penalised_scores
from exml_sim.bandit.trial_batch import Strategy
from exml_sim.classifier import constants
from exml_sim.classifier._acquisition import AcquisitionManager, Tariff
from exml_sim.classifier._latent_class import uniform_noise
from exml_sim.classifier._probability_models import check_estimator, group_duplicates
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.classifier.evaluation import Diagnostic
from exml_sim.money import exact, show
from exml_sim.strategies.value_of_information import ValueOfInformationCommit

EXPLORE: Sequence[str] = ("auto", "always", "never")
MODELS: Sequence[str] = ("auto", "rejection", "forest", "kernel")
HIDDEN: Sequence[str] = ("class", "flag", "never")
CANDIDATE_SCORES: Sequence[str] = ("held_out", *penalised_scores())

#: The paper's method: Algorithm 1 on Eq. 5, rejection models, one candidate.
PAPER: Mapping[str, Any] = MappingProxyType(
    {"strategy": "median_elimination", "candidate_score": "risk", "model": "rejection", "max_candidates": 1}
)


class Parameters(SimpleNamespace):
    """The parameters of `ExMLClassifier` by name, validated and resolved.

    `strategy` is an object, `theta` None where it is chosen, `max_candidates` None where subset selection decides,
    `label_noise` None where it is estimated. `options` are those of the rejection models, `workers` the threads of the
    scores.
    """

    @property
    def selects_subsets(self) -> bool:
        """Whether sets of candidates are compared."""
        return isinstance(self.strategy, ValueOfInformationCommit) and self.candidate_score == "held_out"

    @property
    def uses_rejection(self) -> bool:
        """Whether layers are the paper's rejection models."""
        return isinstance(self.model, str) and self.model == "rejection"


def resolve_parameters(given: Mapping[str, Any], n_classes: int = 2) -> Parameters:
    """Validate the parameters of a classifier for `n_classes` known classes."""
    p = Parameters(**given)
    check_choice(p.explore, "explore option", EXPLORE)
    check_choice(p.candidate_score, "candidate_score", CANDIDATE_SCORES)
    fraction = exact(p.validation_fraction, "validation_fraction")
    if not 0 <= fraction < 1:
        raise ValueError(f"validation_fraction must be in [0, 1), got {p.validation_fraction}")
    for name in ("target", "tolerated_rejection"):
        if not 0 <= getattr(p, name) <= 1:
            raise ValueError(f"{name} must be in [0, 1], got {getattr(p, name)}")
    p.theta = _resolve_theta(p.theta)
    p.exploration_theta = constants.EXPLORATION_THETA if p.theta is None else p.theta
    if isinstance(p.model, str):
        check_choice(p.model, "model", MODELS)
    else:
        check_estimator(p.model)
    if p.max_candidates is not None:
        p.max_candidates = check_count(p.max_candidates, "max_candidates")
    p.strategy = resolve_strategy(p.strategy, p.alignment, p.objective, p.max_candidates)
    if getattr(p.strategy, "skips_arms", False):
        name = type(p.strategy).__name__
        raise ValueError(f"a purchase compares all candidates, but {name} leaves some out: choose another strategy")
    if not p.selects_subsets:
        p.max_candidates = p.max_candidates or 1
    # Money is kept for validation only where theta is chosen; subset selection spends all.
    keeps_money = p.theta is None and not p.selects_subsets
    p.validation_fraction = fraction if keeps_money else Fraction(0)
    p.max_stages = check_count(p.max_stages, "max_stages")
    p.folds = check_count(p.folds, "folds", least=2)
    p.options = ModelOptions(p.gamma, p.C_h, p.C_g, p.loss, p.scaling)
    p.label_noise = _resolve_label_noise(p.label_noise, n_classes)
    p.hidden_share = _check_hidden_share(p)
    # A user's classifier draws from one generator, fit after fit, and may not support threads.
    p.workers = check_jobs(p.n_jobs) if isinstance(p.model, str) else 1
    return p


def _resolve_theta(theta: Any) -> float | None:
    """Return a given rejection cost; None if it is chosen."""
    if not isinstance(theta, str):
        return float(check_theta(theta))
    if theta != "auto":
        raise ValueError(f"theta must be 'auto' or a number in (0, 1/2), got {theta!r}")
    return None


def _resolve_label_noise(given: Any, n_classes: int) -> FloatArray | None:
    """Return the label noise; None if it is to be estimated."""
    if isinstance(given, str) and given in ("estimate", "uniform"):
        return None if given == "estimate" else uniform_noise(n_classes)
    noise = np.empty(0) if isinstance(given, str) else as_numbers(given, "label_noise")
    is_distribution = noise.shape == (n_classes,) and (noise >= 0.0).all() and np.isclose(noise.sum(), 1.0)
    if not is_distribution or noise.max() >= 1.0:
        raise ValueError(
            f'label_noise must be "estimate", "uniform" or {n_classes} probabilities below 1 of sum 1, got {given!r}'
        )
    return noise


def _check_hidden_share(p: Parameters) -> float | None:
    """Return the share of hidden rows: None to choose it, 0 for no hidden class."""
    check_choice(p.hidden, "hidden", HIDDEN)
    given = p.hidden_share
    if p.uses_rejection and (given is not None or p.hidden == "never"):
        raise ValueError("hidden_share and hidden='never' are for models with a hidden class, not model='rejection'")
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if given is not None and (not is_number or not 0.0 <= float(given) < 1.0):
        hint = (
            f"; a share of {given:g}% is {float(given) / 100:g}, or {given:g}% on the command line"
            if is_number and 1.0 < float(given) < 100.0
            else ""
        )
        raise ValueError(f"hidden_share must be None or a number in [0, 1), got {given!r}{hint}")
    if p.hidden == "never" and given:
        raise ValueError(f"hidden='never' and hidden_share={given!r} contradict each other: leave one out")
    return 0.0 if p.hidden == "never" else None if given is None else float(given)


def resolve_strategy(
    strategy: Any, alignment: str | None, objective: str | None, max_candidates: int | None
) -> Strategy:
    """Build the strategy from a name and options.

    Raises
    ------
    ValueError
        If options contradict each other, or the strategy cannot select `max_candidates` candidates.
    """
    number = max_candidates or 1
    if isinstance(strategy, str):
        options: dict[str, Any] = {"alignment": alignment or "sample", "objective": objective or "risk"}
        if strategy == "value_of_information_commit":
            return ValueOfInformationCommit(**options)
        from exml_sim.strategies import STRATEGIES, by_name

        several = {name: rule.number_option for name, rule in STRATEGIES.items() if rule.number_option is not None}
        if strategy in several:
            options[several[strategy]] = number
        elif number > 1 and strategy in STRATEGIES:
            raise ValueError(
                f"strategy {strategy!r} selects one candidate, not {number}; use {' or '.join(map(repr, several))}"
            )
        return by_name(strategy, **options)
    if not isinstance(strategy, Strategy):
        raise ValueError(f"a strategy is a name, like 'median_elimination', or a Strategy object, got {strategy!r}")
    if alignment is not None or objective is not None:
        raise ValueError("a Strategy object has its own alignment and objective: leave them out")
    selects = int(getattr(strategy, "selects", 1))
    if selects != number and not isinstance(strategy, ValueOfInformationCommit):
        raise ValueError(f"the strategy selects {counted(selects, 'candidate')}, but max_candidates={number}")
    return strategy


ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True, slots=True, eq=False)
class DataSummary:
    """All that the preflight checks use.

    Attributes
    ----------
    X, y
        Observed features and labels.
    names, costs, available, budget
        Candidates, their costs, how many rows of each can be bought, and the money.
    columns
        Names of the observed columns; numbered if empty.
    first_rows
        Rows that the first round buys of the candidate that gets fewest; None if unknown.
    memory
        Free bytes; None if unknown.
    max_kernel_rows
        Rows above which models do not compare all pairs of rows; None if they always do.
    """

    X: FloatArray
    y: NDArray[Any]
    names: Sequence[str]
    costs: Sequence[Fraction]
    available: Sequence[int]
    budget: Fraction
    columns: Sequence[str] = field(default=())
    first_rows: int | None = None
    memory: int | None = field(default_factory=free_memory)
    max_kernel_rows: int | None = None


def check_data(summary: DataSummary) -> tuple[Diagnostic, ...]:
    """Return all diagnostics, errors first."""
    checks: tuple[Callable[[DataSummary], list[Diagnostic]], ...] = (
        lambda data: diagnose_labels(data.y),
        _check_classes,
        _check_columns,
        lambda data: diagnose_duplicates(data.X, data.y),
        _check_money,
        _check_size,
    )
    blank = count_blank(summary.y)
    if not blank:
        check_alike(summary.y)
    diagnostics = [diagnostic for check in checks[: 1 if blank else None] for diagnostic in check(summary)]
    return tuple(sorted(diagnostics, key=lambda diagnostic: (ERROR, WARNING, NOTE).index(diagnostic.severity)))


def raise_errors(diagnostics: Sequence[Diagnostic]) -> None:
    """Raise a ValueError with the errors, if there are any."""
    errors = [diagnostic.message for diagnostic in diagnostics if diagnostic.severity == ERROR]
    if errors:
        raise ValueError("; ".join(errors))


def count_blank(y: ArrayLike) -> int:
    """Count labels that are None or NaN."""
    labels = np.asarray(y)
    return sum(v is None or (isinstance(v, float | np.floating) and bool(np.isnan(v))) for v in labels)


def count_classes(y: NDArray[Any]) -> list[tuple[Any, int]]:
    """Return classes with their numbers of rows, most rows first."""
    classes, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(classes[i].item() if isinstance(classes[i], np.generic) else classes[i], int(counts[i])) for i in order]


def diagnose_labels(y: NDArray[Any]) -> list[Diagnostic]:
    """Return errors in labels; otherwise a note with the classes and their numbers of rows."""
    blank = count_blank(y)
    if blank:
        text = f"{blank} of {len(y)} labels are blank: every row needs a label"
        return [Diagnostic("blank_labels", text, ERROR, "labels")]
    counts = count_classes(y)
    if len(counts) < 2:
        text = f"all labels are {counts[0][0]!r}: at least 2 classes are needed"
        return [Diagnostic("single_class", text, ERROR, "labels")]
    if len(counts) > constants.MAX_PLAIN_CLASSES and (
        len(y) < constants.MIN_MEAN_ROWS_PER_CLASS * len(counts) or _has_fractions(y)
    ):
        text = f"{len(counts)} different labels in {len(y)} rows: this looks like a measurement, not a class"
        return [Diagnostic("labels_like_measurement", text, ERROR, "labels")]
    listed = ", ".join(f"{name} {count}" for name, count in counts[: constants.MAX_PLAIN_CLASSES])
    more = f" and {len(counts) - constants.MAX_PLAIN_CLASSES} more" if len(counts) > constants.MAX_PLAIN_CLASSES else ""
    text = f"{len(y)} rows, {len(counts)} classes: {listed}{more}"
    return [Diagnostic("classes", text, NOTE, "labels")]


def _has_fractions(y: NDArray[Any]) -> bool:
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool((numbers != np.round(numbers)).any())


def _check_classes(data: DataSummary) -> list[Diagnostic]:
    counts = count_classes(data.y)
    if len(counts) < 2 or len(counts) > data.y.size / constants.MIN_MEAN_ROWS_PER_CLASS:
        return []
    warnings = []
    for label, count in counts:
        name, larger = str(label), [str(other) for other, rows in counts if rows > count]
        similar = _find_similar(name, larger)
        if count < constants.MIN_ROWS_PER_CLASS:
            hint = f"; possible typo of {similar!r}" if similar else ""
            warnings.append(("rare_class", f"class {name!r} has {counted(count, 'row')}{hint}"))
        elif similar and _fold_case(name) == _fold_case(similar):
            warnings.append(("similar_classes", f"classes {name!r} and {similar!r} differ in spelling only"))
        elif count * len(counts) < 2 * constants.RARE_CLASS_FRACTION * len(data.y):
            text = f"class {name!r} is {count / len(data.y):.1%} of the rows: see the balanced accuracy"
            warnings.append(("small_class", text))
    return [Diagnostic(code, text, WARNING, "labels") for code, text in warnings]


def _find_similar(name: str, larger: Sequence[str]) -> str | None:
    """Return a class with more rows that is spelled nearly the same."""
    same = [other for other in larger if _fold_case(other) == _fold_case(name)]
    near = difflib.get_close_matches(name, larger, n=1, cutoff=0.75) if len(name) > 2 else []
    return same[0] if same else near[0] if near else None


def _fold_case(name: str) -> str:
    return " ".join(name.casefold().split())


def _check_columns(data: DataSummary) -> list[Diagnostic]:
    X = data.X
    names = list(data.columns) or [f"column {i}" for i in range(X.shape[1])]
    warnings, first_of = [], dict[bytes, int]()
    reported = set[int]()
    for j, name in enumerate(names):
        if name.endswith(MISSING):
            continue
        if np.ptp(X[:, j]) == 0.0:
            warnings.append(("constant_column", f"observed {name} is the same in every row; leave it out", name))
            continue
        twin = first_of.setdefault((X[:, j] + 0.0).tobytes(), j)
        if twin != j and twin not in reported:
            reported.add(twin)
            warnings.append(("duplicated_column", f"observed {names[twin]} and {name} are the same", name))
    diagnostics = [Diagnostic(code, text, WARNING, name) for code, text, name in warnings]
    return diagnostics + [d for j, name in enumerate(names) for d in diagnose_far(f"observed {name}", X[:, j])]


def far_cells(column: FloatArray) -> BoolArray:
    """Return which cells are far from the others; none where the quartiles are equal."""
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
    far = np.abs(column - middle) > constants.FAR_QUARTILE_DISTANCES * (high - low)
    return np.asarray(far & (high > low), dtype=np.bool_)


def diagnose_far(name: str, column: FloatArray) -> list[Diagnostic]:
    """Report far cells of a column, such as codes like 9999."""
    far = far_cells(column)
    if not far.any():
        return []
    worst = column[np.abs(column - np.median(column)).argmax()]
    text = f"{name} has {counted(int(far.sum()), 'value')} far from the others, like {worst:g}, perhaps a code"
    return [Diagnostic("far_values", text, WARNING, name)]


def diagnose_far_purchases(acquisition: AcquisitionManager) -> list[Diagnostic]:
    """Report bought values that are far from the others; of many candidates, of a few."""
    diagnostics = []
    for arm, name in enumerate(acquisition.names):
        rows = np.flatnonzero(acquisition.bought[arm])
        columns = acquisition.values(arm, rows).T if len(rows) else ()
        diagnostics += [item for column in columns for item in diagnose_far(f"candidate {name}", column)]
    more = len(diagnostics) - constants.MAX_FAR_COLUMNS
    rest = [Diagnostic("far_values", f"{more} further columns have such values", WARNING)] if more > 0 else []
    return [*diagnostics[: constants.MAX_FAR_COLUMNS], *rest]


def diagnose_duplicates(X: FloatArray, y: NDArray[Any]) -> list[Diagnostic]:
    """Report duplicated rows, label included, if they are more than expected by chance."""
    groups = group_duplicates(X, np.unique(y, return_inverse=True)[1])
    if groups is None:
        return []
    times = np.bincount(groups)
    duplicated = int(times[times > 1].sum())
    if duplicated < constants.MIN_DUPLICATED_FRACTION * len(X):
        return []
    text = (
        f"{duplicated} of {len(X)} are duplicated rows, more than expected by chance; they are kept together in "
        "out-of-fold predictions; remove duplicates that are no independent rows"
    )
    return [Diagnostic("duplicated_rows", text, WARNING, "rows")]


def diagnose_levels(encodings: Mapping[str, Encodings]) -> list[Diagnostic]:
    """Report candidates of which all columns have a single level: nothing can be learned from them."""
    return [
        Diagnostic(
            "single_level", f"candidate {name} has the single level {own[0].levels[0]!r}: leave it out", ERROR, name
        )
        for name, own in encodings.items()
        if all(encoding.column_type == "category" and len(encoding.levels) == 1 for encoding in own)
    ]


def _check_money(data: DataSummary) -> list[Diagnostic]:
    diagnostics = [
        Diagnostic("candidate_unavailable", f"no row of candidate {name} can be bought", WARNING, name)
        for name, count in zip(data.names, data.available, strict=True)
        if not count
    ]
    everything = Tariff(data.names, data.costs).total(data.available)
    if data.budget >= everything > 0:
        text = f"the budget of {show(data.budget)} buys everything there is ({show(everything)})"
        diagnostics.append(Diagnostic("budget_buys_everything", text, NOTE, "money"))
    elif data.first_rows is not None and data.first_rows < constants.MIN_FIRST_ROWS and len(data.names) > 1:
        text = (
            f"the first round buys {counted(data.first_rows, 'row')} of a candidate; below {constants.MIN_FIRST_ROWS} "
            "the selection is mostly chance: increase the budget or give fewer candidates"
        )
        diagnostics.append(Diagnostic("small_first_round", text, WARNING, "money"))
    return diagnostics


def _check_size(data: DataSummary) -> list[Diagnostic]:
    need = estimate_bytes(len(data.X), data.max_kernel_rows)
    if data.memory is None or need <= data.memory:
        return []
    text = f"{len(data.X)} rows need about {in_bytes(need)} of memory, {in_bytes(data.memory)} are available"
    return [Diagnostic("too_little_memory", text, ERROR, "size")]


def estimate_bytes(rows: int, max_kernel_rows: int | None = None) -> int:
    """Estimate the memory of a run; models compare all pairs of rows, up to `max_kernel_rows` if given."""
    if max_kernel_rows is None:
        return int(constants.REJECTION_COPIES * 8 * rows * rows)
    return int(constants.KERNEL_COPIES * 8 * min(rows, max_kernel_rows) ** 2) + constants.FOREST_BYTES_PER_ROW * rows


def check_memory(rows: int) -> None:
    """Raise a MemoryError, before anything is bought, if not even two matrices of all pairs fit."""
    need, have = 16 * rows * rows, free_memory()
    if have is not None and need > have:
        raise MemoryError(
            f"rejection models of {rows} rows need at least {in_bytes(need)} of memory, {in_bytes(have)} are "
            'available: use model="auto", or fewer rows'
        )
