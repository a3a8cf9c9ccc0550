"""The parameters of a bound as options, shared by ``exml bound`` and ``exml plan``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from exml_sim.cli import options
from exml_sim.money import short

if TYPE_CHECKING:
    from theory import BoundProblem

Strategy = Literal["uniform", "median"]
F = TypeVar("F", bound=Callable[..., Any])
STRATEGIES: tuple[Strategy, ...] = ("uniform", "median")


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Read them."""
        if str(value).count(",") >= options.MOST_NUMBERS:
            self.fail(f"at most {options.MOST_NUMBERS:,} numbers are allowed", param, ctx)
        try:
            found = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"expected numbers separated by commas, such as 0.1,0.2,0.2; got {value}", param, ctx)
        return found


def read(
    K: int | None,
    gap: float | None,
    gaps: tuple[float, ...] | None,
    strategy: Strategy | Literal["both"],
    **rest: Any,
) -> tuple[BoundProblem, tuple[Strategy, ...]]:
    """The point that the options describe, and the strategies; what only makes sense together is checked."""
    from theory import BoundProblem

    if (gap is None) == (gaps is None):
        raise click.UsageError("give either --gap (one number for all other candidates) or --gaps (one for each)")
    if K is None:
        if gaps is None:
            raise click.UsageError("give --K, the number of candidates")
        K = len(gaps) + 1
    if gaps is not None and len(gaps) != K - 1:
        raise click.UsageError(f"--gaps needs K - 1 = {K - 1} numbers, one for each other candidate; got {len(gaps)}")
    point = BoundProblem(K, gap, gaps=gaps, **rest)
    point.check()
    return point, STRATEGIES if strategy == "both" else (strategy,)


def table(point: BoundProblem) -> dict[str, Any]:
    """Plain values."""
    names = ("K", "theta", "kappa_lambda", "gap", "gaps", "kernel", "rows", "population")
    return {name: getattr(point, name) for name in names} | ({} if point.gaps is None else {"gap": None})


def words(point: BoundProblem) -> str:
    """The point in a sentence."""
    gaps = f"gap {short(point.gap)}" if point.gaps is None else f"gaps {', '.join(map(short, point.gaps))}"
    return f"K = {point.K}, theta = {short(point.theta)}, kappa Lambda = {short(point.kappa_lambda)}, {gaps}"


def instance_options(command: F, *, required: bool = True) -> F:
    """Add the options of a point."""
    for decorate in reversed(
        (
            click.option("--K", "K", type=click.IntRange(2, options.MOST_ARMS), help="Number of candidates."),
            click.option("--theta", required=required, type=float, help="Rejection cost, between 0 and 1/2."),
            click.option("--kappa-lambda", required=required, type=float, help="kappa times the ball's radius Lambda."),
            click.option("--gap", type=float, help="Gap between the best candidate and all others."),
            click.option("--gaps", type=Numbers(), help="A gap for each other candidate, separated by commas."),
            click.option(
                "--strategy",
                type=click.Choice((*STRATEGIES, "both")),
                default="both",
                show_default=True,
                help="Uniform allocation or median elimination.",
            ),
            click.option(
                "--kernel",
                type=click.Choice(("any", "nonnegative")),
                default="any",
                show_default=True,
                help="nonnegative for a Gaussian kernel.",
            ),
            click.option(
                "--rows",
                type=click.Choice(("accumulated", "fresh")),
                default="accumulated",
                show_default=True,
                help="Rows behind the scores of median elimination.",
            ),
            click.option(
                "--population",
                type=click.IntRange(1, options.MOST_PULLS),
                help="Rows, if drawn without replacement.",
            ),
        )
    ):
        command = decorate(command)
    return command
