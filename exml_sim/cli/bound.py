"""``exml bound``: print all bounds on the probability of a miss, for given parameters or for the pools of a study."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np

from exml_sim.cli import _options as options
from exml_sim.money import short

if TYPE_CHECKING:
    from simulations.certificates import Certificate
    from theory import BoundProblem, BoundValue

Strategy = Literal["uniform", "median"]
#: The smallest positive double; a bound below it underflows to 0.
_SMALLEST = 5e-324
STRATEGIES: tuple[Strategy, ...] = ("uniform", "median")
TITLES = {"uniform": "uniform allocation", "median": "median elimination"}


class _Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Read the numbers."""
        if str(value).count(",") >= options.MOST_NUMBERS:
            self.fail(f"at most {options.MOST_NUMBERS:,} numbers are allowed", param, ctx)
        try:
            return tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"expected numbers separated by commas, such as 0.1,0.2,0.2; got {value}", param, ctx)


def problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a `theory.BoundProblem`."""
    pulls = click.IntRange(1, options.MOST_PULLS)
    for name, *names, settings in reversed(
        (
            ("--K", "K", {"type": click.IntRange(2, options.MOST_ARMS), "help": "Number of candidates."}),
            ("--theta", {"type": float, "help": "Rejection cost, between 0 and 1/2."}),
            ("--kappa-lambda", {"type": float, "help": "kappa times the ball's radius Lambda."}),
            ("--gap", {"type": float, "help": "Gap between the best candidate and all others."}),
            ("--gaps", {"type": _Numbers(), "help": "A gap for each other candidate, separated by commas."}),
            (
                "--strategy",
                _choice(*STRATEGIES, "both", default="both", help="Uniform allocation or median elimination."),
            ),
            ("--kernel", _choice("any", "nonnegative", help="nonnegative for a Gaussian kernel.")),
            ("--rows", _choice("accumulated", "fresh", help="Rows behind the scores of median elimination.")),
            ("--population", {"type": pulls, "help": "Rows, if drawn without replacement."}),
        )
    ):
        command = click.option(name, *names, **settings)(command)
    return command


def _choice(*values: str, default: str | None = None, help: str) -> dict[str, Any]:
    return {"type": click.Choice(values), "default": default or values[0], "show_default": True, "help": help}


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
@click.argument("file", metavar="[STUDY.toml]", required=False, type=click.Path(exists=True, path_type=Path))
@problem_options
@click.option("--budget", required=True, type=click.IntRange(1, options.MOST_PULLS), help="Number of pulls B.")
@click.option("--certify", is_flag=True, help="Also certify a limit by simulation; with a study's file.")
@options.as_json
def command(file: Path | None, budget: int, certify: bool, as_json: bool, **given: Any) -> None:
    """Print all bounds on the probability of missing the best of K candidates: paper, corrected, tighter.

    With a study's file: for its pools and strategies, also with the bounds that use the population; the budgets of the
    file play no role. A bound of 1 or more is vacuous. Where a condition is not met, the line says by how much. With
    --certify: also a limit from 50,000 trials, with confidence 1 - 1e-9.

    Examples: exml bound --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2 --budget 16000; exml bound study.toml --budget
    448
    """
    if file is not None:
        typed = [name for name in given if options.is_typed(name)]
        if typed:
            raise click.UsageError(f"--{typed[0].replace('_', '-')} cannot be combined with a study's file")
        rows = _bound_study(file, budget, certify)
        data: dict[str, Any] = {"pools": [_record_study(*row) for row in rows]}
        start = "."
    else:
        if certify:
            raise click.UsageError("--certify runs trials on a pool: give a study's file")
        if given["theta"] is None or given["kappa_lambda"] is None:
            raise click.UsageError("give parameters (--theta, --kappa-lambda and --gap or --gaps) or a study's file")
        problem, strategies = read_problem(**given)
        rows = [("", strategy, problem.compare(strategy, budget), "", None) for strategy in strategies]
        names = ("K", "theta", "kappa_lambda", "gap", "gaps", "kernel", "rows", "population")
        parameters = {name: getattr(problem, name) for name in names} | ({"gap": None} if problem.gaps else {})
        data = {**parameters, "bounds": {row[1]: [_record(value) for value in row[2]] for row in rows}}
        start = f": {describe_problem(problem)}."
    parts = [f"Probability of missing the best candidate at budget {budget:,}{start}", *(_write(*row) for row in rows)]
    options.emit({"budget": budget, **data}, "\n\n".join(parts), as_json)


#: Pool, strategy, values of the bounds, why there are none, and the certificate if it is wanted.
Row = tuple[str, str, "tuple[BoundValue, ...]", str, "Certificate | None"]


def _bound_study(file: Path, budget: int, certify: bool) -> list[Row]:
    """Evaluate the bounds of every pool and strategy of a study."""
    from exml_sim.engine import Budgets
    from exml_sim.engine.study import Study
    from simulations._pool_bounds import bounds_of, match_classical
    from simulations.certificates import bound_cell
    from theory import BoundValue

    study = replace(Study.from_toml(file), budgets=Budgets(absolute=(str(budget),)))
    rows: list[Row] = []
    for cell in {cell.labels: cell for cell in study.cells()}.values():
        pool, score, strategy = cell.labels
        bounds = bounds_of(study, cell)
        limit = bound_cell(study, cell) if certify else None
        place = f"{pool} ({score})" if score else pool
        if isinstance(bounds, str):
            matched = match_classical(study.pool(cell), study.strategy(cell))
            values = tuple(BoundValue(bound.name, np.log(np.maximum(bound.at(budget), _SMALLEST))) for bound in matched)
            rows.append((place, strategy, values, bounds, limit))
        else:
            kind, problem = bounds
            rows.append((place, strategy, problem.compare(kind, budget), "", limit))
    return rows


def _write(
    place: str, strategy: str, values: tuple[BoundValue, ...], reason: str, certificate: Certificate | None
) -> str:
    title = f"{place}, {strategy.replace('_', ' ')}" if place else TITLES[strategy]
    names = [_name(value.name) for value in values]
    width = max(map(len, names), default=0)
    shown = [f"{_format(value)}{f': {value.note}' if value.note else ''}" for value in values]
    lines = [f"  {name:{width}}  {text}" for name, text in zip(names, shown, strict=True)]
    certified = [] if certificate is None else [f"  {certificate.sentence}"]
    return "\n".join([title, *(lines or [f"  no bound: {reason}"]), *certified])


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


def _record_study(
    place: str, strategy: str, values: tuple[BoundValue, ...], reason: str, certificate: Certificate | None
) -> dict[str, Any]:
    row = {"where": place, "strategy": strategy, "bounds": [_record(value) for value in values], "reason": reason}
    return row if certificate is None else row | {"certified": asdict(certificate)}


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
