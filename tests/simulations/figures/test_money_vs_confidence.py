"""Pictures of money against confidence, and what all pictures share: the same picture gives the same file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from exml_sim.engine.runner import run
from exml_sim.engine.study import Study
from simulations.figures import money_vs_confidence, style
from tests.bandit.losses import LossPool
from theory.characteristic import least_pulls


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


def test_money_against_confidence_has_its_limit_below_and_the_fixed_budget_beside() -> None:
    rules = [{"name": "successive_elimination", "confidence": level} for level in (0.8, 0.95)]
    study = Study(
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.2, 0.6]}],
        strategies=rules,
        budgets={"absolute": ["4000"]},
        trials=200,
        mode="fixed_confidence",
    )
    with run(study, n_jobs=1) as result:
        ((stem, picture),) = money_vs_confidence.figures(result)
    assert stem == "money_vs_confidence_0"
    lines = {line.get_label(): dict(zip(*line.get_data(), strict=True)) for line in picture.axes[0].lines}
    sure = lines["until confident: SuccessiveElimination"]
    limit = lines["lower bound: characteristic time"]
    assert sorted(sure) == pytest.approx([0.05, 0.2])
    assert limit[0.05] == pytest.approx(least_pulls([0.2, 0.6], 0.05))
    assert all(sure[delta] > limit[delta] for delta in sure)
    assert lines["fixed budget, uniform allocation"][0.05] > lines["fixed budget, uniform allocation"][0.2]


def test_other_modes_are_refused() -> None:
    study = Study(
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.2, 0.6]}],
        strategies=["uniform_allocation"],
        budgets={"absolute": ["8"]},
    )
    with (
        run(study, n_jobs=1) as result,
        pytest.raises(ValueError, match="needs a study in mode 'fixed_confidence', got mode 'monte_carlo'"),
    ):
        next(money_vs_confidence.figures(result))


def test_arms_without_a_family_have_no_limit() -> None:
    assert money_vs_confidence._limit(LossPool.bernoulli([0.2, 0.6], [1, 2]), 0.05) is None
