"""Shorter ways to write a study: a grid of pools and scores, one strategy, a precision in place of trials.

They are written out before a study is read, so a study's identity is that of what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from exml_sim.engine.fields import between
from exml_sim.engine.intervals import confidence_sequence
from exml_sim.validation import shown

#: Parameters that may be swept, and whose they are.
OF_POOLS: Sequence[str] = ("K", "gap", "cost_ratio", "sd", "law", "family", "correlation")
OF_SCORES: Sequence[str] = ("theta", "ball")
#: Looks of a study that runs until its intervals are narrow.
LOOKS = 50


def expanded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its short forms written out."""
    found = dict(table)
    if "strategy" in found:
        if "strategies" in found:
            raise ValueError("give strategy or strategies, not both")
        found["strategies"] = [found.pop("strategy")]
    if "grid" in found:
        _expand_grid(found)
    if "half_width" in found:
        _expand_precision(found)
    return found


def _expand_grid(table: dict[str, Any]) -> None:
    grid = table.pop("grid")
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(f"grid must be a table of lists, like {{K = [8, 32]}}, got {shown(grid)}")
    for name, values in grid.items():
        if name not in (*OF_POOLS, *OF_SCORES):
            raise ValueError(f"grid cannot sweep {shown(name)}: allowed are {', '.join((*OF_POOLS, *OF_SCORES))}")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{name} of grid must be a list that is not empty, got {shown(values)}")
    for part, names in (("pools", OF_POOLS), ("scores", OF_SCORES)):
        swept = {name: grid[name] for name in names if name in grid}
        if not swept:
            continue
        given = table.get(part)
        if not isinstance(given, list | tuple) or not given or not all(isinstance(one, Mapping) for one in given):
            raise ValueError(
                f"grid sweeps {', '.join(swept)}, so the study needs {part} as tables: write [[{part}]], "
                "and below it what the grid does not sweep"
            )
        table[part] = [one for spec in given for one in _crossed(dict(spec), swept, part == "pools")]


def _crossed(spec: dict[str, Any], swept: Mapping[str, Sequence[Any]], labelled: bool) -> Iterator[dict[str, Any]]:
    """One spec for every point of the grid, its label with the point's numbers."""
    for values in product(*swept.values()):
        point = dict(zip(swept, values, strict=True))
        twice = [name for name in point if name in spec]
        if twice:
            raise ValueError(
                f"{twice[0]} is both in the grid and in a {'pool' if labelled else 'score'}: leave one out"
            )
        words = ", ".join(f"{name.replace('_', ' ')} = {value}" for name, value in point.items())
        start = spec.get("label") or spec.get("family") or spec.get("kind", "")
        yield {**spec, **point, **({"label": f"{start}, {words}" if start else words} if labelled else {})}


def _expand_precision(table: dict[str, Any]) -> None:
    """A half width h: every cell runs until its confidence sequence is at most 2 h wide.

    The most trials are those that a failure rate of 1/2, the worst, needs.
    """
    width = 2.0 * between(0.0, 0.5)(table.pop("half_width"), "half_width")
    for other in ("trials", "stop"):
        if other in table:
            raise ValueError(f"half_width says when to stop: give it or {other}, not both")
    low, high = 1, 2
    while _worst_width(high) > width:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _worst_width(middle) <= width else (middle, high)
    every = max(1, -(-high // LOOKS))
    table["trials"], table["stop"] = every * LOOKS, {"width": width, "every": every}


def _worst_width(trials: int, alarm: float = 0.05) -> float:
    low, high = confidence_sequence(trials // 2, trials, alarm)
    return high - low
