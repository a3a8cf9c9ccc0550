"""The picture of the benchmark: the defaults against every other way, setting by setting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.practice.judgement import Runs, complete, values
from benchmarks.practice.situations import Setting

WAYS = ("best candidate", "random candidate", "forest, all candidates", "boosting, all candidates", "paper")


def draw(settings: Sequence[Setting], runs: Runs, path: Path) -> None:
    """One line per setting, one mark per way: points of accuracy that the defaults are ahead."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    done = [setting for setting in settings if complete(setting, runs)]
    if not done:
        return
    figure, axes = plt.subplots(figsize=(8.0, 0.24 * len(done) + 1.4))
    for way, mark in zip(WAYS, ["D", "o", "s", "^", "x"], strict=True):
        ahead = [
            100
            * float((values(s, "defaults", runs, complete(s, runs)) - values(s, way, runs, complete(s, runs))).mean())
            for s in done
        ]
        axes.plot(ahead, np.arange(len(done)), mark, markersize=4, label=way, linestyle="none")
    axes.axvline(0.0, color="0.5", linewidth=0.8)
    axes.set_yticks(np.arange(len(done)), [s.name for s in done], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("points of accuracy that the defaults are ahead")
    axes.legend(fontsize=7, loc="best")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
