"""Sequential halving (Karnin, Koren and Somekh, ICML 2013)."""

from __future__ import annotations

from dataclasses import dataclass

from exml_sim.strategies.median_elimination import MedianElimination


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialHalving(MedianElimination):
    """Spend B / T on the active arms in each of T = ceil(log2 K) rounds and keep the better ceil(|A| / 2).

    Every round is scored on its own pulls, floor(B / (T |A|)) of every arm at unit costs. This was not compared with
    the text of the paper.
    `median_elimination` is the same algorithm on all pulls so far.
    """

    accumulate: bool = False
