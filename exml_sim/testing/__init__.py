"""`check_strategy`: check what every strategy with a fixed budget must do.

Checks are exact where possible: money, arms and bits are compared, distributions are enumerated. Counts share one
false-alarm probability. Every failure is a sentence with the seed that replays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from exml_sim._internal.validation import shown
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial_batch import Strategy
from exml_sim.testing import _properties as properties
from exml_sim.testing._properties import CheckError, Loop, PoolBench, Report

__all__ = ["CheckError", "Report", "check_strategy", "examine", "first_finding"]


#: Name of the check that enumerates outcomes, which strategies that stop by evidence do not have.
EXACT = "exact distribution"


def check_strategy(rule: Strategy, **options: Any) -> Report:
    """Examine a rule, and raise `CheckError` if anything is wrong; see `examine` for the options.

    Examples
    --------
    >>> from exml_sim.strategies import MedianElimination
    >>> check_strategy(MedianElimination()).passed
    True
    """
    report = examine(rule, **options)
    if not report.passed:
        raise CheckError(str(report))
    return report


def examine(
    rule: Strategy,
    *,
    like: Strategy | Loop | None = None,
    pools: Sequence[Pool] = (),
    seed: int = 0,
    alpha: float = 1e-6,
    unit_costs_only: bool = False,
) -> Report:
    """Run all checks that apply to the strategy.

    Parameters
    ----------
    rule
        The strategy, an object. A plain loop has no rounds that could be enumerated; compare it by `like`.
    like
        What the rule must agree with: another strategy (distributions are compared, enumerated if possible), or a plain
        loop ``loop(means, budget, rng)`` or ``loop(pull, budget, rng)`` over Bernoulli arms (selections are counted).
    pools
        Pools of the user's own, on which trials are held against the enumerated probabilities, too.
    seed
        Root seed of all trials.
    alpha
        The probability that a right rule is called wrong, at most.
    unit_costs_only
        Check the rule with equal costs only.
    """
    if hasattr(rule, "__code__"):
        raise ValueError(f"a strategy must be an object, got {shown(rule)}: compare a plain loop by like=")
    bench = PoolBench(rule, like, seed, alpha, unit_costs_only)
    ran: list[str] = []
    findings = tuple(_findings(bench, pools, ran))
    skipped = () if bench.is_enumerable else (EXACT,)
    checks = tuple(name for name in ran if name not in skipped)
    return Report(type(rule).__name__, findings, checks, alpha if bench.counted else 0.0, skipped)


def first_finding(rule: Strategy, like: Strategy | Loop | None = None) -> str:
    """Return the first sentence of `examine`, empty if the rule passes; what comes after it is not run."""
    return next(_findings(PoolBench(rule, like), (), []), "")


def _findings(bench: PoolBench, pools: Sequence[Pool], ran: list[str]) -> Iterator[str]:
    """Run one check after another; a check that raises yields only that."""
    checks = dict(_CHECKS) | {f"pool {pool!r}": partial(on_pool, pool=pool) for pool in pools}
    for name, check in checks.items():
        ran.append(name)
        try:
            for finding in check(bench):
                yield f"{name}: {finding}"
        except Exception as error:
            yield f"{name}: raised {type(error).__name__}: {' '.join(str(error).split())} (seed {bench.seed})"


def on_pool(bench: PoolBench, pool: Pool) -> Iterator[str]:
    """Money, bits, probabilities and independence on a pool of the user's own."""
    budget = bench.budget(pool, 10)
    yield from properties.spent(bench.rule, pool, budget, bench.seed)
    yield from properties.agreement(bench, pool, budget, 24)


_CHECKS: dict[str, Callable[[PoolBench], Iterator[str]]] = {
    "contract": properties.contract,
    "money": properties.money,
    "bits": properties.bits,
    "clear best": properties.clear,
    "ties": properties.ties,
    "relabelling": properties.relabelling,
    EXACT: properties.check_enumeration,
    "likeness": properties.likeness,
}
