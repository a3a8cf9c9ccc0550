"""`check_strategy`: what every rule with a fixed budget must do, whatever it is clever about.

Checks are exact where they can be: money, arms and bits are compared, laws are enumerated. What is counted shares one
false-alarm probability. Every failure is a sentence with the seed that replays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from exml_sim.bandit.pool import Pool
from exml_sim.bandit.strategy import Strategy, smallest_budget
from exml_sim.testing.conduct import bits, clear, contract, money, spent, ties
from exml_sim.testing.examined import Bench, CheckError, Loop, Report
from exml_sim.testing.laws import agreement, exact_law, likeness, relabelling


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
    alarm: float = 1e-6,
) -> Report:
    """Run all checks.

    Parameters
    ----------
    rule
        The strategy, an object.
    like
        What the rule must agree with: another strategy (laws are compared, by enumeration where that is possible), or a
        plain loop ``loop(means, budget, rng)`` over Bernoulli arms (failures are counted).
    pools
        Pools of the user's own, on which trials are held against the enumerated law, too.
    seed
        Root seed of all trials.
    alarm
        The probability that a right rule is called wrong, at most.
    """
    bench = Bench(rule, like, seed, alarm)
    ran: list[str] = []
    findings = tuple(_findings(bench, pools, ran))
    return Report(type(rule).__name__, findings, tuple(ran), tuple(bench.skipped), alarm if bench.counted else 0.0)


def first_finding(
    rule: Strategy,
    *,
    like: Strategy | Loop | None = None,
    pools: Sequence[Pool] = (),
    seed: int = 0,
    alarm: float = 1e-6,
) -> str:
    """The first sentence of `examine`, empty if the rule passes; what comes after it is not run."""
    return next(_findings(Bench(rule, like, seed, alarm), pools, []), "")


def _findings(bench: Bench, pools: Sequence[Pool], ran: list[str]) -> Iterator[str]:
    """One check after another, each to its end: a check that raises says only that."""
    for name, check in _CHECKS.items():
        ran.append(name)
        try:
            found = [f"{name}: {one}" for one in check(bench)]
        except Exception as error:
            found = [f"{name}: raised {type(error).__name__}: {' '.join(str(error).split())} (seed {bench.seed})"]
        yield from found
    for pool in pools:
        ran.append(f"pool {pool!r}")
        try:
            found = [f"pool {pool!r}: {one}" for one in on_pool(bench, pool)]
        except Exception as error:
            found = [f"pool {pool!r}: raised {type(error).__name__}: {' '.join(str(error).split())}"]
        yield from found


def on_pool(bench: Bench, pool: Pool) -> Iterator[str]:
    """Money, bits, law and independence on a pool of the user's own."""
    budget = 10 * smallest_budget(bench.rule, pool.prices)
    yield from spent(bench.rule, pool, budget, bench.seed)
    yield from agreement(bench, pool, budget, 24)


_CHECKS: dict[str, Callable[[Bench], Iterator[str]]] = {
    "contract": contract,
    "money": money,
    "bits": bits,
    "clear best": clear,
    "ties": ties,
    "relabelling": relabelling,
    "exact law": exact_law,
    "likeness": likeness,
}
