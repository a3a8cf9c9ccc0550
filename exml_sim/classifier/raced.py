"""What a race of sets leaves: its looks, the sets in each, who won, and the winner against all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exml_sim.bandit.selection_report import Pair
from exml_sim.classifier.hearing import Arms


@dataclass(frozen=True, slots=True, eq=False)
class Contestant:
    """A set of candidates in one round.

    Attributes
    ----------
    arms
        Positions of the candidates.
    rows
        Rows it was scored on.
    loss
        Held-out squared error of probabilities.
    judged, useless
        The same against what the race compares with (`exml_sim.classifier.hearing`), and that without any candidate.
    final
        Rows that the money left would give the set.
    predicted
        `judged` with what the set will not explain for lack of rows: the explained part times N/(N + h).
    deviation
        Standard deviation of the difference to the best set; 0 for the best itself.
    interval
        Approximate 95 % interval of the loss.
    """

    arms: Arms
    rows: int
    loss: float
    judged: float
    useless: float
    final: int
    predicted: float
    deviation: float = 0.0
    interval: tuple[float, float] = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class RaceRound:
    """One look: all sets, best prediction first, and who is bought on."""

    contestants: tuple[Contestant, ...]
    chosen: Arms
    in_play: Arms


@dataclass(frozen=True, slots=True, eq=False)
class Raced:
    """How a race ended: the winner, its rounds, why money is left, if any is, and the choice against all others."""

    winner: Arms
    rounds: tuple[RaceRound, ...]
    left_over: str = ""
    pairs: tuple[Pair, ...] = ()
