"""How much evidence there is, counted once: distinct cells, distinct trials, and how close they come to the bounds.

Several claims ask the same question of the same trials (term (d) of A.2 is term (c) of A.4), and every claim is
reported with all of its cells. Sums over claims therefore count evidence more than once; the numbers here do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simulations.verification.probes import Evidence
from simulations.verification.run import Result


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of cells and trials.

    Attributes
    ----------
    cells, informative, decided : int
        All cells, those whose bound excludes anything, and those of them that the evidence decides.
    exact : int
        Informative cells with an exact probability, which take no trials.
    trials : int
        Trials behind them; tilted ones are not counted.
    """

    cells: int
    informative: int
    decided: int
    exact: int
    trials: int

    @property
    def share(self) -> float:
        """Decided cells among the informative ones; 1 if there are none."""
        return self.decided / self.informative if self.informative else 1.0


def summed(findings: Iterable[Evidence]) -> Tally:
    """Every cell of every claim, whether or not another claim has it too."""
    held = list(findings)
    return _tally(held, sum(sum(one.runs.values()) for one in held))


def distinct(findings: Iterable[Evidence]) -> Tally:
    """Every question once, and every trial once.

    Trial number i of a strategy on a pool with a budget is the same trial wherever it is used, so of several cells on
    it the one with the most trials counts.
    """
    held = list(findings)
    runs: dict[tuple[str, str, int], int] = {}
    for one in held:
        for key, trials in one.runs.items():
            runs[key] = max(trials, runs.get(key, 0))
    return _tally(list({one.question: one for one in held}.values()), sum(runs.values()))


def _tally(held: Sequence[Evidence], trials: int) -> Tally:
    informative = [one for one in held if one.informative]
    return Tally(
        len(held),
        len(informative),
        sum(one.decided for one in informative),
        sum(one.method == "exact" for one in informative),
        trials,
    )


def repeats(results: Sequence[Result]) -> dict[str, str]:
    """Claims all of whose informative cells another claim has too: claim -> that claim (the earlier of equals)."""
    asked = {one.claim.id: {cell.question for cell in one.findings if cell.informative} for one in results}
    found = {}
    for number, (claim, questions) in enumerate(asked.items()):
        for place, (other, more) in enumerate(asked.items()):
            if questions and other != claim and (questions < more or (questions == more and place < number)):
                found[claim] = other
                break
    return found


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close the evidence of a claim comes to its bounds, over decided cells that must hold.

    Attributes
    ----------
    seen : float, optional
        The largest rate / bound among cells with failures or exact probabilities.
    limit : float
        The largest (upper limit of the rate) / bound: the rate itself in exact cells.
    """

    seen: float | None
    limit: float


def closeness(findings: Iterable[Evidence]) -> Closeness | None:
    """The closest cells; None where nothing that must hold is decided."""
    held = [one for one in findings if one.must_hold and one.informative and one.decided and one.bound > 0]
    seen = [one.verdict.rate / one.bound for one in held if one.verdict.rate]
    upper = [one.verdict.rate if one.method == "exact" else one.verdict.upper for one in held]
    limits = [top / one.bound for top, one in zip(upper, held, strict=True) if top is not None]
    return Closeness(max(seen, default=None), max(limits)) if limits else None


def closest(results: Iterable[Result]) -> tuple[str, Closeness] | None:
    """The claim whose rate comes closest to its bound, the first of equals; None if no failure was seen anywhere."""
    known = [(one.claim.id, near) for one in results if (near := closeness(one.findings)) and near.seen is not None]
    return max(known, key=lambda pair: pair[1].seen or 0.0, default=None)
