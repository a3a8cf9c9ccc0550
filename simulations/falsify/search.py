"""Search for violations of a claim by an evolution strategy, and shrink them with hypothesis.

The strategy climbs log(observed / bound) over the integers that encode an instance. Random codes come first; the best
few become parents, children are mutated parents, and a child replaces the worst parent when it is at least as fit. When
nothing improved for a while the search restarts. Every second start climbs the excess relative to the exponent of the
bound (`Measured.fitness`). `hypothesis.target` alone does not find all known errors of the paper: its climbing changes
one integer at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from simulations.falsify._target import Instance, Measured, Target, format_log, unmet
from theory.verdicts import Verdict

#: Random codes of a start, parents, children without improvement before a restart, and shares of simplest integers in
#: random codes; tuned on the known errors of the paper.
RANDOM_CODES = 150
PARENTS = 8
PATIENCE = 200
SIMPLE_SHARES = (0.0, 0.3)
#: Measurements that shrinking one violation may take.
MAX_SHRINK_MEASUREMENTS = 2000
#: Violations that a search tries to confirm at most, the last of them at its end: false-alarm rates of trials add up.
MAX_CONFIRMATIONS = 10

Code = tuple[int, ...]
Progress = Callable[[int, Measured], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Say when a search ends, if it does not end with a violation.

    Attributes
    ----------
    evaluations, seconds
        Whichever comes first. Only with `evaluations` alone is a search repeatable to the last bit.
    max_log_bound
        Instances whose log bound is larger do not count; used to ask for informative bounds only.
    maximise
        Continue after a violation, for the largest ratio.
    """

    evaluations: int | None = 2000
    seconds: float | None = None
    max_log_bound: float | None = None
    maximise: bool = False

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None:
            raise ValueError("a search needs a limit: evaluations or seconds")
        for name in ("evaluations", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, got {value}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a search.

    Attributes
    ----------
    best, measured
        The confirmed violation after shrinking, or the instance with the largest observed / bound; None if no
        instance met the premises.
    violated
        Whether it violates the claim, confirmed by other means or fresh random numbers.
    verdict
        Of the confirmation of `best`, if one was made.
    evaluations, seconds
        What the search took, shrinking not counted.
    seed
        The root seed.
    raw
        The violating instance before shrinking.
    unconfirmed
        Violating instances that were found and not confirmed.
    """

    target: Target
    best: Instance | None
    measured: Measured
    violated: bool
    verdict: Verdict | None
    evaluations: int
    seconds: float
    seed: int
    raw: Instance | None = None
    unconfirmed: int = 0

    @property
    def undecided(self) -> bool:
        """Whether violations were found and none was confirmed."""
        return self.best is not None and self.measured.violates and not self.violated

    def describe(self) -> str:
        """Return the headline and the details, one line each."""
        effort = f"{self.evaluations:,} evaluations, {self.seconds:.1f} s"
        if self.best is None:
            return f"{self.target.id}: no instance meets the premises ({effort})."
        headline = f"observed/bound = {self.measured.ratio:.6g} ({effort})"
        if self.violated:
            assert self.verdict is not None
            return (
                f"{self.target.id}: VIOLATED, {headline}.\nInstance: {self.best.describe()}\n"
                f"Confirmation: {self.verdict.sentence}"
            )
        if self.undecided:
            assert self.verdict is not None
            sides = f"observed {format_log(self.measured.log_observed)}, bound {format_log(self.measured.log_bound)}"
            violations = f"{self.unconfirmed:,} violation{'s' if self.unconfirmed > 1 else ''} found, none confirmed"
            return (
                f"{self.target.id}: UNDECIDED, {violations}, largest {headline}.\n"
                f"Instance: {self.best.describe()}: {sides}\nConfirmation: {self.verdict.sentence}"
            )
        return f"{self.target.id}: no violation, largest {headline}.\nInstance: {self.best.describe()}"


def derive_seeds(root: int) -> tuple[int, int]:
    """Derive the seeds of the search and of the confirmation, which are different for every root."""
    search, confirmation = (
        int(np.random.SeedSequence(root, spawn_key=(part,)).generate_state(1, np.uint32)[0]) for part in (1, 2)
    )
    return search, confirmation + 2**32


def search(target: Target, *, seed: int = 0, limits: Limits | None = None, progress: Progress | None = None) -> Outcome:
    """Search a violation of a claim, shrink it and confirm it.

    The search goes on after a violation that is not confirmed. If none is, the outcome is the largest, undecided.
    """
    state = _Search(target, seed, limits or Limits(), progress)
    for code in state.visit_violations():
        if state.limits.maximise or len(state.dropped) >= MAX_CONFIRMATIONS - 1:
            continue
        raw = target.space.decode(code)
        small = shrink(target, code, state.search_seed)
        # A noisy violation may shrink to a lucky instance, while the original is a true one.
        for instance in dict.fromkeys((small, raw)):
            verdict = confirm(target, instance, seed)
            if verdict.outcome == "refuted":
                return state.to_outcome(instance, target.measure(instance, state.search_seed), verdict, raw)
        state.dropped[raw] = verdict
    if not state.violations:
        return state.to_outcome(state.best, state.measured, None, None)
    largest, measured = max(state.violations.items(), key=lambda item: item[1].fitness())
    return state.to_outcome(largest, measured, state.dropped.get(largest) or confirm(target, largest, seed), largest)


def shrink(target: Target, code: Code, seed: int) -> Any:
    """Return the simplest violating instance that hypothesis reaches from a violating code."""
    import hypothesis
    from hypothesis import strategies as st
    from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes

    # Hypothesis starts at a saved example. It takes one of exactly the right length for shrunk already.
    database, key = InMemoryExampleDatabase(), b"violation"
    database.save(key, choices_to_bytes((*code, 0)))
    measured: dict[Any, bool] = {}

    def violates(code: Code) -> bool:
        instance = target.space.decode(code)
        if instance not in measured and len(measured) < MAX_SHRINK_MEASUREMENTS:
            measured[instance] = target.measure(instance, seed).violates
        return measured.get(instance, False)

    small = hypothesis.find(
        st.tuples(*(st.integers(low, high) for low, high in target.space.bounds)),
        violates,
        settings=hypothesis.settings(
            database=database, deadline=None, phases=(hypothesis.Phase.reuse, hypothesis.Phase.shrink)
        ),
        database_key=key,
    )
    return target.space.decode(small)


def confirm(target: Target, instance: Any, seed: int) -> Verdict:
    """Confirm a violation by the search with that root seed, on random numbers that the search has not used."""
    return target.confirm(instance, derive_seeds(seed)[1])


class _Search:
    """State of one search."""

    def __init__(self, target: Target, seed: int, limits: Limits, progress: Progress | None) -> None:
        self.target, self.limits, self.seed = target, limits, seed
        self.search_seed = derive_seeds(seed)[0]
        self.best: Any = None
        self.measured = unmet(1.0)
        self.violations: dict[Any, Measured] = {}
        #: Violations whose confirmation failed, with its verdict; the search goes around them.
        self.dropped: dict[Any, Verdict] = {}
        self._random = Random(seed)
        self._bounds = target.space.bounds
        self._progress = progress
        self._start = time.monotonic()
        self._evaluations = 0

    def visit_violations(self) -> Iterator[Code]:
        """Visit codes until a limit is reached; yield the violating ones."""
        relative = False
        while not self.is_over():
            yield from self._run_start(relative)
            # Exponents lead to violations; the closest instance has the largest excess.
            relative = not relative and not self.limits.maximise

    def _run_start(self, relative: bool) -> Iterator[Code]:
        parents: list[tuple[float, Code]] = []
        idle = visited = 0
        while idle < PATIENCE and not self.is_over():
            is_random = visited < RANDOM_CODES
            code = self._sample() if is_random else self._mutate(self._choose(parents))
            measured = self._visit(code)
            if measured.violates:
                yield code
            visited, idle = visited + 1, 0 if is_random else idle + 1
            fitness = measured.fitness(relative)
            if is_random or (fitness >= parents[-1][0] and all(code != other for _, other in parents)):
                if parents and fitness > parents[0][0]:
                    idle = 0
                parents = sorted([*parents, (fitness, code)], key=lambda pair: -pair[0])[:PARENTS]

    def _choose(self, parents: list[tuple[float, Code]]) -> Code:
        return parents[min(int(self._random.expovariate(3 / PARENTS)), len(parents) - 1)][1]

    def _sample(self) -> Code:
        """Draw a code; in half of all draws a share of the integers are the simplest ones."""
        simple = self._random.choice(SIMPLE_SHARES)
        return tuple(
            min(max(0, low), high) if self._random.random() < simple else self._random.randint(low, high)
            for low, high in self._bounds
        )

    def _mutate(self, code: Code) -> Code:
        """Change one to three integers: by a step, to any value, or to that of another integer."""
        changed = list(code)
        for place in self._random.sample(range(len(code)), min(len(code), self._random.randint(1, 3))):
            low, high = self._bounds[place]
            kind = self._random.random()
            if kind < 0.25:
                value = self._random.randint(low, high)
            elif kind < 0.4:
                value = changed[self._random.randrange(len(code))]
            else:
                width = self._random.choice((0.02, 0.1, 0.3)) * (high - low)
                value = changed[place] + self._random.choice((-1, 1)) * max(
                    1, round(self._random.expovariate(1) * width)
                )
            changed[place] = min(max(value, low), high)
        return tuple(changed)

    def _visit(self, code: Code) -> Measured:
        instance = self.target.space.decode(code)
        measured = self._measure(instance)
        self._evaluations += 1
        if measured.admissible and (self.best is None or measured.fitness() > self.measured.fitness()):
            self.best, self.measured = instance, measured
        if measured.violates:
            self.violations[instance] = measured
        if self._progress is not None:
            self._progress(self._evaluations, self.measured)
        return measured

    def _measure(self, instance: Any) -> Measured:
        if instance in self.dropped:
            return unmet(1e3)
        measured = self.target.measure(instance, self.search_seed)
        level = self.limits.max_log_bound
        if level is not None and measured.admissible and measured.log_bound > level:
            return unmet(measured.log_bound - level)
        return measured

    def is_over(self) -> bool:
        """Whether a limit is reached."""
        limits = self.limits
        return (limits.evaluations is not None and self._evaluations >= limits.evaluations) or (
            limits.seconds is not None and time.monotonic() - self._start >= limits.seconds
        )

    def to_outcome(self, best: Any, measured: Measured, verdict: Verdict | None, raw: Any) -> Outcome:
        """Return the outcome at this moment."""
        violated = verdict is not None and verdict.outcome == "refuted"
        return Outcome(
            self.target,
            best,
            measured,
            violated,
            verdict,
            self._evaluations,
            time.monotonic() - self._start,
            self.seed,
            raw if violated else None,
            0 if violated else len(self.violations),
        )
