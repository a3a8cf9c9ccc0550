"""Common style of all figures: colours by role, sizes in inches, and how a figure is written.

The colours are Okabe and Ito's, which people with the common colour blindnesses can tell apart. A role keeps its colour
in every picture; a series that has no role takes the next colour of `CYCLE` and a marker of its own, so that no picture
depends on colour alone.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exml_sim._internal.files import write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

#: Observed rates and bounds with a fixed colour; others take colours of `CYCLE`.
COLOURS = {"practice": "#000000", "tighter": "#0072B2", "corrected": "#009E73", "paper": "#D55E00"}
DASHES = {"practice": "-", "tighter": "-", "corrected": "--", "paper": "-."}
#: For series without a role.
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: Decimals of positions in a picture, in units of its width and height.
PLACES = 9
#: Guides: targets, chance levels, shaded zones.
GUIDE = "#999999"

SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.titlesize": 11,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "savefig.dpi": 150,
    "pdf.fonttype": 42,  # embedded fonts that journals accept
    "svg.fonttype": "none",  # text stays text: it can be searched, and edited for a paper
    "svg.hashsalt": "exml-sim",  # the same picture gives the same file
}


#: Files of a picture by their ending, with metadata that make the same picture the same bytes.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Producer": None},
}
#: Settings of a user, and the width of a picture in inches, see `customise`.
_CUSTOM: ContextVar[tuple[dict[str, Any], float | None]] = ContextVar("custom", default=({}, None))
#: Height in inches that pictures reserve for their legend, and the end of a legend text without a visible curve.
LEGEND_HEIGHT, VACUOUS = 0.5, " (vacuous here)"
#: Width in inches below which a legend names only curves that are visible: about that of a column of a paper.
NARROW_WIDTH = 4.0
#: Control characters, except the line break.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
#: Widths in inches that a picture may have.
MIN_WIDTH, MAX_WIDTH = 1.0, 40.0


@contextmanager
def context() -> Iterator[None]:
    """Draw in the common style, with what `customise` changes; settings outside are left as they were."""
    import matplotlib as mpl
    from cycler import cycler

    settings: Any = {**SETTINGS, "axes.prop_cycle": cycler(color=list(CYCLE)), **_CUSTOM.get()[0]}
    with mpl.rc_context(settings):
        yield


@contextmanager
def customise(
    *,
    width: float | None = None,
    font_size: float | None = None,
    style_file: Path | None = None,
) -> Iterator[None]:
    """Change width, size of the text and other settings of all pictures that are drawn inside.

    Parameters
    ----------
    width
        Width in inches, such as that of a column; heights keep their proportion.
    font_size
        In points; titles and legends are scaled.
    style_file
        Settings of matplotlib, such as a file mine.mplstyle.
    """
    import matplotlib as mpl

    if width is not None and not MIN_WIDTH <= width <= MAX_WIDTH:
        raise ValueError(f"a width must be {MIN_WIDTH:g} to {MAX_WIDTH:g} inches, got {width:g}")
    settings: dict[str, Any] = {}
    if font_size is not None:
        sizes = ("font.size", "axes.titlesize", "axes.labelsize", "figure.titlesize", "legend.fontsize")
        settings |= {name: SETTINGS[name] * font_size / SETTINGS["font.size"] for name in sizes}
        settings |= {"xtick.labelsize": settings["legend.fontsize"], "ytick.labelsize": settings["legend.fontsize"]}
    if style_file is not None:
        try:
            settings.update(mpl.rc_params_from_file(str(style_file), use_default_template=False).items())
        except (OSError, ValueError) as error:
            raise ValueError(f"{style_file} is no style file of matplotlib: {error}") from None
    token = _CUSTOM.set((settings, width))
    try:
        yield
    finally:
        _CUSTOM.reset(token)


def of_version(name: str) -> dict[str, Any]:
    """Return colour and dashes of a bound; one without a role takes the next free ones."""
    from theory.versions import VERSIONS

    if name in COLOURS:
        return {"color": COLOURS[name], "linestyle": DASHES[name]}
    others = [other for other in VERSIONS if other not in COLOURS]
    # A bound of a plug-in takes its place after ours by its letters, the same in every picture.
    place = others.index(name) if name in others else len(others) + sum(name.encode()) % 5
    free = [colour for colour in CYCLE if colour not in COLOURS.values()]
    return {"color": free[place % len(free)], "linestyle": (0, (3 + place, 1))}


def blank(width: float = 7.0, height: float = 4.2) -> Figure:
    """Make an empty figure that no window shows."""
    from matplotlib.figure import Figure

    chosen = _CUSTOM.get()[1] or width
    # A narrow picture needs relatively more height for its legend.
    return Figure(figsize=(chosen, height * (chosen / width) ** 0.6), layout="constrained")


def make_axes(
    number: int, size: tuple[float, float], *, columns: int = 4, extra: float = 0.0, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Make an empty figure with axes in rows, as many next to each other as its width has room for.

    Parameters
    ----------
    number : int
        Axes.
    size : tuple of float
        Natural width and height of one axes in inches.
    columns : int
        Most axes in a row.
    extra : float
        Height of legend and title.
    **shared : Any
        Passed on to `Figure.subplots`.
    """
    columns = min(columns, number)
    if chosen := _CUSTOM.get()[1]:
        columns = min(columns, max(int(chosen / (0.6 * size[0])), 1))
    rows = -(-number // columns)
    picture = blank(size[0] * columns, size[1] * rows + extra)
    axes = picture.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat[number:]:
        ax.set_visible(False)
    return picture, list(axes.flat[:number])


def finish(picture: Figure, title: str = "") -> None:
    """Put one legend below all axes and a title above, and wrap what is wider than the picture.

    A tall legend makes the picture taller, so that the axes keep their size. In a narrow picture the legend is
    smaller and leaves out bounds without a visible curve.

    Parameters
    ----------
    picture : Figure
        Picture whose axes are drawn.
    title : str
        Title; none if empty.
    """
    from matplotlib import rcParams

    is_narrow = picture.get_figwidth() < NARROW_WIDTH
    handles = {
        text: line
        for ax in picture.axes
        for line, text in zip(*ax.get_legend_handles_labels(), strict=True)
        if not _is_below(ax, line)
    }
    handles = {
        text: line
        for text, line in handles.items()
        if text.removesuffix(VACUOUS) == text or (text.removesuffix(VACUOUS) not in handles and not is_narrow)
    }
    room = float(picture.bbox.width)
    small: dict[str, Any] = {"fontsize": 0.8 * rcParams["legend.fontsize"], "columnspacing": 1.0} if is_narrow else {}
    for columns in (4, 3, 2, 1) if handles else ():
        place: Any = {"loc": "outside lower center", "ncols": columns, **small}
        legend = picture.legend(list(handles.values()), list(handles), **place)
        width = legend.get_window_extent().width
        if columns > 1 and width > room:
            legend.remove()
            continue
        longest = max(map(len, handles))
        for text in legend.get_texts() if width > room else ():
            # A legend has 4 letters of marks and margins next to its texts.
            text.set_text(textwrap.fill(text.get_text(), max(int((longest + 4) * room / width) - 6, 8)))
        height = legend.get_window_extent().height / picture.dpi
        picture.set_figheight(picture.get_figheight() + max(height - LEGEND_HEIGHT, 0.0))
        break
    if title:
        _wrap(picture.suptitle(title), room)
    picture.draw_without_rendering()
    for ax in picture.axes:
        _wrap(ax.title, float(ax.get_window_extent().width))


def _is_below(ax: Axes, line: Any) -> bool:
    """Check whether a curve runs below the axes only, such as a lower bound that is far below all rates."""
    heights = line.get_ydata() if hasattr(line, "get_ydata") else ()
    return len(heights) > 0 and bool(max(heights) < ax.get_ylim()[0])


def _wrap(text: Text, room: float) -> None:
    """Break the lines of a text that are wider than the room."""
    width = text.get_window_extent().width
    if width > room:
        lines = text.get_text().split("\n")
        limit = max(int(0.95 * max(map(len, lines)) * room / width) - 1, 8)
        text.set_text("\n".join(part for line in lines for part in textwrap.wrap(line, limit)))


def plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis by powers of ten, or by plain numbers where there are fewer than three of those."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(ticks) >= 3:
            break
    else:
        ticks = [tick for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]
    if steps == (1,):
        return
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())


