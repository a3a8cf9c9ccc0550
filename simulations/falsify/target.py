"""What is hunted: a claim as "observed <= bound" over a space of instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from theory.verdicts import Verdict

#: Rounding granted to logarithms before a violation is believed.
ROUNDING = 1e-9
#: Log of a side that is zero.
LOG_ZERO = -math.inf
#: Claims "with probability 1 - delta" are held to the deltas that anyone would use.
LARGEST_DELTA = 0.05
_UNMET = -1e9
_NOTHING = -1e6
_MOST = 1e6


class Instance(Protocol):
    """One point of a space: everything that is needed to measure it again."""

    def table(self) -> dict[str, Any]:
        """As the table of a TOML file."""

    def words(self) -> str:
        """For people."""

    def size(self) -> tuple[float, ...]:
        """How complicated it is; compared from the left. `shrink` only ever makes it smaller."""


class Space(Protocol):
    """Instances that a hunt may visit. Nothing in a space knows of a counterexample."""

    def sample(self, rng: np.random.Generator) -> Any:
        """A random instance."""

    def mutate(self, instance: Any, rng: np.random.Generator) -> Any:
        """A neighbour."""

    def simpler(self, instance: Any) -> Iterator[Any]:
        """Simpler instances to try, the boldest first."""

    def read(self, table: Mapping[str, Any]) -> Any:
        """The instance of a table."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One instance held against the claim "observed <= bound".

    Attributes
    ----------
    log_observed, log_bound
        Natural logarithms of both sides; probabilities may be far below what a float holds.
    shortfall
        By how much a premise of the claim is missed; 0 if all hold. Such an instance says nothing.
    hint
        Where to go while nothing is observed at all: larger is closer.
    """

    log_observed: float
    log_bound: float
    shortfall: float = 0.0
    hint: float = 0.0

    @property
    def excess(self) -> float:
        """log(observed / bound); nothing observed is below every bound."""
        return self.log_observed - self.log_bound if self.log_observed > LOG_ZERO else LOG_ZERO

    @property
    def ratio(self) -> float:
        """observed / bound."""
        return math.exp(self.excess) if self.excess < 700 else math.inf

    @property
    def admissible(self) -> bool:
        """Whether the premises hold."""
        return self.shortfall <= 0

    @property
    def violates(self) -> bool:
        """Whether the instance contradicts the claim."""
        return self.admissible and self.excess > ROUNDING

    def fitness(self, relative: bool = False) -> float:
        """What the search climbs: first towards the premises, then towards something observed, then the excess.

        ``relative`` divides the excess by 1 + |log bound|: it compares exponents instead of probabilities, and leads
        to violations that lie far out in the tails, where the excess alone gets worse before it gets better.
        """
        if not self.admissible:
            return _UNMET - min(self.shortfall, 1e6)
        if self.log_observed == LOG_ZERO:
            return _NOTHING + max(min(self.hint, 1e5), -1e5)
        scale = 1 + abs(self.log_bound) if relative and math.isfinite(self.log_bound) else 1.0
        return max(min(self.excess / scale, _MOST), _NOTHING / 2)


def unmet(shortfall: float) -> Measured:
    """An instance that misses a premise."""
    return Measured(LOG_ZERO, 0.0, shortfall=max(shortfall, 1e-12))


def log(value: float) -> float:
    """Logarithm with a floor for zero."""
    return math.log(value) if value > 0 else LOG_ZERO


@dataclass(frozen=True, slots=True)
class Target:
    """A claim that can be hunted.

    Attributes
    ----------
    id
        Id of the claim in the ledger, or the dotted name of a bound, with ``/space`` after it if a claim is hunted in
        more than one space.
    says
        What "observed <= bound" means here.
    space
        Where to look.
    measure
        (instance, seed) -> `Measured`; fast, and deterministic given the seed. Exact measures ignore the seed.
    confirm
        (instance, seed) -> `Verdict`; by other means than `measure`: exact fractions, another code path, or fresh
        random numbers.
    holds
        What the ledger or a proof says about the claim over this space; None where nothing is proved.
    sampled
        Whether `measure` is a Monte Carlo estimate.
    probability
        Whether the bound is one on a probability, so that the tightness report may ask for an informative one.
    """

    id: str
    says: str
    space: Space
    measure: Callable[[Any, int], Measured]
    confirm: Callable[[Any, int], Verdict]
    holds: bool | None
    sampled: bool = False
    probability: bool = True

    @property
    def claim(self) -> str:
        """The id without the space."""
        return self.id.partition("/")[0]
