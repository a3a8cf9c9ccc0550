"""The page in a real browser: what it shows, how it answers, whom it shuts out."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from simulations.panels import TARGET
from tests.simulations.report.browser import axe_source
from tests.simulations.report.conftest import HOSTILE, write
from theory import BoundProblem, tighter
from theory.budgets import required_budget
from theory.constants import gap_ceiling
from theory.versions import VERSIONS

#: All rules run; what passes is neither described element by element nor sent over, which takes longer than the rules.
AXE = """axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], resultTypes: ['violations']
}).then((found) => found.violations)"""


def violations(tab) -> list[str]:
    return [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in tab.evaluate(AXE)]


def open_details(tab) -> None:
    tab.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(visit, html, scheme, width) -> None:
    tab = visit(html, width=width, scheme=scheme)
    open_details(tab)
    tab.locator("#chart .mark").first.focus()
    tab.evaluate(axe_source())
    assert violations(tab) == []
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")


def test_the_accessibility_check_can_fail(visit, html) -> None:
    tab = visit(html)
    tab.evaluate(axe_source())
    open_details(tab)
    tab.evaluate("document.querySelector('label[for=allocation-budget]').remove()")
    tab.evaluate("document.querySelector('.lead').style.color = '#bbb'")
    assert {text.split(":")[0] for text in violations(tab)} == {"select-name", "color-contrast"}


def test_headline_findings_and_settings_are_there(visit, html, page) -> None:
    tab = visit(html)
    assert tab.locator("#studied").inner_text() == page["studied"]
    assert tab.locator("#headline-list li").all_inner_texts() == page["headline"] + page["budgets"]
    rows = tab.locator("#verdicts-table tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == [f"{row['bound']}, {row['strategy']}" for row in page["verdicts"]]
    assert not tab.locator("#findings-list").is_visible()
    open_details(tab)
    assert tab.locator("#findings-list li").all_inner_texts() == page["findings"]
    assert tab.locator("#settings-list dt").count() == len(page["settings"])
    assert page["provenance"]["digest"] in tab.locator("#provenance").inner_text()
    assert tab.locator("#chart .curve").count() == len(VERSIONS)


def test_names_are_text_never_markup(visit, hostile_html) -> None:
    tab = visit(hostile_html)
    assert f"{HOSTILE} study" in tab.locator("#title").inner_text()
    tab.locator("#group").select_option(index=1)
    tab.locator("#group").select_option(index=0)
    tab.locator("#chart .mark").first.hover()
    assert f"{HOSTILE} pool" in tab.locator("#chart-name").inner_text()
    assert any(f"{HOSTILE} arm" == text for text in tab.locator("#allocation-chart title").all_text_contents())
    assert f"{HOSTILE} arm" in tab.locator("#allocation-table").text_content()
    assert tab.evaluate("typeof window.pwned") == "undefined"
    assert tab.locator("img:not(#facets-picture)").count() == 0
    assert tab.evaluate("[...document.scripts].filter(one => one.textContent.startsWith('window.pwned')).length") == 0


def test_the_policy_stops_foreign_scripts(browser, html) -> None:
    """Even if a text became markup: a script without the hash of ours does not run."""
    tab = browser.new_page()
    tab.goto(html.as_uri())
    tab.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.pwned = 1';"
        " document.body.append(one); }"
    )
    assert tab.evaluate("typeof window.pwned") == "undefined"
    tab.close()


def test_a_pool_without_bounds_says_why(visit, hostile_html) -> None:
    tab = visit(hostile_html)
    assert "known distributions" in tab.locator("#reason").inner_text()
    assert not tab.locator("#sliders").is_visible()
    assert tab.locator("#chart .curve").count() == 0
    assert tab.locator("#chart .mark").count() == 2


def test_points_tell_exact_numbers_by_keyboard_and_pointer(visit, html, page) -> None:
    tab = visit(html)
    cells = page["groups"][0]["panels"][0]["cells"]
    marks = tab.locator("#chart .mark")
    assert marks.count() == len(cells)
    marks.first.focus()
    for cell in cells:
        told = tab.locator("#tip").inner_text()
        assert f"budget: {cell['budget']:,.0f}" in told
        if cell["failures"]:
            assert f"{cell['failures']:,} of {cell['trials']:,} trials" in told
        else:
            assert "no failure in 400 trials" in told
        focused = tab.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused.startswith(f"budget {cell['budget']:,.0f};")
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Home")
    assert "budget: 24" in tab.locator("#tip").inner_text()
    tab.keyboard.press("Escape")
    assert not tab.locator("#tip").is_visible()
    marks.nth(1).hover()
    assert "budget: 128" in tab.locator("#tip").inner_text()


def test_toggles_and_axis(visit, html) -> None:
    tab = visit(html)
    for name in ("tighter", "corrected", "paper"):
        assert tab.locator(f"#chart .curve.{name}").count() == 1
        tab.locator(f"#show-{name}").uncheck()
        assert tab.locator(f"#chart .curve.{name}").count() == 0
        tab.locator(f"#show-{name}").check()
    tab.locator("#show-observed").uncheck()
    assert tab.locator("#chart .mark").count() == 0
    tab.locator("#show-observed").check()
    before = tab.locator("#chart .curve.tighter").get_attribute("d")
    tab.locator("input[name=scale][value=linear]").check()
    assert tab.locator("#chart .curve.tighter").get_attribute("d") != before
    assert "100%" in tab.locator("#chart").text_content()


#: In the table of needed budgets practice comes first, then the sharpest version.
ROW_OF_TIGHTER = 1 + list(VERSIONS)[::-1].index("tighter")


def asked(tab, row: int) -> int:
    """The budget that a bound asks for, in the live table."""
    text = tab.locator("#needs tbody tr").nth(row).locator("td").first.inner_text()
    return int(text.replace(",", ""))


def asked_about(own: dict[str, Any]) -> tuple[Any, BoundProblem]:
    """Strategy and point that a panel of the page is about."""
    fields = [one.name for one in dataclasses.fields(BoundProblem) if one.name in own]
    return own["strategy"], BoundProblem(**{name: own[name] for name in fields})


def test_sliders_move_the_bounds_live(visit, html, page) -> None:
    tab = visit(html)
    own = page["groups"][0]["panels"][0]["bounds"]
    kind, point = asked_about(own)
    for row, level in enumerate(("tighter", "corrected", "paper"), start=ROW_OF_TIGHTER):
        assert asked(tab, row) == point.required(level, kind, TARGET)
    before = tab.locator("#chart .curve.paper").get_attribute("d")
    tab.locator("#slider-theta").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#value-theta").inner_text() == "0.11"
    assert tab.locator("#chart .curve.paper").get_attribute("d") != before
    parameters = {"K": 8, "theta": 0.11, "kappa_lambda": own["kappa_lambda"], "kernel": own["kernel"]}
    wanted = required_budget(tighter.delta_fail_uniform, TARGET, gap=None, gaps=own["gaps"], **parameters)
    assert asked(tab, ROW_OF_TIGHTER) == wanted
    # Another K: the pool's own gaps mean nothing any more, and all gaps are equal.
    tab.locator("#slider-K").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#value-K").inner_text() == "9"
    wanted = required_budget(tighter.delta_fail_uniform, TARGET, gap=own["gap"], **(parameters | {"K": 9}))
    assert asked(tab, ROW_OF_TIGHTER) == wanted
    assert "8 other candidates" in tab.locator("#status").inner_text()
    # A gap that no population has.
    tab.locator("#slider-gap").focus()
    tab.keyboard.press("End")
    assert "No population has gaps this large" in tab.locator("#status").inner_text()
    assert tab.locator("#chart .curve").count() == 0
    tab.locator("#reset").click()
    assert asked(tab, ROW_OF_TIGHTER) == point.required("tighter", kind, TARGET)
    assert tab.locator("#chart .curve.paper").get_attribute("d") == before


def test_a_radius_that_only_the_smallest_gap_allows(visit, html, page) -> None:
    """No population has the pool's largest gap then: page and `BoundProblem` agree that no bound applies."""
    tab = visit(html)
    own = page["groups"][0]["panels"][0]["bounds"]
    radius = 0.06
    assert own["gap"] < gap_ceiling(own["theta"], radius) < max(own["gaps"])
    kind, point = asked_about(own | {"kappa_lambda": radius})
    tab.evaluate(
        """([radius]) => {
            const slider = document.getElementById("slider-r");
            slider.step = "any";
            slider.value = Math.log(radius / 0.01) / Math.log(1000);
            slider.dispatchEvent(new Event("input"));
        }""",
        [radius],
    )
    status = tab.locator("#status").inner_text()
    assert f"the largest gap of this pool is {max(own['gaps']):.3g}" in status
    assert "at most 0.06" in status
    assert tab.locator("#chart .curve").count() == tab.locator("#chart .launch").count() == 0
    for row, level in enumerate(("tighter", "corrected", "paper"), start=ROW_OF_TIGHTER):
        cells = tab.locator("#needs tbody tr").nth(row).locator("td").all_inner_texts()
        assert [cells[0], *cells[2:]] == ["never"] * 3
        assert (
            point.required(level, kind, TARGET),
            point.informative(level, kind),
            point.launch_budget(level, kind),
        ) == (
            None,
            None,
            None,
        )