def save(picture: Figure, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a picture in several formats; the same picture gives the same bytes."""
    from matplotlib.text import Text

    stem.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for text in picture.findobj(Text):
        if isinstance(text, Text) and _CONTROL.search(text.get_text()):
            # No font has glyphs for these.
            text.set_text(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.get_text()))
    with context():
        _lay_out(picture, dpi=SETTINGS["savefig.dpi"])
        for kind in formats:
            file = stem.with_name(f"{stem.name}.{kind}")
            content = io.BytesIO()
            picture.savefig(content, format=kind, metadata=FORMATS[kind])
            write_file(file, content.getvalue())
            files.append(file)
    return files


def _lay_out(picture: Figure, dpi: float) -> None:
    """Lay the picture out at this resolution once, and remove the layout engine.

    A file of a picture with an engine is drawn twice, the first time for nothing but the engine.
    """
    engine = picture.get_layout_engine()
    if engine is None:
        return
    before = picture.dpi
    picture.set_dpi(dpi)
    engine.execute(picture)
    picture.set_dpi(before)
    picture.set_layout_engine(None)
    _round_positions(picture)


def _round_positions(picture: Figure) -> None:
    """Round the positions of the axes, so that every process writes the same file.

    The solver of the layout goes through sets, so that the last bits of a position differ from process to process. A
    pixel does not show it, but clip paths of an SVG file are named by digests of positions.
    """
    for axes in picture.axes:
        left, bottom, width, height = (round(float(length), PLACES) for length in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
