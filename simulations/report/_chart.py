"""Draw a chart as static SVG, from the data that the page's script draws as an interactive chart.

A chart is plain data: `x` and `y` (label, log, ends), `line` (a horizontal guide or None), `colours` and `dashes` (the
two dimensions of the legend), `styles` (of the dashes: d0 has marks, d1 to d6 are lines, lower and lower2 are
dotted, star has stars) and `series`. A series has a colour (None if it belongs to all), a dash and points
``[x, y, low, high, is_limit]``. `spread` puts marks at equal places next to
each other. Colours and sizes come from the page's style, so that light, dark and print work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

#: Space around the plot in pixels: left, right, top, bottom.
MARGINS = (58, 14, 10, 44)
#: Number of colours in page.css; later series repeat them with another mark.
N_COLOURS = 8
#: Marks around the origin; the series of one colour share a mark, so that no chart depends on colour alone.
MARKS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
    "M-3.6,-3.6h7.2v7.2h-7.2Z",
    "M0,-4.8L4.6,3.6H-4.6Z",
    "M0,-5L5,0L0,5L-5,0Z",
    "M-4.5,-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3Z",
    "M0,-5L4.3,-2.5V2.5L0,5L-4.3,2.5V-2.5Z",
)
LIMIT = "M-4.6,-3.6H4.6L0,4.8Z"
STAR = "M0,-7.5L1.8,-2.4H7.2L2.9,0.9L4.5,6L0,2.9L-4.5,6L-2.9,0.9L-7.2,-2.4H-1.8Z"
#: Pixels between the marks of neighbouring colours in a chart whose series share their places.
SPREAD = 5


def draw_chart(chart: Mapping[str, Any], width: int = 860, height: int = 380) -> Markup:
    """Draw a chart as SVG text; names are escaped.

    Parameters
    ----------
    chart : mapping
        The chart as plain data.
    width, height : int
        Size in pixels.
    """
    left, right, top, bottom = MARGINS
    x = _make_scale(chart["x"], left, width - right)
    y = _make_scale(chart["y"], height - bottom, top)
    parts = [_draw_axes(chart, x, y, width, height)]
    if chart["line"]:
        at = y(chart["line"]["at"])
        parts.append(Markup('<path class="target" d="M{},{:.1f}H{}"/>').format(left, at, width - right))
    for series in chart["series"]:
        parts.append(_draw_series(series, chart, x, y))
    start = Markup('<svg class="chart" role="img" viewBox="0 0 {} {}" width="{}" height="{}" aria-label="{}">')
    return start.format(width, height, width, height, chart["label"]) + Markup("").join(parts) + Markup("</svg>")


def join_rounds(rounds: Sequence[Sequence[float]], most: int = 6) -> list[list[float]]:
    """Join the pulls of many rounds into at most this number of groups of consecutive rounds."""
    groups = [[0.0] * len(rounds[0]) for _ in range(min(len(rounds), most))] if rounds else []
    for number, pulls in enumerate(rounds):
        group = groups[number if len(rounds) <= most else number * most // len(rounds)]
        for arm, value in enumerate(pulls):
            group[arm] += value
    return groups


def _make_scale(axis: Mapping[str, Any], start: float, stop: float) -> Callable[[float], float]:
    """Return the function from values of an axis to pixels; values beyond the ends are at the ends."""
    low, high = (_position(value, axis) for value in axis["ends"])

    def scale(value: float) -> float:
        if axis["log"] and value <= 0.0:
            return start
        share = (_position(value, axis) - low) / (high - low or 1.0)
        return start + (stop - start) * min(max(share, 0.0), 1.0)

    return scale


def _position(value: float, axis: Mapping[str, Any]) -> float:
    return math.log10(value) if axis["log"] else value


def list_ticks(axis: Mapping[str, Any], most: int) -> list[float]:
    """List at most about this number of round values between the ends of an axis."""
    low, high = axis["ends"]
    if not axis["log"]:
        step = 10.0 ** math.floor(math.log10((high - low) / most))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= most)
        return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        ticks = [f * 10.0**power for power in powers for f in factors if low <= 1.001 * f * 10.0**power <= 1.002 * high]
        if len(ticks) >= 3:
            break
    # A study with one budget may have no round value between the ends.
    ticks = ticks or [float(f"{math.sqrt(low * high):.3g}")]
    every = -(-len(ticks) // most)
    # From the upper end, because the largest probability is 1.
    return ticks[::-1][::every][::-1]


def _format_tick(value: float) -> str:
    """Write a tick without superfluous digits: 1e-05 for very small numbers, 20,000 for large ones."""
    return f"{value:.0e}".replace("e-0", "e-") if 0.0 < value < 9e-4 else f"{value:,.10g}"


def _draw_axes(
    chart: Mapping[str, Any], x: Callable[[float], float], y: Callable[[float], float], width: int, height: int
) -> Markup:
    left, right, top, bottom = MARGINS
    base = height - bottom
    text = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    parts = [
        Markup('<g class="axis" aria-hidden="true"><path d="M{},{}V{}H{}"/>').format(left, top, base, width - right)
    ]
    for tick in list_ticks(chart["y"], max(height // 48, 2)):
        parts.append(Markup('<path class="grid" d="M{},{:.1f}H{}"/>').format(left, y(tick), width - right))
        parts.append(text.format(left - 7, y(tick) + 4, "end", _format_tick(tick)))
    for tick in list_ticks(chart["x"], max(width // 90, 2)):
        parts.append(Markup('<path d="M{:.1f},{}v5"/>').format(x(tick), base))
        label = _format_tick(tick)
        # The last label stays inside; a digit is about 7 pixels wide.
        parts.append(text.format(min(x(tick), width - 3.6 * len(label)), base + 18, "middle", label))
    parts.append(text.format((left + width - right) / 2, height - 8, "middle", chart["x"]["label"]))
    title = Markup('<text transform="translate(12,{}) rotate(-90)" text-anchor="middle">{}</text></g>')
    return Markup("").join([*parts, title.format((top + base) / 2, chart["y"]["label"])])


def _draw_series(
    series: Mapping[str, Any], chart: Mapping[str, Any], x: Callable[[float], float], y: Callable[[float], float]
) -> Markup:
    points: Sequence[Sequence[Any]] = series["points"]
    seen = [point for point in points if not point[4]]
    colour, kind = series["colour"], chart["styles"][series["dash"]]
    shift = SPREAD * (colour - (len(chart["colours"]) - 1) / 2) if chart.get("spread") else 0.0
    parts = []
    if kind == "d0":
        for at, _, low, high, is_limit in points:
            if not is_limit and low is not None:
                whisker = Markup('<path class="whisker" d="M{:.1f},{:.1f}V{:.1f}"/>')
                parts.append(whisker.format(x(at) + shift, y(low), y(high)))
    if kind != "star":
        line = Markup('<path class="curve {}" d="{}"/>')
        parts.append(line.format(kind, _path((x(point[0]) + shift, y(point[1])) for point in seen)))
    if kind in ("d0", "star"):
        mark = Markup('<path class="mark{}" transform="translate({:.1f},{:.1f})" d="{}"/>')
        for at, value, _, _, is_limit in points:
            shape = STAR if kind == "star" else LIMIT if is_limit else MARKS[colour % len(MARKS)]
            parts.append(mark.format(" limit" if is_limit else "", x(at) + shift, y(value), shape))
    owner = "" if colour is None else f"{chart['colours'][colour]}, "
    name = "plain" if colour is None else f"c{colour % N_COLOURS}"
    label = f"{owner}{chart['dashes'][series['dash']]}"
    return Markup('<g class="{}"><title>{}</title>{}</g>').format(name, escape(label), Markup("").join(parts))


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
