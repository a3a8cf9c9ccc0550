"""`check_bound`: a bound held against near-tight instances, exact laws and counted trials.

It stands here, where the system and the theory meet, and is found by name as `exml_sim.testing.check_bound`. A bound is
a function ``bound(budget, setting)``. Every instance has a failure probability that is known exactly, or between two
numbers, or counted; one false-alarm probability covers all counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from exml_sim.engine.families import FAMILIES, FamilyPool
from exml_sim.engine.intervals import clopper_pearson
from exml_sim.engine.modes.exact import law_of
from exml_sim.engine.setting import Setting
from exml_sim.exploration.known import KnownPool
from exml_sim.exploration.strategy import smallest_budget
from exml_sim.strategies import Strategy, by_name
from exml_sim.testing.checks import CheckError
from exml_sim.testing.mutants import Plant
from theory import Point
from theory.claims import near_tight
from theory.claims.instances import failure_median, failure_uniform, parameters
from theory.claims.median import MEDIAN_CORNER
from theory.claims.near_tight import NearTight

#: A bound; with the event "regret" it returns (level, probability).
Bound = Callable[[int, Setting], Any]

#: What can go wrong: a best arm is missed, the first arm is missed (as statements that ignore ties have it), or the
#: regret of the selected arm is beyond a level.
EVENTS = ("miss", "first", "regret")
#: Outcomes of one exact law, and trials of one count.
OUTCOMES, TRIALS = 30_000, 4_000
#: Rounding that is granted to a bound.
SLACK = 1e-9


@dataclass(frozen=True)
class Assumes:
    """What a bound is about.

    Attributes
    ----------
    strategy, options
        Name of the rule (a plug-in's "module:Rule" too) and its options.
    law
        "features" (scored over the ball: the instances of this project), "bernoulli" or "gaussian".
    event
        "miss", "first" or "regret".
    rule
        The rule itself, in place of its name.
    """

    strategy: str = "uniform_allocation"
    options: Mapping[str, Any] = field(default_factory=dict)
    law: str = "features"
    event: str = "miss"
    rule: Strategy | None = None

    def __post_init__(self) -> None:
        if self.event not in EVENTS:
            raise ValueError(f"event must be one of {', '.join(EVENTS)}, got {self.event!r}")
        if self.law not in ("features", "bernoulli", "gaussian"):
            raise ValueError(f"law must be features, bernoulli or gaussian, got {self.law!r}")

    def build(self) -> Strategy:
        """The rule."""
        return self.rule if self.rule is not None else by_name(self.strategy, **dict(self.options))


@dataclass(frozen=True)
class Instance:
    """A place where a bound is asked, and what is known of the probability there: it lies between two numbers."""

    name: str
    setting: Setting
    budget: int
    least: float
    most: float
    kind: str
    case: Mapping[str, Any] = field(default_factory=dict)


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
    """

    name: str
    findings: tuple[str, ...]
    spoke: int
    silent: int
    unseen: float
    tightest: str
    alarm: float

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
        return f"{self.name}: not refuted {where}; {seen}; false-alarm probability {self.alarm:.0e}"


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
        ``bound(budget, setting)``, a probability; NaN or 1 and more says nothing.
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
            value, least = float(bound(one.budget, one.setting)), one.least
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
    return BoundReport(name, tuple(findings), spoke, len(battery) - spoke, factor, where, alarm if counted else 0.0)


def _regret(bound: Bound, one: Instance) -> tuple[float, float]:
    """The probability that is allowed, and that of a regret beyond the level that the bound names."""
    from theory.claims.instances import corner_violation

    level, allowed = bound(one.budget, one.setting)
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
        return list(_corners(about))
    if about.event == "first":
        return list(_tied(about))
    if about.law == "features":
        return list(_near_tight(about))
    exact = list(_exact(about)) if about.law == "bernoulli" else []
    return [*exact, *_counted(about, alarm, seed)]


# --- features over the ball ----------------------------------------------------------------------------------------


def _kind(about: Assumes) -> near_tight.Strategy:
    if about.strategy == "uniform_allocation":
        return "uniform"
    if about.strategy != "median_elimination":
        raise ValueError(
            "near-tight instances of feature arms are for uniform_allocation and median_elimination, "
            f"got {about.strategy}"
        )
    return "median-accumulated" if about.options.get("reuse", True) else "median-fresh"


@lru_cache(maxsize=8)
def _places(kind: near_tight.Strategy) -> tuple[tuple[NearTight, float], ...]:
    """Near-tight instances with kappa; at K = 2 all strategies compare once."""
    pairs = [
        *((near_tight.opposed(n, 0.02, kind), 1.0) for n in (2_500, 10_000, 40_000, 160_000)),
        *((near_tight.opposed(n, 0.1, kind), 1.0) for n in (25, 100, 400, 1_600)),
        *((near_tight.overfit(25, 900, kind), kappa) for kappa in (1.0, 0.25)),
        (near_tight.overfit(100, 2_500, kind), 1.0),
    ]
    if kind == "uniform":
        pairs += [(near_tight.crowd(arms, 36, 1 / 3), 1.0) for arms in (8, 64)]
    for arms, first in ((4, 10_000), (8, 10_000), (8, 22_500)):
        pairs.append((near_tight.one_rival(arms, first, 0.02, kind), 1.0))
        if kind != "uniform":
            pairs.append((near_tight.duplicates(arms, first, 0.02, kind), 1.0))
    return tuple(pairs)


def _near_tight(about: Assumes) -> Iterator[Instance]:
    for one, kappa in _places(_kind(about)):
        known: dict[str, Any] = {"law": "features", "theta": one.theta, "kappa_lambda": one.r, "kappa": kappa}
        setting = Setting(
            about.strategy, one.K, (0.0, *one.gaps), about.options, costs=(1.0,) * one.K, pairing=one.pairing, **known
        )
        yield Instance(one.name, setting, one.budget, one.least, one.most, "by a closed form")


def point_of(setting: Setting) -> Point:
    """A setting of feature arms as our bounds take it."""
    rows: Any = "accumulated" if setting.options.get("reuse", True) else "fresh"
    pairing: Any = setting.pairing
    return Point(setting.K, None, setting.theta, setting.kappa_lambda, gaps=setting.ordered, rows=rows, pairing=pairing)


def _tied(about: Assumes) -> Iterator[Instance]:
    """Two arms tie: a statement about "the best arm" that means the first one is wrong there."""
    kind = _kind(about)
    for budget in (300, 600, 800):
        name = "tied-3" if kind == "uniform" else "tied-4"
        if kind == "uniform":
            p = failure_uniform(name, budget, target=0)
        else:
            p = failure_median(name, budget, target=0, accumulate=kind == "median-accumulated")
        K, gap, theta, radius = parameters(name)
        setting = Setting(
            about.strategy,
            K,
            (0.0, 0.0, *(gap,) * (K - 2)),
            about.options,
            law="features",
            theta=theta,
            kappa_lambda=radius,
            kappa=1.0,
        )
        yield Instance(f"two tied arms of {K}", setting, budget, p, p, "exactly")


def _corners(about: Assumes) -> Iterator[Instance]:
    from theory.claims.instances import CORNER_R, CORNER_THETA, corner_gap

    for case in MEDIAN_CORNER:
        gap = corner_gap(case["tilt"], case["third"])
        options = {**about.options, "delta": case["delta"]}
        known: dict[str, Any] = {"law": "features", "theta": CORNER_THETA, "kappa_lambda": CORNER_R, "kappa": 1.0}
        setting = Setting(about.strategy, 2, (0.0, gap), options, **known)
        yield Instance(f"the corner, n = {case['n']:,}", setting, 2 * int(case["n"]), 0.0, 1.0, "exactly", case)


# --- known arms ----------------------------------------------------------------------------------------------------

#: Means of small pools, lower is better: near 1/2, where variances are largest, at the ends, and one close rival.
SMALL = (
    (0.45, 0.55), (0.4, 0.6), (0.3, 0.7), (0.0, 0.3), (0.7, 1.0), (0.05, 0.15), (0.2, 0.8),
    (0.4, 0.6, 0.6), (0.3, 0.6, 0.6), (0.2, 0.4, 0.9), (0.35, 0.65, 1.0),
    (0.25, 0.75, 0.75, 0.75), (0.2, 0.8, 0.8, 1.0),
)  # fmt: skip


def setting_for(about: Assumes, means: Sequence[float], *, law: str = "bernoulli", sd: float = math.nan) -> Setting:
    """The setting of known arms at unit cost."""
    gaps = tuple(round(mean - min(means), 12) for mean in means)
    ends: dict[str, Any] = {"low": 0.0, "high": 1.0} if law == "bernoulli" else {"sd": sd}
    return Setting(about.strategy, len(means), gaps, about.options, tuple(means), (1.0,) * len(means), law, **ends)


def exact_instance(about: Assumes, means: Sequence[float], budget: int, outcomes: int = OUTCOMES) -> Instance | None:
    """The exact failure probability of Bernoulli arms; None if there is too much to enumerate or too little money."""
    # The best arm comes last and loses ties.
    pool = KnownPool.bernoulli(sorted(means, reverse=True))
    rule = about.build()
    if budget < smallest_budget(rule, pool.prices):
        return None
    try:
        law = law_of(pool, rule, Fraction(budget), outcomes)
    except ValueError as error:
        if "outcomes to enumerate" not in str(error):
            raise
        return None
    p = min(max(sum(law.failure), 0.0), 1.0)
    shown = ", ".join(f"{mean:g}" for mean in means)
    return Instance(f"means {shown}", setting_for(about, sorted(means, reverse=True)), budget, p, p, "exactly")


def _exact(about: Assumes) -> Iterator[Instance]:
    for means in SMALL:
        for per_arm in (2, 5, 10, 20, 40, 80, 160):
            found = exact_instance(about, means, per_arm * len(means))
            if found is None:
                break
            yield found


def _counted(about: Assumes, alarm: float, seed: int) -> Iterator[Instance]:
    """Families of the literature, by trials; the lower limits share one alarm."""
    rule, law = about.build(), about.law
    points = [(f, K, gap, n) for f in FAMILIES for K, gap in ((2, 0.3), (8, 0.08)) for n in (20, 100)]
    for family, K, gap, per_arm in points:
        spec = FamilyPool(family, K, gap, law, best=0.3 if K > 2 else 0.35)
        pool, budget = spec.pool(), per_arm * K
        if budget < smallest_budget(rule, pool.prices):
            continue
        found = pool.explore_many(rule, budget, TRIALS, seed=seed)
        failures = int(found.failures(pool.best_set()).sum())
        low, high = clopper_pearson(failures, TRIALS, 1.0 - 2.0 * alarm / len(points))
        setting = setting_for(about, spec.means, law=law, sd=spec.sd)
        name = f"{family} of {K} arms, gap {gap:g}"
        yield Instance(name, setting, budget, low, high, f"counted: {failures} of {TRIALS}")


@dataclass(frozen=True)
class Tightest:
    """The instance on which a bound is nearest to the truth, of those that a search has tried."""

    means: tuple[float, ...]
    budget: int
    probability: float
    bound: float
    tried: int

    @property
    def slack(self) -> float:
        """bound / probability."""
        return self.bound / self.probability if self.probability > 0 else math.inf


def hunt_tightest(
    bound: Bound,
    about: Assumes,
    *,
    K: int = 2,
    budgets: Sequence[int] = (20, 40, 80, 160),
    seed: int = 0,
    steps: int = 60,
) -> Tightest:
    """Search means of K Bernoulli arms and budgets for the smallest bound / probability, both exact.

    The best of the small pools and of a random one is the start at every budget; then means move by steps that shrink
    when nothing gets better.
    """
    rng = np.random.default_rng(seed)
    best, tried = Tightest((), 0, 0.0, 1.0, 0), 0
    for budget in budgets:
        starts = [np.array(one) for one in SMALL if len(one) == K] + [rng.uniform(0.1, 0.9, K).round(4)]
        judged = [(found.slack, i) for i, one in enumerate(starts) if (found := _slack(bound, about, one, budget))]
        means = starts[min(judged, default=(0.0, -1))[1]]
        now, step = _slack(bound, about, means, budget), 0.1
        for _ in range(steps):
            tried += 1
            move = np.clip(means + step * rng.standard_normal(K), 0.0, 1.0).round(4)
            then = _slack(bound, about, move, budget)
            if then is not None and (now is None or then.slack < now.slack):
                means, now = move, then
            else:
                step = max(step * 0.93, 0.005)
        if now is not None and now.slack < best.slack:
            best = now
    return replace(best, tried=tried)


def _slack(bound: Bound, about: Assumes, means: Any, budget: int) -> Tightest | None:
    if len(set(means.tolist())) < len(means):
        return None
    one = exact_instance(about, means.tolist(), budget)
    if one is None:
        return None
    value = float(bound(budget, one.setting))
    # Where a bound says nothing there is nothing to be tight about.
    return Tightest(tuple(means.tolist()), budget, one.least, value, 1) if 0 < value < 1 and one.least > 0 else None


# --- mutants of a bound --------------------------------------------------------------------------------------------


def _told(bound: Bound, **change: Callable[[Setting], Any]) -> Bound:
    """A bound that is told something else."""
    return lambda budget, setting: bound(
        budget, replace(setting, **{name: make(setting) for name, make in change.items()})
    )


def bound_mutants(bound: Bound) -> dict[str, Bound]:
    """The bound with one error each, as bounds are wrong in earnest."""

    def gaps(make: Callable[[tuple[float, ...]], Sequence[float]]) -> Bound:
        return _told(bound, gaps=lambda setting: (0.0, *make(setting.ordered)))

    return {
        "four times the budget": lambda budget, setting: bound(4 * budget, setting),
        "twice the budget": lambda budget, setting: bound(2 * budget, setting),
        "twice the gaps": gaps(lambda ordered: [2 * gap for gap in ordered]),
        "the largest gap for all": gaps(lambda ordered: [max(ordered)] * len(ordered)),
        "squared": lambda budget, setting: bound(budget, setting) ** 2,
        "to the fourth power": lambda budget, setting: bound(budget, setting) ** 4,
        "a tenth of it": lambda budget, setting: bound(budget, setting) / 10,
        "a hundredth of it": lambda budget, setting: bound(budget, setting) / 100,
        "B in place of B / K": lambda budget, setting: bound(budget * setting.K, setting),
    }


def planted_bound(bound: Bound, assumes: Assumes | None = None, **options: Any) -> tuple[Plant, ...]:
    """Every mutant of a bound, and the sentence that refutes it."""
    found = []
    for error, mutant in bound_mutants(bound).items():
        report = examine_bound(mutant, assumes, **options)
        found.append(Plant(error, mutant, report.findings[0] if report.findings else ""))
    return tuple(found)
