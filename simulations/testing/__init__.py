"""`check_bound`: test a bound on near-tight instances, exact probabilities and counted trials.

A bound is a function ``bound(budget, context)``. Every instance has a failure probability that is known exactly, or
between two numbers, or counted; one false-alarm probability alpha covers all counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exml_sim.testing import CheckError
from simulations.testing._bound_instances import (
    Assumes,
    Bound,
    BoundInstance,
    count_instances,
    enumerate_instances,
    near_tight_instances,
    point_of,
)

__all__ = ["Assumes", "Bound", "BoundInstance", "BoundReport", "check_bound", "examine_bound", "point_of"]

#: Rounding that is granted to a bound.
SLACK = 1e-9


@dataclass(frozen=True)
class BoundReport:
    """Result of the test of a bound.

    Attributes
    ----------
    findings
        One sentence for every instance that refutes it.
    spoke, silent
        Instances at which the bound is below 1, and at which it is vacuous.
    unseen
        The factor by which the bound could be too small without being refuted here: the smallest bound / probability
        over all instances at which it is a number.
    tightest
        The instance with that factor.
    alpha
        Probability that a right bound is refuted, at most.
    asked
        K, budgets and costs of the instances.
    """

    name: str
    findings: tuple[str, ...]
    spoke: int
    silent: int
    unseen: float
    tightest: str
    alpha: float
    asked: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing refutes it."""
        return not self.findings

    def __str__(self) -> str:
        if not self.passed:
            return f"{self.name}:\n" + "\n".join(f"- {finding}" for finding in self.findings)
        if math.isinf(self.unseen):
            seen = "none of them says how tight it is"
        else:
            seen = f"an error by a factor below {self.unseen:.3g} would go unseen (tightest: {self.tightest})"
        where = f"at {self.spoke} instances where it is below 1 ({self.silent} where not)"
        return f"{self.name}: not refuted {where}; {seen}; tested at {self.asked}; alpha = {self.alpha:.0e}"


def check_bound(bound: Bound, assumes: Assumes | None = None, **options: Any) -> BoundReport:
    """Examine a bound, and raise `CheckError` if an instance refutes it; see `examine_bound`.

    Examples
    --------
    >>> check_bound(lambda budget, context: 1.0).passed
    True
    """
    report = examine_bound(bound, assumes, **options)
    if not report.passed:
        raise CheckError(str(report))
    return report


def examine_bound(
    bound: Bound,
    assumes: Assumes | None = None,
    *,
    alpha: float = 1e-6,
    seed: int = 0,
) -> BoundReport:
    """Test a bound on the instances of what it assumes.

    Parameters
    ----------
    bound
        ``bound(budget, context)``, a probability; NaN, or 1 and more, is vacuous.
    assumes
        Strategy and distribution of the bound.
    alpha
        Probability that a right bound is refuted, at most, over all counts together.
    seed
        Root seed of the counts.
    """
    about = assumes or Assumes()
    instances = get_instances(about, alpha, seed)
    findings, ratios, spoke = [], [], 0
    for instance in instances:
        value, least = float(bound(instance.budget, instance.context)), instance.least
        if math.isfinite(value):
            # Divided by more than this it would be refuted, also where it says nothing as it is.
            ratios.append((value / least if least > 0 else math.inf, instance.name))
        if not value < 1.0:
            continue
        spoke += 1
        if least > value * (1 + SLACK):
            shown = f"{value:.3g}" if value > 0 else "below 1e-300"
            place = f"{instance.name} at budget {instance.budget:,}"
            findings.append(f"{place}: at least {least:.4g}, {instance.kind}, and the bound is {shown}")
    factor, where = min(ratios, default=(math.inf, "none"))
    counted = any(instance.counts for instance in instances)
    name = getattr(bound, "__name__", type(bound).__name__)
    spent = alpha if counted else 0.0
    return BoundReport(name, tuple(findings), spoke, len(instances) - spoke, factor, where, spent, _asked(instances))


def _asked(instances: Sequence[BoundInstance]) -> str:
    """Describe K, budgets and costs of the instances."""
    budgets = [instance.budget for instance in instances]
    uneven = sum(instance.budget % instance.context.K > 0 for instance in instances)
    # Without a list every pull costs 1.
    costs = {
        tuple(f"{cost:g}" for cost in instance.context.costs)
        for instance in instances
        if set(instance.context.costs) - {1.0}
    }
    numbers = ", ".join(map(str, sorted({instance.context.K for instance in instances})))
    rest = f"{uneven} of {len(instances)} are no multiples of K" if uneven else "all multiples of K"
    prices = " and ".join(["unit costs", *(f"costs {', '.join(prices)}" for prices in sorted(costs))])
    return f"K = {numbers}, budgets {min(budgets):,} to {max(budgets):,} ({rest}), {prices}"


_INSTANCES: dict[str, list[BoundInstance]] = {}


def get_instances(about: Assumes, alpha: float, seed: int) -> list[BoundInstance]:
    """Return all instances of what a bound assumes, made once: mutants are tested on the same."""
    key = f"{about!r} {alpha!r} {seed}"
    if key not in _INSTANCES:
        if about.distribution == "features":
            _INSTANCES[key] = list(near_tight_instances(about))
        else:
            exact = list(enumerate_instances(about)) if about.distribution == "bernoulli" else []
            _INSTANCES[key] = [*exact, *count_instances(about, alpha, seed)]
    return _INSTANCES[key]
