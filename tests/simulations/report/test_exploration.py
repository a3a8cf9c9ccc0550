"""The page of an exploration, without a browser."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from simulations.report._exploration import MAX_BARS, MAX_SETS, html_of, make_chart, page
from simulations.report._render import join_rounds

ENTRY = {"rows": 27, "interval": [0.1, 0.3], "chosen": False}
FACTS: dict[str, Any] = {
    "layers": [
        {"looks": [], "rounds": []},
        {
            "looks": [
                [
                    {**ENTRY, "candidates": ["low"], "loss": 0.3},
                    {**ENTRY, "candidates": ["high"], "loss": 0.2, "chosen": True},
                ],
                [{**ENTRY, "candidates": ["high"], "loss": 0.1, "chosen": True, "rows": 127}],
            ],
            "rounds": [],
        },
    ],
    "purchases": [{"low": 27, "high": 27}, {"high": 100}],
    "money": [54.0, 254.0],
    "decisions": {
        "the model of the observed columns": 10,
        "the model with ct": 80,
        "hidden": 30,
        "value not bought": 0,
    },
}
REPORT = (
    "# Report\n\nSelected: <b>x</b> \\*.\nWarning: w.\n\n## A \\_\n\n| a | |\n|---|---|\n| 1 | <i> |\n\n- one\n- two\n"
)


def test_the_page_escapes_names_and_fetches_nothing() -> None:
    text = page(REPORT, FACTS, "<t>")
    assert "<b>x</b>" not in text
    assert '<p class="answer">Selected: &lt;b&gt;x&lt;/b&gt; *.</p>' in text
    assert '<p class="notice">w.</p>' in text
    assert "<summary>A _</summary>" in text
    assert "<td>&lt;i&gt;</td>" in text
    assert "<li>one</li>\n<li>two</li>" in text
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)
    assert "default-src &#39;none&#39;" in text
    assert "a &lt; b" in html_of("```\na < b\n```")
    assert "![x](http://example.org) *a* &lt;" in html_of("![x](http://example.org) *a* <")
    assert "<dt>hidden</dt><dd>30 rows (25%)</dd>" in text
    assert "value not bought" not in text


def test_the_chart_shows_scores_against_money() -> None:
    chart, left_out = make_chart(FACTS)
    assert chart is not None
    assert (chart["colours"], left_out) == (["high", "low"], 0)
    high, low = chart["series"]
    assert high["points"] == [[54.0, 0.2, 0.1, 0.3, False], [254.0, 0.1, 0.1, 0.3, False]]
    assert low["points"] == [[54.0, 0.3, 0.1, 0.3, False]]
    assert high["texts"][1] == ["score 0.100 on 127 rows (95% 0.100 to 0.300, approximate)", "best at this point"]
    json.dumps(chart, allow_nan=False)


def test_the_rounds_of_a_strategy_are_drawn_too() -> None:
    rounds = [[{"candidate": "low", "rows": 5, "score": 0.4, "interval": None, "stays": True}]]
    chart, _ = make_chart({**FACTS, "layers": [{"looks": [], "rounds": rounds}]})
    assert chart is not None
    assert chart["series"][0]["points"] == [[54.0, 0.4, None, None, False]]


def test_accuracy_and_rows_to_inspect_appear_when_they_are_known() -> None:
    known: dict[str, Any] = {"accuracy": [[10.0, 0.8, 0.7, 0.9], [20.0, 0.85, 0.75, 0.95]]}
    known["inspect"] = {"columns": ["row", "observed"], "rows": [["line 7", "<b>"]]}
    text = page(REPORT, FACTS | known, "t")
    assert text.count('data-chart="') == 2
    assert "expected accuracy 85.0% (75.0% to 95.0%)" in text
    assert "line 7" in text
    assert "&lt;b&gt;" in text
    assert "Accuracy against money" not in page(REPORT, FACTS, "t")


def test_of_many_candidates_the_best_are_shown() -> None:
    names = [f"c{k}" for k in range(100)]
    analyses = [[{**ENTRY, "candidates": [name], "loss": 0.2 + k / 1000} for k, name in enumerate(names)]]
    analyses[0][60]["chosen"] = True
    facts = {
        **FACTS,
        "layers": [{"looks": analyses, "rounds": []}],
        "purchases": [dict.fromkeys(names, 10), {"c60": 90}],
    }
    chart, left_out = make_chart(facts)
    assert chart is not None
    assert chart["colours"] == ["c60", *(f"c{k}" for k in range(MAX_SETS - 1))]
    assert left_out == 100 - MAX_SETS
    text = page(REPORT, facts, "t")
    assert f"{100 - MAX_BARS} further candidates have fewer rows" in text
    assert text.count("<dt>c") == MAX_BARS


def test_nothing_compared_and_nothing_bought() -> None:
    text = page(REPORT, {**FACTS, "layers": [], "purchases": [], "money": []}, "t")
    assert "Selection over money" not in text
    assert "Rows bought" not in text


@pytest.mark.parametrize(("number", "groups"), [(0, 0), (1, 1), (6, 6), (7, 6), (100, 6)])
def test_rounds_are_joined(number, groups) -> None:
    rounds = [[float(k), 1.0] for k in range(number)]
    joined = join_rounds(rounds)
    assert len(joined) == groups
    assert [sum(column) for column in zip(*joined, strict=True)] == [
        sum(column) for column in zip(*rounds, strict=True)
    ]
