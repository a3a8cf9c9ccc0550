"""The report of a fitted ExMLClassifier as Markdown, and its layers as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from exml_sim._internal.binomial import clopper_pearson
from exml_sim._internal.validation import counted
from exml_sim.classifier._consensus import Arms
from exml_sim.classifier._growth import LayerRecord
from exml_sim.classifier._rejection_model import ThetaResult
from exml_sim.classifier.constants import CONFIDENCE_LEVEL, MIN_NESTED_ROWS
from exml_sim.classifier.subset_selection import SelectionResult, SubsetScore
from exml_sim.money import short, show

if TYPE_CHECKING:
    from jinja2 import Environment

    from exml_sim.bandit.trial import Exploration
    from exml_sim.classifier.estimator import BaseExMLClassifier


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_eval_context
    from markupsafe import Markup

    @pass_eval_context
    def finalize(context: Any, value: Any) -> Any:
        """Escape names of people in Markdown; macros are Markdown already, and plain text needs nothing."""
        is_name = context.autoescape and isinstance(value, str) and not isinstance(value, Markup)
        return Markup(escape_markdown(value)) if is_name else value

    environment = Environment(
        loader=PackageLoader("exml_sim.classifier"),
        autoescape=lambda name: bool(name and name.endswith(".md.j2")),
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "percent": lambda value, digits=0: f"{value:.{digits}%}",
        "short": short,
        "money": show,
        "interval": _interval,
        "fenced": lambda text: Markup(text.replace("`", "'")),
        "sort_by_score": lambda arms, scores: sorted(arms, key=lambda arm: (scores[arm], arm)),
    }
    environment.globals |= {"counted": counted, "isfinite": math.isfinite}
    return environment


def escape_markdown(text: str) -> str:
    """Escape what Markdown takes for HTML, for a cell of a table, or for a link."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("](", "]\\(").replace("\n", " ")


def render(template: str, **context: Any) -> str:
    """Render a template of this package."""
    return _templates().get_template(template).render(**context)


def render_report(model: BaseExMLClassifier) -> str:
    """Render the whole report."""
    names = model.tariff_.names
    explored = [record for record in model.records_[1:] if record.selection is not None]
    return render(
        "report.md.j2",
        model=model,
        names=names,
        level=CONFIDENCE_LEVEL,
        min_rows=MIN_NESTED_ROWS,
        sentences=[r.selection.report.sentence() for r in explored if r.selection and r.selection.report is not None],
        bought=[(name, int(count)) for name, count in zip(names, model.bought_.sum(axis=1), strict=True) if count],
        accuracy=model.evaluation_.metrics[1] if model.evaluation_ and model.evaluation_.gained is not None else None,
        prediction_costs=prediction_costs(model),
        last_rounds={record.number: _last_rounds(record) for record in explored},
    )


def prediction_costs(model: BaseExMLClassifier) -> list[dict[str, Any]]:
    """Return the fraction of rows that reaches each layer, where cross-validation estimates it, and its cost."""
    names = model.tariff_.names
    fraction, layers = 1.0, []
    for before, record in pairwise(model.records_):
        if model.cascade:
            if before.choice is None:
                break
            use_rows = before.fitted.latent is not None and before.rejected is not None
            fraction *= float(before.rejected.mean()) if use_rows else before.choice.chosen.rejection_rate  # type: ignore[union-attr]
        cost = model.tariff_.price(names.index(name) for name in record.candidates)
        layers.append({"fraction": fraction, "candidates": ", ".join(record.candidates), "cost": cost})
    return layers


def _last_rounds(record: LayerRecord) -> dict[int, int]:
    """Return the last round of every arm of an exploration."""
    if record.selection is None or record.selection.exploration is None:
        return {}
    return {arm: at for at, entry in enumerate(record.selection.exploration.rounds) for arm in entry.active}


def _interval(ends: tuple[float, float]) -> str:
    # Losses are not negative, although an interval that is symmetric about the mean may be.
    return f"{max(ends[0], 0.0):.3f} to {ends[1]:.3f}" if math.isfinite(ends[0]) else ""


def layers_to_dict(records: Sequence[LayerRecord], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return layers as plain values: tried thetas, scores of every round with the solver's accuracy."""
    return [_layer_to_dict(record, names) for record in records]


def _layer_to_dict(record: LayerRecord, names: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "layer": record.number,
        "candidates": list(record.candidates),
        "model": record.fitted.name,
        "theta": record.theta,
        "rows": len(record.rows),
        "thetas": [] if record.choice is None else [_theta_to_dict(result) for result in record.choice.results],
    }
    selection = record.selection
    if selection is None:
        return values | {"rounds": [], "looks": [], "statement": None}
    return values | {
        "rounds": [] if selection.exploration is None else _rounds_to_dict(selection.exploration, selection.intervals),
        "looks": [] if selection.subsets is None else _subsets_to_dict(selection.subsets, names),
        "statement": None if selection.report is None else selection.report.to_dict(),
    }


def _theta_to_dict(result: ThetaResult) -> dict[str, Any]:
    known = result.accepted > 0
    interval = list(clopper_pearson(result.right_accepted, result.accepted, CONFIDENCE_LEVEL)) if known else None
    return {
        "theta": result.theta,
        "rows": result.rows,
        "accepted": result.accepted,
        "accuracy": result.accuracy if known else None,
        "interval": interval,
    }


def _rounds_to_dict(exploration: Exploration, intervals: Sequence[tuple[float, float]]) -> list[list[dict[str, Any]]]:
    last = {arm: at for at, entry in enumerate(exploration.rounds) for arm in entry.active}
    return [
        [
            {
                "candidate": exploration.names[arm],
                "rows": int(entry.pulls[arm]),
                "score": float(entry.scores[arm]),
                "interval": _finite(intervals[arm]) if intervals and last[arm] == at else None,
                "solver_accuracy": [float(entry.lower[arm]), float(entry.upper[arm])],
                "stays": bool(arm in entry.survivors),
            }
            for arm in entry.active
        ]
        for at, entry in enumerate(exploration.rounds)
    ]


def _subsets_to_dict(result: SelectionResult, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    return [[_subset_to_dict(subset, names, entry.chosen) for subset in entry.subsets] for entry in result.rounds]


def _subset_to_dict(subset: SubsetScore, names: Sequence[str], chosen: Arms) -> dict[str, Any]:
    values = {name: getattr(subset, name) for name in ("rows", "loss", "predicted", "deviation")}
    candidates = [names[arm] for arm in subset.arms]
    return values | {
        "candidates": candidates,
        "interval": _finite(subset.interval),
        "chosen": subset.arms == chosen,
    }


def _finite(interval: tuple[float, float]) -> list[float] | None:
    return [float(end) for end in interval] if math.isfinite(interval[0]) else None
