"""The search: a small evolution strategy with restarts that climbs log(observed / bound).

Random instances first; the best few become parents, children are mutated parents, and a child replaces the worst parent
when it is at least as fit. When nothing improved for a while the search starts afresh, remembering the best; every
second start climbs the excess relative to the exponent of the bound (`Measured.fitness`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.falsify.shrink import shrink
from simulations.falsify.target import Instance, Measured, Target, unmet
from theory.verdicts import Verdict

RANDOM = 150
PARENTS = 8
PATIENCE = 200
#: Violations that are handed to the confirmation at most.
ATTEMPTS = 10

Progress = Callable[[int, Measured], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search ends, if it does not end with a violation.

    Attributes
    ----------
    evaluations, seconds
        Whichever comes first. Only with `evaluations` alone is a hunt repeatable to the last bit.
    log_level
        Instances whose bound is above this logarithm do not count; used to ask for informative bounds only.
    to_the_end
        Go on after a violation, for the largest one.
    """

    evaluations: int | None = 2000
    seconds: float | None = None
    log_level: float | None = None
    to_the_end: bool = False

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None:
            raise ValueError("a hunt needs an end: a number of evaluations or of seconds")
        for name in ("evaluations", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, got {value}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a hunt came back with.

    Attributes
    ----------
    best, measured
        The instance with the largest observed / bound, after shrinking if it violates the claim; None if no instance
        met the premises.
    found
        Whether it violates the claim, confirmed by other means or fresh random numbers.
    verdict
        Of the confirmation, if one was made.
    evaluations, seconds
        What the search took.
    seed
        The hunt's seed.
    raw
        The violating instance before shrinking.
    rejected
        Violations that were not confirmed.
    """

    target: Target
    best: Instance | None
    measured: Measured
    found: bool
    verdict: Verdict | None
    evaluations: int
    seconds: float
    seed: int
    raw: Instance | None = None
    rejected: int = 0

    def sentence(self) -> str:
        """One line for people."""
        spent = f"{self.evaluations:,} evaluations ({self.seconds:.1f} s)"
        dropped = f" ({self.rejected} not confirmed)" if self.rejected else ""
        if self.best is None:
            kind = "other instance" if self.rejected else "instance"
            return f"No {kind} that meets the premises of {self.target.id} in {spent}{dropped}."
        where = f"{self.measured.ratio:.6g} at {self.best.words()}"
        if self.found:
            assert self.verdict is not None
            return f"{self.target.id} is violated, found in {spent}: observed/bound = {where}. {self.verdict.sentence}"
        return f"No violation of {self.target.id} found in {spent}{dropped}; largest observed/bound = {where}."


def seeds_of(root: int) -> tuple[int, int]:
    """Seeds for the random numbers of the search and of the confirmation: different for every root, and each other."""
    search, confirmation = (
        int(np.random.SeedSequence(root, spawn_key=(part,)).generate_state(1, np.uint32)[0]) for part in (1, 2)
    )
    return search, confirmation + 2**32


def hunt(target: Target, *, seed: int = 0, limits: Limits | None = None, progress: Progress | None = None) -> Outcome:
    """Search, shrink what was found, and confirm it.

    A violation that does not survive its confirmation is dropped, and the search goes on.
    """
    limits = limits or Limits()
    walk = _Walk(target, seed, limits, progress)
    rejected = 0
    for instance in walk.violations():
        if limits.to_the_end:
            continue
        small, _ = shrink(target, instance, walk.search_seed)
        # A noisy violation may shrink to a lucky instance; what it was shrunk from may still stand.
        for tried in dict.fromkeys((small, instance)):
            verdict = confirm(target, tried, seed)
            if verdict.outcome == "refuted":
                return walk.outcome(tried, target.measure(tried, walk.search_seed), verdict, instance, rejected)
        rejected += 1
        walk.drop(instance)
        if rejected == ATTEMPTS:
            break
    if limits.to_the_end and walk.best is not None and walk.measured.violates:
        verdict = confirm(target, walk.best, seed)
        return walk.outcome(walk.best, walk.measured, verdict, walk.best, rejected)
    return walk.outcome(walk.best, walk.measured, None, None, rejected)


def confirm(target: Target, instance: Any, seed: int) -> Verdict:
    """Confirm a find of the hunt with that root seed, on random numbers that its search has not seen."""
    return target.confirm(instance, seeds_of(seed)[1])


class _Walk:
    """The state of one search."""

    def __init__(self, target: Target, seed: int, limits: Limits, progress: Progress | None) -> None:
        self.target, self.limits, self.seed = target, limits, seed
        self.search_seed = seeds_of(seed)[0]
        self.best: Any = None
        self.measured = unmet(1.0)
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        self._progress = progress
        self._start = time.monotonic()
        self._evaluations = 0
        self._dropped: set[Any] = set()

    def violations(self) -> Any:
        """Visit instances until the limits are reached; yield the violating ones."""
        relative = False
        while not self._over():
            yield from self._one_start(relative)
            # Exponents lead to violations; the closest instance is a matter of the excess alone.
            relative = not relative and not self.limits.to_the_end

    def _one_start(self, relative: bool) -> Any:
        crowd: list[tuple[float, Any]] = []
        for _ in range(RANDOM):
            instance = self.target.space.sample(self._rng)
            measured = self._visit(instance)
            crowd.append((measured.fitness(relative), instance))
            if measured.violates and instance not in self._dropped:
                yield instance
            if self._over():
                return
        parents = sorted(crowd, key=lambda pair: -pair[0])[:PARENTS]
        idle = 0
        while idle < PATIENCE and not self._over():
            parent = parents[min(int(self._rng.exponential(PARENTS / 3)), len(parents) - 1)][1]
            child = self.target.space.mutate(parent, self._rng)
            measured = self._visit(child)
            if measured.violates and child not in self._dropped:
                yield child
            idle += 1
            fitness = measured.fitness(relative)
            if fitness >= parents[-1][0] and all(child != other for _, other in parents):
                if fitness > parents[0][0]:
                    idle = 0
                parents = sorted([*parents[:-1], (fitness, child)], key=lambda pair: -pair[0])

    def _visit(self, instance: Any) -> Measured:
        measured = self.target.measure(instance, self.search_seed)
        level = self.limits.log_level
        if level is not None and measured.admissible and measured.log_bound > level:
            measured = unmet(measured.log_bound - level)
        if instance in self._dropped:
            measured = unmet(1e3)
        self._evaluations += 1
        if measured.admissible and (self.best is None or measured.fitness() > self.measured.fitness()):
            self.best, self.measured = instance, measured
        if self._progress is not None:
            self._progress(self._evaluations, self.measured)
        return measured

    def drop(self, instance: Any) -> None:
        """Forget an instance whose violation was not confirmed."""
        self._dropped.add(instance)
        if self.best == instance:
            self.best, self.measured = None, unmet(1.0)

    def _over(self) -> bool:
        limits = self.limits
        return (limits.evaluations is not None and self._evaluations >= limits.evaluations) or (
            limits.seconds is not None and time.monotonic() - self._start >= limits.seconds
        )

    def outcome(
        self, best: Any, measured: Measured, verdict: Verdict | None, raw: Instance | None, rejected: int
    ) -> Outcome:
        """The outcome at this moment."""
        found = verdict is not None and verdict.outcome == "refuted"
        seconds = time.monotonic() - self._start
        return Outcome(
            self.target, best, measured, found, verdict, self._evaluations, seconds, self.seed, raw, rejected
        )
