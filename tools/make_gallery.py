"""Execute the examples of the gallery and write their figures: ``python -m tools.make_gallery``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "gallery.md"
#: Width and height in inches, and dots per inch; a figure stays below 60 KB.
SIZE, DPI = (5.0, 3.2), 100
_EXAMPLE = re.compile(
    r"^## (?P<title>.+?)\n.*?```python\n(?P<code>.*?)```\n\n!\[.*?\]\((?P<image>.*?)\)", re.DOTALL | re.M
)


def read_examples(page: Path = PAGE) -> list[tuple[str, str, Path]]:
    """Read the examples of the page.

    Parameters
    ----------
    page : Path
        Markdown with one code block and one image per section.

    Returns
    -------
    list of tuple
        Title, code and file of the image.
    """
    text = page.read_text(encoding="utf-8")
    return [
        (match["title"], match["code"], (page.parent / match["image"]).resolve()) for match in _EXAMPLE.finditer(text)
    ]


def draw_example(code: str) -> Figure:
    """Execute the code of one example and return its figure.

    Parameters
    ----------
    code : str
        Python that binds the name ``figure``.

    Returns
    -------
    Figure
        Figure in the size of the gallery.
    """
    names: dict[str, Any] = {}
    exec(code, names)
    figure = cast("Figure", names["figure"])
    figure.set_size_inches(SIZE)
    figure.set_layout_engine("constrained")
    return figure


def main() -> None:
    """Write all figures."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    for title, code, image in read_examples():
        image.parent.mkdir(parents=True, exist_ok=True)
        draw_example(code).savefig(image, dpi=DPI, metadata={"Software": None})
        plt.close("all")
        sys.stdout.write(f"{title}: {image.name}, {image.stat().st_size / 1024:.0f} KB\n")


if __name__ == "__main__":
    main()
