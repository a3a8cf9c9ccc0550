"""The model cascade of Section 3.3: layer by layer, what one layer gives up goes to the next.

A layer accepts the rows it is sure of. The others go on to the next layer, which sees more features: only for these
rows are its candidates' values asked for. What the last layer gives up belongs to the hidden class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.classifier.gated import GatedModel
from exml_sim.classifier.latent import LatentModel

#: Values of a candidate for some rows, and a mask of the rows for which there are any.
Ask = Callable[[str, IntArray], tuple[FloatArray, BoolArray]]

#: Rows, and probabilities or values h of the classes, as a layer finds them.
Watch = Callable[[IntArray, FloatArray], None]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A model and the candidates whose values it sees behind the observed features, in this order."""

    model: GatedModel | LatentModel
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What became of every row.

    Attributes
    ----------
    winner
        Number of the winning class in the last layer that saw the row, shape (n,); -1 if none saw it.
    layer
        Layer that accepted the row, from 1; 0 if none did.
    seen
        Last layer that saw the row; 0 if none did.
    missing
        Candidate whose missing value stopped the row on its way; "" for rows that came to a decision.
    asked
        Rows for which each candidate was asked for, in order of asking.
    """

    winner: IntArray
    layer: IntArray
    seen: IntArray
    missing: NDArray[np.str_]
    asked: dict[str, IntArray]

    @property
    def hidden(self) -> BoolArray:
        """Rows that every layer gave up."""
        return np.asarray((self.layer == 0) & (self.missing == ""), dtype=np.bool_)

    @property
    def undecided(self) -> BoolArray:
        """Rows that lack a value."""
        return np.asarray(self.missing != "", dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Cascade:
    """Layers in order."""

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError("a cascade needs at least one layer, got none")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates that some layer needs, first use first."""
        return tuple(dict.fromkeys(name for layer in self.layers for name in layer.candidates))

    def decide(self, X: FloatArray, ask: Ask, watch: Watch | None = None) -> Decisions:
        """Send every row through the layers until one accepts it.

        Parameters
        ----------
        X
            Observed features, shape (n, d).
        ask
            Source of candidate values. It is asked at most once for a value, and only for rows that reach a layer that
            needs it.
        watch
            Is told what every layer finds about the rows that it sees.
        """
        n = X.shape[0]
        longest = max((len(name) for name in self.candidates), default=1)
        winner, layer, seen = np.full(n, -1), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        missing: NDArray[np.str_] = np.full(n, "", dtype=f"<U{max(1, longest)}")
        known = _Known(ask, n)
        pending = np.arange(n)
        for number, one in enumerate(self.layers, 1):
            for name in one.candidates:
                there = known.fetch(name, pending)
                missing[pending[~there]] = name
                pending = pending[there]
            columns = [X[pending], *(known.values[name][pending] for name in one.candidates if len(pending))]
            if not len(pending):
                break
            points = np.hstack(columns)
            winner[pending], accepted = one.model.evaluate(points)
            if watch is not None:
                watch(pending, one.model.outputs(points))
            seen[pending] = number
            layer[pending[accepted]] = number
            pending = pending[~accepted]
        return Decisions(winner, layer, seen, missing, dict(known.asked()))


class _Known:
    """Values asked for so far."""

    def __init__(self, ask: Ask, n: int) -> None:
        self._ask = ask
        self._n = n
        self.values: dict[str, FloatArray] = {}
        self._asked: dict[str, BoolArray] = {}
        self._there: dict[str, BoolArray] = {}

    def fetch(self, name: str, rows: IntArray) -> BoolArray:
        """Ask for what is not yet known; returns which of the rows have a value."""
        asked = self._asked.setdefault(name, np.zeros(self._n, dtype=np.bool_))
        there = self._there.setdefault(name, np.zeros(self._n, dtype=np.bool_))
        new = rows[~asked[rows]]
        if len(new):
            values, present = self._ask(name, new)
            if name not in self.values:
                self.values[name] = np.full((self._n, values.shape[1]), np.nan)
            self.values[name][new[present]] = values[present]
            asked[new], there[new] = True, present
        return there[rows]

    def asked(self) -> Iterator[tuple[str, IntArray]]:
        for name, mask in self._asked.items():
            yield name, np.flatnonzero(mask)