def test_another_strategy(visit, html, page) -> None:
    tab = visit(html)
    tab.locator("#strategy-choice label", has_text="median elimination").click()
    own = page["groups"][0]["panels"][1]["bounds"]
    kind, point = asked_about(own)
    for row, level in enumerate(("tighter", "corrected", "paper"), start=ROW_OF_TIGHTER):
        assert asked(tab, row) == point.required(level, kind, TARGET)


def test_allocation_shows_mean_pulls(visit, html, page) -> None:
    tab = visit(html)
    open_details(tab)
    tab.locator("#allocation-budget").select_option("128")
    group = page["groups"][0]
    cell = next(one for one in group["panels"][1]["cells"] if one["budget"] == 128)
    bars = tab.locator("#allocation-chart rect")
    assert bars.count() == 2 * len(group["arms"])
    widths = [float(bars.nth(2 * i + 1).get_attribute("width")) for i in range(len(group["arms"]))]
    scale = widths[-1] / cell["pulls"][-1]
    assert widths == pytest.approx([scale * pulls for pulls in cell["pulls"]])
    assert sum(cell["pulls"]) <= 128
    ticks = tab.locator("#allocation-chart .axis text").all_text_contents()
    assert len(ticks) > 2
    assert all(float(tick.replace(",", "")) >= 0 and "e" not in tick for tick in ticks)


