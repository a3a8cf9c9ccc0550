"""The parameters of a bound as options, shared by ``exml bound`` and ``exml plan``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

Strategy = Literal["uniform", "median"]
F = TypeVar("F", bound=Callable[..., Any])
STRATEGIES: tuple[Strategy, ...] = ("uniform", "median")


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Read them."""
        try:
            found = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"expected numbers separated by commas, such as 0.1,0.2,0.2; got {value}", param, ctx)
        return found


@dataclass(frozen=True, slots=True)
class Point:
    """Where bounds are evaluated.

    Attributes
    ----------
    K
        Number of candidates.
    theta, kappa_lambda
        Rejection cost, and kappa times the radius of the ball.
    gap, gaps
        One gap for all other candidates, or one for each of them; the other is None.
    strategies
        "uniform", "median", or both.
    kernel, rows, population
        As in `theory.tighter`.
    """

    K: int
    theta: float
    kappa_lambda: float
    gap: float | None
    gaps: tuple[float, ...] | None
    strategies: tuple[Strategy, ...]
    kernel: str
    rows: str
    population: int | None

    @classmethod
    def of(
        cls,
        K: int | None,
        gap: float | None,
        gaps: tuple[float, ...] | None,
        strategy: Strategy | Literal["both"],
        **rest: Any,
    ) -> Point:
        """Check what only makes sense together."""
        if (gap is None) == (gaps is None):
            raise click.UsageError("give either --gap (one number for all other candidates) or --gaps (one for each)")
        if K is None:
            if gaps is None:
                raise click.UsageError("give --K, the number of candidates")
            K = len(gaps) + 1
        if gaps is not None and len(gaps) != K - 1:
            raise click.UsageError(
                f"--gaps needs K - 1 = {K - 1} numbers, one for each other candidate; got {len(gaps)}"
            )
        return cls(K, gap=gap, gaps=gaps, strategies=STRATEGIES if strategy == "both" else (strategy,), **rest)

    def check(self) -> None:
        """Refuse what no population has, in the words of the theory: theta outside (0, 1/2), a gap that is too large.

        A budget that is too small is no bad input: the bounds say by how much.
        """
        from theory.tighter import launch_rows

        launch_rows(max(self.gaps) if self.gaps else self.gap or 0.0, self.theta, self.kappa_lambda)

    def options(self, strategy: str) -> dict[str, Any]:
        """Keyword arguments of `theory.ladder` and of the tighter bounds."""
        found: dict[str, Any] = {"kernel": self.kernel, "population": self.population, "gaps": self.gaps}
        return {**found, "rows": self.rows} if strategy == "median" else found

    def table(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "K": self.K,
            "theta": self.theta,
            "kappa_lambda": self.kappa_lambda,
            "gap": self.gap,
            "gaps": self.gaps,
            "kernel": self.kernel,
            "rows": self.rows,
            "population": self.population,
        }

    def __str__(self) -> str:
        gaps = (
            f"gap {self.gap:g}" if self.gap is not None else f"gaps {', '.join(f'{gap:g}' for gap in self.gaps or ())}"
        )
        return f"K = {self.K}, theta = {self.theta:g}, kappa Lambda = {self.kappa_lambda:g}, {gaps}"


def instance_options(command: F, *, required: bool = True) -> F:
    """Add the options of `Point`."""
    for decorate in reversed(
        (
            click.option("--K", "K", type=click.IntRange(min=2), help="Number of candidates."),
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
                "--population", type=click.IntRange(min=1), help="Rows, if they are drawn without replacement."
            ),
        )
    ):
        command = decorate(command)
    return command
