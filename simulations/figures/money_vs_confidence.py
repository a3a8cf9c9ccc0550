"""Draw cost against confidence: strategies that stop when confident, the fixed budget, and the lower bound.

For a study in mode "fixed_confidence" whose strategies differ in their confidence; one picture per pool of known arms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exml_sim.bandit.parametric import BernoulliArm, GaussianArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.engine.result import StudyResult
from simulations.figures import style
from theory.characteristic import gaussian, least_pulls

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Trials of every budget that is tried for the fixed budget.
TRIALS = 4000


def figures(result: StudyResult) -> Iterator[tuple[str, Figure]]:
    """Yield one picture per pool."""
    if result.study.mode != "fixed_confidence":
        raise ValueError(
            f"cost against confidence needs a study in mode 'fixed_confidence', got mode {result.study.mode!r}"
        )
    cells = {cell.index: cell for cell in result.study_cells}
    lines = [dict(line, spec=cells[line["cell"]]) for line in result.costs()]
    for number, name in enumerate(dict.fromkeys(line["pool"] for line in lines)):
        part = [line for line in lines if line["pool"] == name]
        pool = result.study.pool(part[0]["spec"])
        yield f"money_vs_confidence_{number}", _figure(_curves(result, part), pool, name)


def _curves(
    result: StudyResult, lines: Sequence[Mapping[str, Any]]
) -> dict[str, list[tuple[float, float, float, float]]]:
    """Collect by strategy: delta, mean cost, and its interval, by falling delta."""
    points: dict[str, list[tuple[float, float, float, float]]] = {}
    for line in lines:
        rule = result.study.strategy(line["spec"])
        delta = round(1.0 - float(rule.confidence), 12)  # type: ignore[attr-defined]
        point = (delta, line["mean"], line["mean_lower"], line["mean_upper"])
        points.setdefault(type(rule).__name__, []).append(point)
    return {name: sorted(values, reverse=True) for name, values in points.items()}


def _fixed_budget(pool: Pool, delta: float, trials: int = TRIALS) -> float:
    """Find the smallest budget, in steps of a tenth, with which uniform allocation fails at most in a share delta."""
    best, budget = pool.best_arms(), 2 * pool.n_arms
    while pool.explore_many("uniform_allocation", budget, trials).failures(best).mean() > delta:
        budget = max(budget + pool.n_arms, int(1.1 * budget))
    return float(budget)


def _limit(pool: Pool, delta: float) -> float | None:
    """Return the lower bound on the mean cost of any strategy; None for arms without a family."""
    if not isinstance(pool, ParametricPool):
        return None
    kinds = {type(arm) for arm in pool.arms}
    # Bernoulli arms that are maximised are as hard as those of the opposite outcomes, which are minimised.
    mirrored = kinds == {BernoulliArm} and pool.direction == "maximise"
    means = [float(risk) + mirrored for risk in pool.risks]
    if any(cost != 1 for cost in pool.costs):
        return None
    if kinds == {BernoulliArm}:
        return least_pulls(means, delta)
    deviations = {float(getattr(arm, "sd", 0.0)) for arm in pool.arms}
    return least_pulls(means, delta, gaussian(*deviations)) if kinds == {GaussianArm} and len(deviations) == 1 else None


def _figure(
    points: Mapping[str, Sequence[tuple[float, float, float, float]]], pool: Pool, title: str, trials: int = TRIALS
) -> Figure:
    """Draw one pool."""
    deltas = sorted({point[0] for values in points.values() for point in values}, reverse=True)
    with style.context():
        picture = style.blank()
        ax = picture.subplots()
        _draw(ax, points)
        fixed = [_fixed_budget(pool, delta, trials) for delta in deltas]
        colour = style.COLOURS["practice"]
        ax.plot(deltas, fixed, "--", marker="x", color=colour, label="fixed budget, uniform allocation")
        least = [pulls for delta in deltas if (pulls := _limit(pool, delta)) is not None]
        if least:
            ax.plot(deltas, least, ":", color=style.GUIDE, label="lower bound: characteristic time")
        ax.set(xscale="log", yscale="log", xlabel="error probability, 1 - confidence", ylabel="cost")
        ax.invert_xaxis()
        ax.set_title(f"Cost against confidence: {title}")
        ax.legend(loc="best")
    return picture


def _draw(ax: Axes, points: Mapping[str, Sequence[tuple[float, float, float, float]]]) -> Axes:
    """Draw the mean cost of every strategy with its interval."""
    for number, (name, values) in enumerate(points.items()):
        colour, marker = style.CYCLE[number % len(style.CYCLE)], style.MARKERS[number % len(style.MARKERS)]
        deltas, means, lower, upper = (list(column) for column in zip(*values, strict=True))
        ax.fill_between(deltas, lower, upper, color=colour, alpha=0.2, linewidth=0)
        ax.plot(deltas, means, "-", marker=marker, color=colour, label=f"until confident: {name}")
    return ax