def test_a_phone_needs_no_sideways_scrolling(visit, html) -> None:
    tab = visit(html, width=390, height=844)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    small = tab.evaluate(
        "[...document.querySelectorAll('select, button, input[type=search]')]"
        ".filter(one => one.offsetHeight && one.offsetHeight < 32).length"
    )
    assert small == 0


def test_print_opens_the_tables_and_hides_the_controls(visit, html) -> None:
    tab = visit(html, scheme="dark")
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("#cells").is_visible()
    assert not tab.locator("#sliders").is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not tab.locator("#cells").is_visible()
    assert len(tab.pdf(format="A4")) > 20_000


@pytest.mark.parametrize("width", [1280, 1024, 390])
def test_sliders_of_a_line_are_at_one_height(visit, html, width) -> None:
    tab = visit(html, width=width)
    labels = tab.locator(".slider label").evaluate_all(
        "all => all.map(one => [one.getBoundingClientRect().height, one.scrollWidth - one.clientWidth])"
    )
    heights = [height for height, _ in labels]
    assert heights == [heights[0]] * 4
    assert all(overflow <= 0 for _, overflow in labels)
    if width == 1280:
        tops = tab.locator(".slider input").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
        assert tops == [tops[0]] * 4


def test_few_budgets_have_several_ticks(visit, hostile_html) -> None:
    """Budgets from 20 to 80: a single power of ten is no axis."""
    axis = visit(hostile_html).locator("#chart .axis").first
    assert axis.locator("text").all_text_contents() == ["20", "50", "100"]


