"""``exml bound``: print all bounds on the probability of a miss for given parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from exml_sim.cli import _options as options
from exml_sim.money import short

if TYPE_CHECKING:
    from theory import BoundProblem, BoundValue

Strategy = Literal["uniform", "median"]
STRATEGIES: tuple[Strategy, ...] = ("uniform", "median")
TITLES = {"uniform": "uniform allocation", "median": "median elimination"}


def _parse_gaps(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Read numbers separated by commas."""
    if value is not None and value.count(",") >= options.MOST_NUMBERS:
        raise click.BadParameter(f"at most {options.MOST_NUMBERS:,} numbers are allowed")
    try:
        return None if value is None else tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"expected numbers separated by commas, such as 0.1,0.2,0.2; got {value}") from None


def _choose(name: str, *values: str, help: str) -> options.Decorator:
    """Make an option with these values, the first of which is the default."""
    return click.option(name, type=click.Choice(values), default=values[0], show_default=True, help=help)


#: The options that describe a `theory.BoundProblem`.
problem_options = options.combine(
    click.option("--K", "K", type=options.Whole(2, options.MOST_ARMS), help="Number of candidates."),
    click.option("--theta", type=float, help="Rejection cost, between 0 and 1/2."),
    click.option("--kappa-lambda", type=float, help="kappa times the ball's radius Lambda."),
    click.option("--gap", type=float, help="Gap between the best candidate and all others."),
    click.option(
        "--gaps", callback=_parse_gaps, metavar="NUMBERS", help="One for each other candidate, such as 0.1,0.2."
    ),
    _choose("--strategy", "both", *STRATEGIES, help="Uniform allocation or median elimination."),
    _choose("--kernel", "any", "nonnegative", help="nonnegative for a Gaussian kernel."),
    _choose("--rows", "accumulated", "fresh", help="Rows behind the scores of median elimination."),
    click.option("--population", type=options.Whole(1, options.MOST_PULLS), help="Rows, if drawn without replacement."),
)


def read_problem(
    K: int | None, gap: float | None, gaps: tuple[float, ...] | None, strategy: Strategy | Literal["both"], **rest: Any
) -> tuple[BoundProblem, tuple[Strategy, ...]]:
    """Return the problem and the strategies that the options describe, checked together."""
    from theory import BoundProblem

    if (gap is None) == (gaps is None):
        raise click.UsageError("give either --gap (one number for all other candidates) or --gaps (one for each)")
    if K is None:
        if gaps is None:
            raise click.UsageError("give --K, the number of candidates")
        K = len(gaps) + 1
    if gaps is not None and len(gaps) != K - 1:
        raise click.UsageError(f"--gaps needs K - 1 = {K - 1} numbers, one for each other candidate; got {len(gaps)}")
    problem = BoundProblem(K, gap, gaps=gaps, **rest)
    problem.check()
    return problem, STRATEGIES if strategy == "both" else (strategy,)


def describe_problem(problem: BoundProblem) -> str:
    """Write the parameters of a problem in one line."""
    gaps = f"gap {short(problem.gap)}" if problem.gaps is None else f"gaps {', '.join(map(short, problem.gaps))}"
    return f"K = {problem.K}, theta = {short(problem.theta)}, kappa Lambda = {short(problem.kappa_lambda)}, {gaps}"


@click.command(name="bound")
@problem_options
@click.option("--budget", required=True, type=options.Whole(1, options.MOST_PULLS), help="Number of pulls B.")
@options.as_json
def command(budget: int, as_json: bool, **given: Any) -> None:
    """Print all bounds on the probability of missing the best of K candidates: paper, corrected, tighter.

    A bound of 1 or more is vacuous. Where a condition is not met, the line says by how much. The bounds of a study's
    pools, also those that use the population, are in its report and in exml plan STUDY.toml.

    Example: exml bound --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2 --budget 16000
    """
    if given["theta"] is None or given["kappa_lambda"] is None:
        raise click.UsageError("give the parameters --theta, --kappa-lambda and --gap or --gaps")
    problem, strategies = read_problem(**given)
    values = {strategy: problem.compare(strategy, budget) for strategy in strategies}
    names = ("K", "theta", "kappa_lambda", "gap", "gaps", "kernel", "rows", "population")
    parameters = {name: getattr(problem, name) for name in names} | ({"gap": None} if problem.gaps else {})
    bounds = {strategy: [_record(value) for value in row] for strategy, row in values.items()}
    start = f"Probability of missing the best candidate at budget {budget:,}: {describe_problem(problem)}."
    parts = [start, *(_write(strategy, row) for strategy, row in values.items())]
    options.emit({"budget": budget, **parameters, "bounds": bounds}, "\n\n".join(parts), as_json)


def _write(strategy: Strategy, values: Sequence[BoundValue]) -> str:
    names = [_name(value.name) for value in values]
    width = max(map(len, names))
    shown = [f"{_format(value)}{f': {value.note}' if value.note else ''}" for value in values]
    return "\n".join([TITLES[strategy], *(f"  {n:{width}}  {text}" for n, text in zip(names, shown, strict=True))])


def _name(name: str) -> str:
    """Return the name that text and figures use for a bound or a variant of it."""
    from simulations.panels import name_bound

    version, comma, variant = name.partition(", ")
    return name_bound(version) + comma + variant


def _format(value: BoundValue) -> str:
    log = float(value.log_value)
    if math.isnan(log):
        return "does not apply"
    shown = f"{math.exp(log):.3g}" if -700 < log < 700 else f"10^{log / math.log(10):.1f}"
    return f"{shown} (vacuous)" if value.vacuous else shown


def _record(value: BoundValue) -> dict[str, Any]:
    log = float(value.log_value)
    return {
        "name": value.name,
        "value": options.finite(float(value.value)),
        "log_value": options.finite(log),
        "conditions_met": not math.isnan(log),
        "vacuous": bool(value.vacuous),
        "note": value.note,
    }
