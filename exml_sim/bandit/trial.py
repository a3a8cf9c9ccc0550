"""Hold the results of explorations: one trial to read and plot, or many to count."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.selection_report import ComparisonData, SelectionReport
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import show
from exml_sim.seeds import Seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One scored round of one trial.

    Attributes
    ----------
    active, survivors
        Arms that were scored, and arms that went on.
    pulls
        Pulls per arm since the round before, shape (K,).
    scores, lower, upper
        Scores with their certificates, shape (K,), +inf for arms that were not scored.
    certified
        True if the certificates prove the round's decision; False if values within the certificates' reach,
        or a tie, decided it.
    """

    active: tuple[int, ...]
    survivors: tuple[int, ...]
    pulls: IntArray
    scores: FloatArray
    lower: FloatArray
    upper: FloatArray
    certified: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exploration:
    """One complete trial.

    Attributes
    ----------
    selected
        The selected arm (the best of them, for a strategy that selects several).
    accepted
        All selected arms, best first (for accepts and rejects: in the order they were accepted).
    names
        Names of the arms.
    ledger
        Every purchase.
    rounds
        Every scored round.
    counts
        How often each row was bought for each arm, shape (K, m); None for arms without rows.
    confident
        Whether a fixed-confidence strategy reached its confidence; None for fixed-budget strategies.
    comparison_data
        What a report needs; None for arms without rows.
    """

    accepted: tuple[int, ...]
    names: tuple[str, ...]
    ledger: Ledger
    rounds: tuple[Round, ...]
    counts: CountArray | None
    confident: bool | None = None
    comparison_data: ComparisonData | None = None

    @property
    def selected(self) -> int:
        """The selected arm."""
        return self.accepted[0]

    @property
    def selected_name(self) -> str:
        """Name of the selected arm."""
        return self.names[self.selected]

    def __repr__(self) -> str:
        several = "" if len(self.accepted) == 1 else f" (accepted: {', '.join(self.names[i] for i in self.accepted)})"
        rounds = "1 scored round" if len(self.rounds) == 1 else f"{len(self.rounds)} scored rounds"
        return (
            f"<Exploration: selected {self.selected_name!r}{several} after {rounds}, "
            f"spent {show(self.ledger.spent)} of {show(self.ledger.budget)}>"
        )

    def report(self, level: float = 0.95) -> SelectionReport:
        """Report the confidence in the selection: differences to the others with limits, and which are excluded.

        Parameters
        ----------
        level
            Probability with which all limits hold together, between 0 and 1.

        Raises
        ------
        ValueError
            For arms without rows, and levels outside of (0, 1).
        """
        if self.comparison_data is None:
            raise ValueError("a report needs bought rows, and these arms have none")
        return self.comparison_data.report(self.names, self.selected, level)

    def table(self) -> str:
        """Write the rounds as text: pulls, scores and fate of every active arm."""
        lines = []
        for number, scored in enumerate(self.rounds, 1):
            lines.append(f"round {number}{'' if scored.certified else ' (not decided by certificates)'}")
            for arm in scored.active:
                fate = "stays" if arm in scored.survivors else "accepted" if arm in self.accepted else "leaves"
                score = f"{scored.scores[arm]:.9g} in [{scored.lower[arm]:.9g}, {scored.upper[arm]:.9g}]"
                lines.append(f"  {self.names[arm]}: {scored.pulls[arm]} pulls, score {score}, {fate}")
        return "\n".join([*lines, f"selected {self.selected_name}"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the allocation: one bar per arm, one segment per round.

        Parameters
        ----------
        ax
            Where to draw; a new figure if not given.
        """
        import matplotlib.pyplot as plt

        axes = ax if ax is not None else plt.subplots(figsize=(7.0, 0.4 * len(self.names) + 1.4))[1]
        positions = np.arange(len(self.names))
        left = np.zeros(len(self.names))
        shades = plt.get_cmap("viridis")(np.linspace(0.15, 0.9, max(1, self.ledger.rounds)))
        for number in range(1, self.ledger.rounds + 1):
            pulls = self.ledger.round_pulls(number)[0]
            axes.barh(positions, pulls, left=left, color=shades[number - 1], label=f"round {number}")
            left = left + pulls
        labels = [f"{name} *" if i in self.accepted else name for i, name in enumerate(self.names)]
        axes.set_yticks(positions, labels)
        axes.invert_yaxis()
        axes.set_xlabel("pulls")
        axes.set_title(f"Allocation per arm and round (* selected), budget {show(self.ledger.budget)}")
        if 1 <= self.ledger.rounds <= 8:
            axes.legend(loc="best", fontsize="small")
        return axes


def read_trial(batch: TrialBatch, selected: IntArray, index: int = 0) -> Exploration:
    """Take one trial out of a recorded batch."""
    rounds = tuple(
        Round(
            _indices(record.active[index]),
            _indices(record.survivors[index]),
            record.pulls[index].copy(),
            record.scores.value[index].copy(),
            record.scores.lower[index].copy(),
            record.scores.upper[index].copy(),
            bool(record.certified[index]),
        )
        for record in batch.rounds
    )
    counts = batch.arms.counts()
    return Exploration(
        tuple(int(arm) for arm in selected[index]),
        batch.ledger.names,
        batch.ledger.trial(index),
        rounds,
        None if counts is None else counts[index].copy(),
        None if batch.confident is None else bool(batch.confident[index]),
        batch.arms.comparison_data(index, batch.ledger.rounds, batch.confident is not None),
    )


def _indices(mask: BoolArray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(mask))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explorations:
    """Results of many trials.

    Attributes
    ----------
    selected
        Selected arms, the first choice first, shape (trials, k).
    pulls
        Pulls per trial and arm, shape (trials, K).
    spent_units
        Money spent per trial, in whole units of `unit`.
    unit
        Exact value of one unit.
    seeds
        Addresses of the trials; `pool.explore(strategy, budget, seeds.part(slice(i, i + 1)))` replays trial
        i.
    confident
        Whether a fixed-confidence strategy reached its confidence, shape (trials,); None for other strategies.
    uncertain
        Trials with a decision that certificates left open, shape (trials,); None where it was not recorded.
    """

    selected: IntArray
    pulls: IntArray
    spent_units: IntArray
    unit: Fraction
    seeds: Seeds
    confident: BoolArray | None = None
    uncertain: BoolArray | None = None

    def __len__(self) -> int:
        return int(self.selected.shape[0])

    def __repr__(self) -> str:
        arms, times = np.unique(self.selected[:, 0], return_counts=True)
        most = arms[times.argmax()] if arms.size else "none"
        return f"<Explorations: {len(self)} trials, arm {most} selected most often>"

    def failures(self, best: Collection[int]) -> BoolArray:
        """Mark the trials that selected an arm outside of `best`, shape (trials,).

        For a strategy that selects k arms give the k best arms: `pool.best_arms()` holds only those that share the
        first place, and where there are fewer than k of them every trial fails.

        Parameters
        ----------
        best
            Positions of the arms that are right to select.
        """
        right, arms = list(best), range(self.pulls.shape[1])
        wrong = [arm for arm in right if arm not in arms]
        if wrong:
            raise ValueError(f"the best arms must be positions from 0 to {len(arms) - 1}, got {wrong[0]!r}")
        return np.asarray(~np.isin(self.selected, right).all(axis=1), dtype=np.bool_)

    @classmethod
    def join(cls, parts: list[Explorations], seeds: Seeds) -> Explorations:
        """Put the blocks of one run together."""

        def stack(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if values[0] is None else np.concatenate(values)

        selected, pulls, spent = (stack(name) for name in ("selected", "pulls", "spent_units"))
        return cls(selected, pulls, spent, parts[0].unit, seeds, stack("confident"), stack("uncertain"))
