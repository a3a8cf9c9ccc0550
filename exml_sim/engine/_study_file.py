"""Reading of study files: TOML text, and abbreviations, which are written out before the study is read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from exml_sim._internal.validation import shown
from exml_sim.engine._fields import MAX_FILE_BYTES
from exml_sim.engine._intervals import confidence_sequence

#: Parameters that a grid may sweep, by the part of a study that has them.
SWEPT: Mapping[str, Sequence[str]] = {
    "pools": ("K", "gap", "cost_ratio", "sd", "distribution", "family", "correlation"),
    "scores": ("theta", "ball"),
}
ABBREVIATIONS = ("strategy", "grid", "half_width")
#: Interim analyses of a study that runs until its intervals are narrow.
ANALYSES = 50


def read_toml(source: str | Path) -> dict[str, Any]:
    """Read TOML from a path, or from text; a byte order mark is skipped.

    Raises
    ------
    ValueError
        If the file is too large or no TOML.
    """
    name = source if isinstance(source, Path) else "this"
    try:
        return tomllib.loads(_read_text(source) if isinstance(source, Path) else source)
    except RecursionError:
        raise ValueError(f"{name} is no study: its lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is no study: the TOML is wrong: {shown(str(error), 300)[1:-1]}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no study: it is not UTF-8 text") from None
    except ValueError as error:
        if "is no study" in str(error):
            raise
        raise ValueError(f"{name} is no study: a number in it has too many digits ({error})") from None


def _read_text(file: Path) -> str:
    with file.open("rb") as opened:
        data = opened.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"{file} is no study: it has more than {MAX_FILE_BYTES:,} bytes")
    return data.decode("utf-8-sig")


def expand(table: Mapping[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    """Write out the abbreviations of a table, and refuse keys that a study does not have."""
    for key in table:
        if key not in allowed and key not in ABBREVIATIONS:
            names = ", ".join((*allowed, *ABBREVIATIONS))
            raise ValueError(f"unknown part of a study {shown(key)}: allowed are {names}")
    expanded = dict(table)
    if "strategy" in expanded:
        if "strategies" in expanded:
            raise ValueError("give strategy or strategies, not both")
        expanded["strategies"] = [expanded.pop("strategy")]
    if "grid" in expanded:
        _expand_grid(expanded)
    if "half_width" in expanded:
        _expand_precision(expanded)
    return expanded


def _expand_grid(table: dict[str, Any]) -> None:
    grid, allowed = table.pop("grid"), [name for names in SWEPT.values() for name in names]
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(f"grid must be a table of lists, like {{K = [8, 32]}}, got {shown(grid)}")
    for name, values in grid.items():
        if name not in allowed:
            raise ValueError(f"grid cannot sweep {shown(name)}: allowed are {', '.join(allowed)}")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{name} of grid must be a list that is not empty, got {shown(values)}")
    for part, names in SWEPT.items():
        swept = {name: grid[name] for name in names if name in grid}
        given = table.get(part)
        if not swept:
            continue
        if not isinstance(given, list | tuple) or not given or not all(isinstance(entry, Mapping) for entry in given):
            raise ValueError(
                f"grid sweeps {', '.join(swept)}, so the study needs {part} as tables: write [[{part}]], "
                "and below it what the grid does not sweep"
            )
        table[part] = [point for entry in given for point in _cross(dict(entry), swept, part)]


def _cross(entry: dict[str, Any], swept: Mapping[str, Sequence[Any]], part: str) -> Iterator[dict[str, Any]]:
    """Yield one table for every point of the grid, the label of a pool with the point's numbers."""
    for values in product(*swept.values()):
        point = dict(zip(swept, values, strict=True))
        twice = [name for name in point if name in entry]
        if twice:
            raise ValueError(f"{twice[0]} is both in the grid and in a {part[:-1]}: leave one out")
        text = ", ".join(f"{name.replace('_', ' ')} = {value}" for name, value in point.items())
        start = entry.get("label") or entry.get("family") or entry.get("kind", "")
        yield {**entry, **point, **({"label": f"{start}, {text}" if start else text} if part == "pools" else {})}


def _expand_precision(table: dict[str, Any]) -> None:
    """Replace a half width h by trials and a stop: every cell runs until its confidence sequence is 2 h wide.

    The most trials are those that a failure rate of 1/2, the worst, needs.
    """
    half = table.pop("half_width")
    if isinstance(half, bool) or not isinstance(half, int | float) or not 0.0 < half < 0.5:
        raise ValueError(f"half_width must lie between 0 and 0.5, got {shown(half)}")
    for other in ("trials", "stop"):
        if other in table:
            raise ValueError(f"half_width says when to stop: give it or {other}, not both")
    width, low, high = 2.0 * half, 1, 2
    while _find_worst_width(high) > width:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _find_worst_width(middle) <= width else (middle, high)
    every = max(1, -(-high // ANALYSES))
    table["trials"], table["stop"] = every * ANALYSES, {"width": width, "check_every": every}


def _find_worst_width(trials: int, alpha: float = 0.05) -> float:
    low, high = confidence_sequence(trials // 2, trials, alpha)
    return high - low
