"""Is a bound refuted somewhere, and by how much could it be wrong unseen?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exml_sim.testing import CheckError
from simulations.testing.assumptions import Assumes, Bound, Instance
from simulations.testing.features import corners, near_tight_places, tied_arms
from simulations.testing.known_arms import counted, enumerated

#: Rounding that is granted to a bound.
SLACK = 1e-9


@dataclass(frozen=True)
class BoundReport:
    """What became of a bound.

    Attributes
    ----------
    findings
        One sentence for every instance that refutes it.
    spoke, silent
        Instances at which the bound is below 1, and at which it says nothing.
    unseen
        The factor by which the bound could be too small without being refuted here: the smallest bound / probability
        over all instances at which it is a number.
    tightest
        The instance with that factor.
    alarm
        Probability that a right bound is refuted, at most.
    asked
        Which K, budgets and costs were looked at.
    """

    name: str
    findings: tuple[str, ...]
    spoke: int
    silent: int
    unseen: float
    tightest: str
    alarm: float
    asked: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing refutes it."""
        return not self.findings

    def __str__(self) -> str:
        if not self.passed:
            return f"{self.name}:\n" + "\n".join(f"- {one}" for one in self.findings)
        if math.isinf(self.unseen):
            seen = "none of them says how tight it is"
        else:
            seen = f"an error by a factor below {self.unseen:.3g} would go unseen (tightest: {self.tightest})"
        where = f"at {self.spoke} instances where it speaks ({self.silent} where it does not)"
        return (
            f"{self.name}: not refuted {where}; {seen}; asked at {self.asked}; false-alarm probability {self.alarm:.0e}"
        )


def check_bound(bound: Bound, assumes: Assumes | None = None, **options: Any) -> BoundReport:
    """Examine a bound, and raise `CheckError` if an instance refutes it; see `examine_bound`."""
    report = examine_bound(bound, assumes, **options)
    if not report.passed:
        raise CheckError(str(report))
    return report


def examine_bound(
    bound: Bound, assumes: Assumes | None = None, *, alarm: float = 1e-6, seed: int = 0, more: Sequence[Instance] = ()
) -> BoundReport:
    """Hold a bound against the battery of what it assumes.

    Parameters
    ----------
    bound
        ``bound(budget, context)``, a probability; NaN or 1 and more says nothing.
    assumes
        What it is about.
    alarm
        Probability that a right bound is refuted, at most, over all counts together.
    seed
        Root seed of the counts.
    more
        Instances of the user's own.
    """
    about = assumes or Assumes()
    battery = [*_battery(about, alarm, seed), *more]
    findings, ratios, spoke = [], [], 0
    for one in battery:
        if one.case:
            value, least = _regret(bound, one)
        else:
            value, least = float(bound(one.budget, one.context)), one.least
        if math.isfinite(value):
            # Divided by more than this it would be refuted, also where it says nothing as it is.
            ratios.append((value / least if least > 0 else math.inf, one.name))
        if not value < 1.0:
            continue
        spoke += 1
        if least > value * (1 + SLACK):
            said = f"{value:.3g}" if value > 0 else "below 1e-300"
            findings.append(
                f"{one.name} at budget {one.budget:,}: at least {least:.4g}, {one.kind}, and it says {said}"
            )
    factor, where = min(ratios, default=(math.inf, "none"))
    counted = any("counted" in one.kind for one in battery)
    name = getattr(bound, "__name__", type(bound).__name__)
    spent = alarm if counted else 0.0
    return BoundReport(name, tuple(findings), spoke, len(battery) - spoke, factor, where, spent, _asked(battery))


def _asked(battery: Sequence[Instance]) -> str:
    """Which K, budgets and costs the instances have, in words."""
    budgets = [one.budget for one in battery]
    uneven = sum(one.budget % one.context.K > 0 for one in battery)
    # Without a list every pull costs 1.
    costs = {tuple(f"{cost:g}" for cost in one.context.costs) for one in battery if set(one.context.costs) - {1.0}}
    numbers = ", ".join(map(str, sorted({one.context.K for one in battery})))
    rest = f"{uneven} of {len(battery)} are no multiples of K" if uneven else "all multiples of K"
    prices = " and ".join(["unit costs", *(f"costs {', '.join(one)}" for one in sorted(costs))])
    return f"K = {numbers}, budgets {min(budgets):,} to {max(budgets):,} ({rest}), {prices}"


def _regret(bound: Bound, one: Instance) -> tuple[float, float]:
    """The probability that is allowed, and that of a regret beyond the level that the bound names."""
    from theory.claims.instances import corner_violation

    level, allowed = bound(one.budget, one.context)
    return float(allowed), float(corner_violation(lambda **_: float(level))(**one.case))


_MADE: dict[str, list[Instance]] = {}


def _battery(about: Assumes, alarm: float, seed: int) -> list[Instance]:
    """All instances of what a bound assumes, made once: mutants are asked at the same places."""
    key = f"{about!r} {alarm!r} {seed}"
    if key not in _MADE:
        _MADE[key] = _made(about, alarm, seed)
    return _MADE[key]


def _made(about: Assumes, alarm: float, seed: int) -> list[Instance]:
    if about.event == "regret":
        return list(corners(about))
    if about.event == "first":
        return list(tied_arms(about))
    if about.distribution == "features":
        return list(near_tight_places(about))
    exact = list(enumerated(about)) if about.distribution == "bernoulli" else []
    return [*exact, *counted(about, alarm, seed)]
