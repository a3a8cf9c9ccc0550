"""What a run leaves in doubt: choices that a few other rows could have turned, prices at the end of their grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim.bandit.selection_report import SelectionReport
from exml_sim.classifier.layers import LayerRecord
from exml_sim.classifier.raced import Raced

if TYPE_CHECKING:
    from exml_sim.bandit.trial import Exploration

#: Names that a sentence lists one by one.
MOST_NAMES = 8

#: Deviations of a difference within which two sets of candidates are not told apart.
DEVIATIONS = 2.0


def doubts(records: Sequence[LayerRecord], names: Sequence[str]) -> list[str]:
    """One sentence for everything that is in doubt.

    Parameters
    ----------
    names
        All candidates, in the order of the oracle.
    """
    out = []
    for record in records:
        out += _edge(record)
        if record.exploration is not None and len(record.exploration.names) > 1:
            out += _luck(record.exploration, len(record.candidates))
        if record.race is not None and len(names) > 1:
            # The statement's own words where there is one: two scales would name different sets in one report.
            said = record.statement
            out += _race(record.race, names) if said is None else _not_excluded(said)
    return out


def _edge(record: LayerRecord) -> list[str]:
    """A theta at the end of its grid: beyond might be better."""
    if record.choice is None or len(record.choice.tried) < 2:
        return []
    tried = [one.theta for one in record.choice.tried]
    if record.number == 1 and (record.choice.met or record.theta != min(tried)):
        # Its prices are tried from the highest down to the first that is good enough.
        return []
    if record.theta in (min(tried), max(tried)):
        end = "lowest" if record.theta == min(tried) else "highest"
        return [f"theta {record.theta:g} of layer {record.number} is the {end} that was tried: try further ones"]
    return []


def _luck(found: Exploration, selected: int) -> list[str]:
    """A selection on one row each is a tie; scores that are closer than chance could make them are not told apart."""
    if not found.rounds:
        return []
    last = found.rounds[-1]
    bought = np.sum([one.pulls for one in found.rounds], axis=0)
    rows = min(int(bought[arm]) for arm in last.active)
    ahead = [arm for arm in last.active if arm in found.accepted[:selected]]
    behind = [arm for arm in last.active if arm not in ahead]
    if not ahead or not behind:
        return []
    worst, rival = max(ahead, key=lambda arm: last.scores[arm]), min(behind, key=lambda arm: last.scores[arm])
    pair = f"{found.names[worst]} and {found.names[rival]}"
    if rows <= 1:
        return [f"{pair} were compared on {rows} row each: the selection is a tie"]
    # A mean of n values between 0 and 1 has a standard deviation of at most 1/(2 sqrt n).
    if last.scores[rival] - last.scores[worst] < 1.0 / rows**0.5:
        apart = last.scores[rival] - last.scores[worst]
        return [f"{pair} differ by {apart:.2g} on {rows} rows: other rows could turn the selection"]
    return []


def _race(found: Raced, names: Sequence[str]) -> list[str]:
    """Sets that the race did not tell apart from the winner."""
    if not found.rounds or not found.rounds[-1].contestants:
        return ["the candidates were not compared: the selection is a tie that prices decided"]
    last = found.rounds[-1]
    best = last.contestants[0]
    alike = [
        one.arms
        for one in last.contestants
        if one.arms != last.chosen and one.predicted - best.predicted <= DEVIATIONS * one.deviation
    ]
    if not alike:
        return []
    listed = _listed([" + ".join(names[arm] for arm in arms) for arms in alike])
    chosen = " + ".join(names[arm] for arm in last.chosen)
    return [f"{chosen} is not told apart from {listed} on {best.rows} rows: other rows could turn the selection"]


def _not_excluded(said: SelectionReport) -> list[str]:
    """Sets that the statement does not exclude, by labels alone."""
    if len(said.cannot_be_excluded) == 1:
        return []
    others = _listed(said.cannot_be_excluded[1:])
    return [f"{said.selected} is not told apart from {others} by labels alone: other rows could turn the selection"]


def facts(records: Sequence[LayerRecord], names: Sequence[str]) -> list[dict[str, Any]]:
    """Layers as plain values: thetas that were tried, scores of every round with the solver's accuracy."""
    return [
        {
            "layer": record.number,
            "candidates": list(record.candidates),
            "model": record.model,
            "theta": record.theta,
            "rows": len(record.rows),
            "thetas": [] if record.choice is None else [_tried(one) for one in record.choice.tried],
            "rounds": [] if record.exploration is None else _rounds(record.exploration, record.intervals),
            "looks": [] if record.race is None else _looks(record.race, names),
            "statement": None if record.statement is None else record.statement.to_dict(),
        }
        for record in records
    ]


def _tried(one: Any) -> dict[str, Any]:
    from exml_sim.classifier.judgement import share_interval

    shown = {"theta": one.theta, "rows": one.rows, "accepted": one.accepted}
    known = {"accuracy": one.accuracy, "interval": list(share_interval(one.right_accepted, one.accepted))}
    return {**shown, **(known if one.accepted else {"accuracy": None, "interval": None})}


def _rounds(found: Exploration, intervals: Sequence[tuple[float, float]]) -> list[list[dict[str, Any]]]:
    last = {arm: number for number, one in enumerate(found.rounds) for arm in one.active}
    return [
        [
            {
                "candidate": found.names[arm],
                "rows": int(one.pulls[arm]),
                "score": float(one.scores[arm]),
                "interval": _ends(intervals[arm]) if intervals and last[arm] == number else None,
                "solver_accuracy": [float(one.lower[arm]), float(one.upper[arm])],
                "stays": bool(arm in one.survivors),
            }
            for arm in one.active
        ]
        for number, one in enumerate(found.rounds)
    ]


def _ends(interval: tuple[float, float]) -> list[float] | None:
    return [float(end) for end in interval] if math.isfinite(interval[0]) else None


def _looks(found: Raced, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    return [
        [
            {
                "candidates": [names[arm] for arm in one.arms],
                "rows": one.rows,
                "loss": one.loss,
                "interval": _ends(one.interval),
                "predicted": one.predicted,
                "deviation": one.deviation,
                "chosen": one.arms == look.chosen,
            }
            for one in look.contestants
        ]
        for look in found.rounds
    ]


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names) if more < 2 else f"{', '.join(names[:MOST_NAMES])} and {more} others"