def test_a_version_without_a_formula_is_drawn_from_its_points(visit, page, tmp_path) -> None:
    """Its points are made up here; they stay where they are when the sliders move, so they are not drawn then."""
    own = page["groups"][0]["panels"][0]["bounds"]
    kind, point = asked_about(own)
    start = point.informative("tighter", kind)
    budgets = [start * step // 10 for step in range(10, 60)]
    curve = {"launch": start - 9, "informative": start, "target": 2 * start, "budgets": budgets}
    curve["logs"] = [-float(i + 1) for i in range(len(budgets))]
    changed = json.loads(json.dumps(page))
    changed["versions"].insert(0, {"name": "newest", "title": "newest bound"})
    changed["groups"][0]["panels"][0]["bounds"]["versions"].insert(0, "newest")
    changed["groups"][0]["panels"][0]["bounds"]["curves"]["newest"] = curve
    tab = visit(write(changed, tmp_path / "report.html"))
    assert asked(tab, 1) == 2 * start
    assert asked(tab, ROW_OF_TIGHTER + 1) == point.required("tighter", kind, TARGET)
    drawn = tab.locator("#chart .curve[data-level=newest]")
    assert drawn.count() == 1
    value = "([version, B]) => exml.explorer.view().logBound(version, B)"
    assert tab.evaluate(value, ["newest", budgets[3]]) == -4.0
    assert tab.evaluate(value, ["newest", budgets[4] - 1]) == -4.0  # the point before: bounds fall with the budget
    assert tab.evaluate(value, ["newest", start - 1]) == 0.0
    for silent in (start - 10, budgets[-1] + 1):
        assert tab.evaluate(f"() => Number.isNaN(exml.explorer.view().logBound('newest', {silent}))")
    tab.locator("#slider-theta").focus()
    tab.keyboard.press("ArrowRight")
    assert drawn.count() == 0
    tab.locator("#reset").click()
    assert drawn.count() == 1
    # Median elimination has no such curve.
    tab.locator("#strategy-choice label", has_text="median elimination").click()
    assert drawn.count() == 0
    assert asked(tab, ROW_OF_TIGHTER) == asked_about(changed["groups"][0]["panels"][1]["bounds"])[1].required(
        "tighter", "median", TARGET
    )


@pytest.mark.parametrize("width", [420, 1280])
def test_no_label_of_the_chart_is_clipped_or_touches_another(visit, page, tmp_path, width) -> None:
    """The smallest probability has the longest label; titles stand apart from the labels of their axis."""
    changed = json.loads(json.dumps(page))
    for panel in changed["groups"][0]["panels"]:
        panel["cells"][0]["rate"] = 1.6e-9
    boxes = visit(write(changed, tmp_path / "report.html"), width=width).evaluate(
        """() => { const svg = document.querySelector("#chart"), all = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].map((text) => { const box = text.getBoundingClientRect();
          return [text.textContent, box.left - all.left, box.right - all.left, box.top - all.top,
                  box.bottom - all.top, all.width, all.height]; }); }"""
    )
    assert any(text == "1e-9" for text, *_ in boxes)
    for text, left, right, top, bottom, wide, high in boxes:
        assert left >= 0, text
        assert top >= 0, text
        assert right <= wide, text
        assert bottom <= high, text
    for i, (one, left, right, top, bottom, *_) in enumerate(boxes):
        for other, left_2, right_2, top_2, bottom_2, *_ in boxes[i + 1 :]:
            apart = max(left_2 - right, left - right_2, top_2 - bottom, top - bottom_2)
            assert apart >= 2, (one, other)
