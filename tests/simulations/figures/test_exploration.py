"""Pictures of one's own exploration, and of money against confidence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from exml_sim.engine.runner import run
from exml_sim.engine.study import Study
from simulations.figures import exploration, money_vs_confidence, style
from simulations.report._exploration import html_of, page
from tests.bandit.losses import LossPool
from theory.characteristic import least_pulls

LOOK = {"rows": 27, "interval": [0.1, 0.3], "chosen": False}
FACTS = {
    "layers": [
        {
            "looks": [
                [
                    {**LOOK, "candidates": ["low"], "loss": 0.3},
                    {**LOOK, "candidates": ["high"], "loss": 0.2, "chosen": True},
                ]
            ],
            "rounds": [],
            "statement": {"comparisons": [{"name": "low", "excluded": True}]},
        }
    ],
    "purchases": [{"low": 27, "high": 27}, {"high": 100}],
    "decisions": {"layer 1": 10, "layer 2": 80, "hidden": 30, "value not bought": 5},
    "spent": "59.4",
    "budget": "60",
}


def test_the_picture_shows_scores_purchases_and_decisions(tmp_path: Path) -> None:
    picture = exploration.figure(FACTS)
    scores, bought, decided = picture.axes
    assert [text.get_text() for text in scores.get_yticklabels()] == [
        "1: high, 27 rows (chosen)",
        "1: low, 27 rows (excluded)",
    ]
    assert [bar.get_width() for bar in bought.patches] == [27, 27, 0, 100]
    assert [bar.get_height() for bar in decided.patches] == [10, 80, 30, 5]
    hollow = [line for line in scores.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata()[0] for line in hollow] == [0.3]
    files = style.save(picture, tmp_path / "exploration")
    assert [file.suffix for file in files] == [".png", ".svg"]
    assert "low, 27 rows (excluded)" in files[1].read_text(encoding="utf-8")


def nudged(picture: Figure) -> Figure:
    """The same picture in a process whose layout comes out differently in the last bit."""
    engine = picture.get_layout_engine()
    assert engine is not None
    place = engine.execute

    def execute(fig: Figure) -> None:
        place(fig)
        for axes in fig.axes:
            axes.set_position([np.nextafter(one, 1.0) for one in axes.get_position().bounds])

    engine.execute = execute  # type: ignore[method-assign]
    return picture


def test_the_same_picture_gives_the_same_bytes_whatever_the_last_bit_of_its_layout(tmp_path: Path) -> None:
    first = style.save(exploration.figure(FACTS), tmp_path / "first")
    second = style.save(nudged(exploration.figure(FACTS)), tmp_path / "second")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


DRAW = """
import sys, json
from pathlib import Path
from simulations.figures import exploration, style
style.save(exploration.figure(json.loads(sys.stdin.read())), Path(sys.argv[1]))
"""


def test_two_processes_draw_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        subprocess.run(
            [sys.executable, "-c", DRAW, str(tmp_path / name)], input=json.dumps(FACTS), text=True, check=True
        )
    for kind in ("png", "svg"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


def test_of_many_candidates_the_foremost_have_a_line_each_and_the_others_share_one() -> None:
    names = [f"c{k}" for k in range(100)]
    looks = [[{**LOOK, "candidates": [name], "loss": 0.2 + k / 1000} for k, name in enumerate(names)]]
    looks[0][60]["chosen"] = True
    layer = {"looks": looks, "rounds": [], "statement": None}
    bought = [dict.fromkeys(names, 10), {"c60": 90, "c7": 5}]
    picture = exploration.figure({**FACTS, "layers": [layer], "purchases": bought})
    scores, rows, _ = picture.axes
    labels = [text.get_text() for text in scores.get_yticklabels()]
    assert len(labels) == exploration.MOST + 1
    assert labels[-2:] == ["1: c60, 27 rows (chosen)", f"1: scores of {100 - exploration.MOST} others"]
    # The shared line reaches from the best to the worst of the others.
    assert list(scores.lines[-1].get_xdata()) == pytest.approx([0.2 + (exploration.MOST - 1) / 1000, 0.299])
    lines = [text.get_text() for text in rows.get_yticklabels()]
    # Those that got no more than most of them share a line: their mean.
    assert lines == ["c7", "c60", "mean of 98 others"]
    assert [bar.get_width() for bar in rows.patches] == [10, 10, 10, 5, 90, 0]
    assert picture.get_size_inches()[1] < 9


def test_of_many_candidates_with_many_rows_each_the_largest_have_a_bar() -> None:
    bought = [{f"c{k}": 1 + k for k in range(100)}]
    rows = exploration.figure({**FACTS, "purchases": bought}).axes[1]
    lines = [text.get_text() for text in rows.get_yticklabels()]
    assert lines == [*(f"c{k}" for k in range(100 - exploration.MOST, 100)), f"mean of {100 - exploration.MOST} others"]
    assert rows.patches[-1].get_width() == pytest.approx((1 + 100 - exploration.MOST) / 2)


def test_candidates_of_which_most_got_the_most_are_not_drawn_as_their_mean() -> None:
    names = [f"c{k}" for k in range(26)]
    rows = exploration.figure({**FACTS, "purchases": [dict.fromkeys(names, 10), dict.fromkeys(names[:14], 50)]}).axes[1]
    lines = [text.get_text() for text in rows.get_yticklabels()]
    assert set(names[:14]) < set(lines)
    assert len(lines) == exploration.MOST + 1


def test_a_set_never_looks_like_one_candidate() -> None:
    names = [f"a very long name of a measurement, number {k}" for k in (1, 31, 32, 33, 34)]
    sets = [names[1:2], names[:2], names[:3], names]
    looks = [[{**LOOK, "candidates": some, "loss": 0.1 * k} for k, some in enumerate(sets)]]
    scores = exploration.figure({**FACTS, "layers": [{"looks": looks, "rounds": [], "statement": None}]}).axes[0]
    labels = [text.get_text() for text in scores.get_yticklabels()]
    assert len(set(labels)) == 4
    assert [label.count(" + ") for label in labels] == [0, 1, 2, 0]
    assert "5 candidates together" in labels[3]
    assert max(map(len, labels)) < 60


def test_nothing_compared_and_nothing_bought_are_words() -> None:
    empty = {**FACTS, "layers": [], "purchases": []}
    words = [text.get_text() for ax in exploration.figure(empty).axes for text in ax.texts]
    assert {"nothing was compared", "nothing was bought"} <= set(words)


def test_the_page_escapes_names_and_fetches_nothing() -> None:
    text = page(
        "# Report\n\nSelected: <b>x</b>.\n\n| a | b |\n|---|---|\n| 1 | <i> |\n\n- one\n- two\n", "<svg/>", "<t>"
    )
    assert "<b>x</b>" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<td>&lt;i&gt;</td>" in text
    assert "<li>one</li>\n<li>two</li>" in text
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)
    assert "default-src &#39;none&#39;" in text
    assert "a &lt; b" in html_of("```\na < b\n```")
    assert "![x](http://example.org) *a* <" not in html_of("![x](http://example.org) *a* <")
    assert "![x](http://example.org) *a* &lt;" in html_of("![x](http://example.org) *a* <")


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
