"""What all pictures share: the same picture gives the same file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from simulations.figures import style


def nudged(picture: Figure) -> Figure:
    """The same picture in a process whose layout comes out differently in the last bit."""
    engine = picture.get_layout_engine()
    assert engine is not None
    place = engine.execute

    def execute(fig: Figure) -> None:
        place(fig)
        for axes in fig.axes:
            axes.set_position([np.nextafter(length, 1.0) for length in axes.get_position().bounds])

    engine.execute = execute  # type: ignore[method-assign]
    return picture


DRAW = """
import sys
from pathlib import Path
from typing import Any
from simulations.figures import style
with style.context():
    picture = style.blank(6, 3)
    for axes in picture.subplots(1, 3, width_ratios=(4, 3, 2)):
        axes.plot([1, 2], [3, 5], "o-", label="a")
        axes.set_title("a title")
    picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
"""


def draw() -> Figure:
    """Draw a picture with a layout to solve."""
    names: dict[str, Any] = {}
    exec(DRAW, names)
    return names["picture"]


def test_the_same_picture_gives_the_same_bytes_whatever_the_last_bit_of_its_layout(tmp_path: Path) -> None:
    first = style.save(draw(), tmp_path / "first")
    second = style.save(nudged(draw()), tmp_path / "second")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_two_processes_draw_the_same_bytes(tmp_path: Path) -> None:
    save = "style.save(picture, Path(sys.argv[1]))"
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-c", DRAW + save, str(tmp_path / name)], check=True)
    for kind in ("png", "svg"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
