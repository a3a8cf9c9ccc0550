"""The pages in a real browser: what they show, how they answer, and whether everybody can read them."""

from __future__ import annotations

import csv
import math
import struct

import numpy as np
import pytest

from simulations.panels import name_bound
from tests.simulations.report.browser import axe_source
from tests.simulations.report.conftest import BIDI, HOSTILE, LONG
from tests.simulations.report.layout import measure_layout
from theory.claims import all_claims

#: All rules run; what passes is neither described element by element nor sent over, which takes longer than the rules.
AXE = """axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], resultTypes: ['violations']
}).then((result) => result.violations)"""
#: Time to interactive in multiples of an empty page, which takes about 30 ms: the limit is 1 s.
LARGEST_RATIO = 30


def violations(tab) -> list[str]:
    tab.evaluate(axe_source())
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:120]}" for violation in tab.evaluate(AXE)]


def open_details(tab) -> None:
    tab.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


FAST = [
    ("study", 360, "light"),
    ("study", 1400, "dark"),
    ("hostile", 360, "dark"),
    ("few claims", 768, "light"),
    ("exploration", 360, "light"),
    ("comparison", 768, "dark"),
]
NAMES = ("study", "hostile", "exploration", "comparison", "claims", "few claims")
ALL = [(name, width, scheme) for name in NAMES for width in (360, 768, 1400) for scheme in ("light", "dark")]
CASES = [pytest.param(*case, marks=() if case in FAST else pytest.mark.long) for case in ALL]


@pytest.mark.parametrize(("name", "width", "scheme"), CASES)
def test_everybody_can_read_the_page(visit, pages, name, width, scheme) -> None:
    """No violation of axe; no text clipped, overlapping or broken; `visit` fails on errors and requests."""
    tab = visit(pages[name], width=width, scheme=scheme)
    assert measure_layout(tab) == []
    open_details(tab)
    assert measure_layout(tab) == []
    assert violations(tab) == []
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")


def test_planted_errors_are_detected(visit, html) -> None:
    tab = visit(html, width=768)
    tab.evaluate(
        """() => {
        document.querySelector('.controls button').textContent = '';
        document.querySelector('#studied').style.color = '#bbb';
        document.querySelector('.answer').style.width = '3ch';
        document.querySelector('#headline-list li').style.marginBottom = '-3rem';
        document.querySelector('#headline-title').style.marginLeft = '-3rem';
        document.querySelector('#allocation-title').style.whiteSpace = 'nowrap';
        document.querySelector('#allocation-title').style.paddingLeft = '30rem'; }"""
    )
    assert {text.split(":")[0] for text in violations(tab)} == {"button-name", "color-contrast"}
    problems = measure_layout(tab)
    for kind in ("clipped: How much", "clipped: What was bought", "broken word:", "overlap:", "page is"):
        assert any(problem.startswith(kind) for problem in problems), (kind, problems)


def test_answer_and_numbers_without_scripts(browser, pages) -> None:
    for name in ("study", "hostile"):
        context = browser.new_context(java_script_enabled=False)
        tab = context.new_page()
        tab.goto(pages[name].as_uri())
        assert tab.locator(".answer").inner_text().strip()
        assert "JavaScript" in tab.locator("#chart .plot").inner_text()
        assert tab.locator("#needs tbody tr").count() == 2 if name == "study" else 4
        assert not tab.locator(".controls").first.is_visible()
        context.close()


def test_the_page_says_what_its_data_say(visit, html, page) -> None:
    tab = visit(html)
    assert tab.locator("#studied").inner_text() == page["studied"]
    assert tab.locator(".answer").inner_text() == f"{page['headline'][0]} {page['bounds']}"
    assert tab.locator("#headline-list li").all_inner_texts() == page["headline"][1:]
    rows = [row.split("\t") for row in tab.locator("#needs tbody tr").all_inner_texts()]
    assert rows == [[row["strategy"], *row["cells"]] for row in page["needs"]["rows"]]
    rows = [row.split("\t") for row in tab.locator("#verdicts-table tbody tr").all_inner_texts()]
    assert rows == [[row["strategy"], *map(str, row["cells"])] for row in page["verdicts"]["rows"]]
    assert not tab.locator("#findings-list").is_visible()
    open_details(tab)
    assert tab.locator("#findings-list li").all_inner_texts() == page["budgets"] + page["findings"]
    assert page["provenance"]["digest"] in tab.locator("#provenance").inner_text()
    ids = tab.evaluate("[...document.querySelectorAll('main > section')].map((part) => part.id)")
    assert ids == ["headline", "figure", "verdicts", "allocation", "details"]


def test_terms_show_their_meaning(visit, html) -> None:
    tab = visit(html)
    term = tab.locator("button.term", has_text="budgets").first
    meaning = tab.locator(f"#{term.get_attribute('aria-describedby')}")
    assert not meaning.is_visible()
    for show in (term.hover, term.focus, term.click):
        tab.mouse.move(0, 0)
        show()
        assert "money that a strategy may spend" in meaning.inner_text()
        assert meaning.locator("math").count() == 1
        tab.keyboard.press("Escape")


def test_names_are_text_never_markup(visit, hostile_html) -> None:
    tab = visit(hostile_html)
    assert f"{HOSTILE} study" in tab.locator("#title").inner_text()
    tab.locator("#group").select_option(index=1)
    tab.locator("#group").select_option(index=0)
    tab.locator("#chart .mark").first.hover()
    for kind in ("SVG", "CSV", "PNG"):
        with tab.expect_download():
            tab.locator(".controls button", has_text=kind).click()
    text = tab.locator("body").text_content()
    assert f"{HOSTILE} arm" in text
    assert LONG in text
    assert not set(BIDI) & set(tab.content())
    assert tab.evaluate("typeof window.pwned") == "undefined"
    assert tab.locator("img").count() == 0
    assert tab.evaluate("[...document.scripts].filter((s) => s.textContent.startsWith('window.pwned')).length") == 0


def test_the_policy_stops_foreign_scripts(browser, html) -> None:
    """Even if a text became markup: a script without the hash of ours does not run."""
    tab = browser.new_page()
    tab.goto(html.as_uri())
    tab.evaluate(
        "() => { const script = document.createElement('script'); script.textContent = 'window.pwned = 1';"
        " document.body.append(script); }"
    )
    assert tab.evaluate("typeof window.pwned") == "undefined"
    tab.close()


def test_points_tell_exact_numbers_by_keyboard_and_pointer(visit, html, page) -> None:
    tab = visit(html)
    series = page["groups"][0]["chart"]["series"]
    observed = [entry for entry in series if entry["dash"] == 0]
    marks = tab.locator("#chart .mark[tabindex]")
    assert marks.count() == sum(len(entry["points"]) for entry in observed)
    marks.first.focus()
    for point, texts in zip(observed[0]["points"], observed[0]["texts"], strict=True):
        lines = tab.locator(".tip p").all_inner_texts()
        assert lines == [f"uniform allocation, budget {point[0]:,.0f}", *texts]
        assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "; ".join(lines)
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Home")
    assert "budget 24" in tab.locator(".tip").inner_text()
    tab.keyboard.press("Escape")
    assert not tab.locator(".tip").is_visible()
    marks.nth(1).hover()
    assert "budget 128" in tab.locator(".tip").inner_text()


def test_marks_and_curves_are_at_their_values(visit, html, page) -> None:
    """The slow path: positions by linear interpolation of logarithms between the ends of the axes."""
    tab = visit(html)
    chart = page["groups"][0]["chart"]
    box = tab.evaluate(
        "(({width, height}) => [width.baseVal.value, height.baseVal.value])(document.querySelector('#chart svg.chart'))"
    )
    ends = [(58.0, box[0] - 14.0), (box[1] - 44.0, 10.0)]

    def locate(point):
        return [
            np.interp(math.log10(value), np.log10(chart[axis]["ends"]), end)
            for value, axis, end in zip(point, "xy", ends, strict=False)
        ]

    moved = "all => all.map((mark) => mark.getAttribute('transform').match(/[\\d.]+/g).map(Number))"
    observed = [point for series in chart["series"] if series["dash"] == 0 for point in series["points"]]
    for place, point in zip(tab.locator("#chart .plot .mark").evaluate_all(moved), observed, strict=True):
        assert place == pytest.approx(locate(point), abs=1e-6)
    drawn = tab.locator("#chart .plot .curve").evaluate_all("all => all.map((path) => path.getAttribute('d'))")
    assert len(drawn) == len(chart["series"]) == 10
    for path, series in zip(drawn, chart["series"], strict=True):
        inside = [point for point in series["points"] if not point[4] and point[1] >= chart["y"]["ends"][0]]
        corners = [tuple(map(float, corner.split(","))) for corner in path[1:].split("L")]
        assert inside
        for corner, point in zip(corners, inside, strict=False):
            assert corner == pytest.approx(locate(point), abs=0.06)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        ({"log": True, "ends": [1e-4, 1.2]}, [1e-4, 1e-3, 1e-2, 0.1, 1]),
        ({"log": True, "ends": [16, 100]}, [20, 50, 100]),
        ({"log": True, "ends": [57.6, 71.1]}, [60, 65, 70]),
        ({"log": False, "ends": [0, 1]}, [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ],
)
def test_ticks_are_round(visit, html, axis, ticks) -> None:
    assert visit(html).evaluate("(axis) => exml.chart.listTicks(axis, 6)", axis) == pytest.approx(ticks)


def test_legend_axis_and_zoom(visit, html) -> None:
    tab = visit(html)
    drawn = tab.locator("#chart .plot .curve")
    everything = drawn.count()
    name = name_bound("tighter")
    entry = tab.locator(".legend button", has_text=name)
    entry.hover()
    assert tab.locator("#chart g.dim").count() == everything - 2
    entry.click()
    assert drawn.count() == everything - 2
    assert entry.get_attribute("aria-pressed") == "false"
    entry.click()
    tab.locator(".controls button", has_text="Bounds").click()
    assert drawn.count() == 2
    tab.locator(".controls button", has_text="Bounds").click()
    assert drawn.count() == everything
    before = drawn.first.get_attribute("d")
    for button in ("Zoom in", "Linear axis"):
        tab.locator(".controls button", has_text=button).click()
        assert drawn.first.get_attribute("d") != before
    tab.locator(".controls button", has_text="Linear axis").click()
    tab.locator(".controls button", has_text="Reset").click()
    assert drawn.first.get_attribute("d") == before
    tab.locator("#chart svg.chart").scroll_into_view_if_needed()
    box = tab.locator("#chart svg.chart").bounding_box()
    tab.mouse.move(box["x"] + 200, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 500, box["y"] + 260)
    tab.mouse.up()
    assert drawn.first.get_attribute("d") != before
    assert measure_layout(tab) == []


def test_downloads(visit, html, page, tmp_path) -> None:
    tab = visit(html)
    files = {}
    for kind in ("CSV", "SVG", "PNG"):
        with tab.expect_download() as download:
            tab.locator(".controls button", has_text=kind).click()
        files[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[kind])
    rows = list(csv.DictReader(files["CSV"].read_text(encoding="utf-8").splitlines()))
    points = [point for series in page["groups"][0]["chart"]["series"] for point in series["points"]]
    assert [(float(row["x"]), float(row["y"])) for row in rows] == [(point[0], point[1]) for point in points]
    assert "<svg" in files["SVG"].read_text(encoding="utf-8")
    assert "rgb(" in files["SVG"].read_text(encoding="utf-8")
    width, height = struct.unpack(">II", files["PNG"].read_bytes()[16:24])
    assert width > 1500
    assert height > 600


def test_allocation_shows_mean_pulls_by_round(visit, html, page) -> None:
    tab = visit(html)
    data = page["groups"][0]["allocation"]
    median = data["strategies"][1]
    assert len(median["rounds"]) == 3
    bars = tab.locator(".allocation > div").nth(1).locator("dd")
    for arm in (0, 7):
        widths = (
            bars.nth(arm).locator("rect").evaluate_all("all => all.map((bar) => parseFloat(bar.getAttribute('width')))")
        )
        assert widths == pytest.approx([100 * pulls[arm] / data["largest"] for pulls in median["rounds"]], abs=0.006)
        assert float(bars.nth(arm).inner_text()) == pytest.approx(median["total"][arm], abs=0.051)


def test_print_opens_the_tables_and_hides_the_controls(visit, html) -> None:
    tab = visit(html, scheme="dark")
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("#cells table").is_visible()
    assert not tab.locator(".controls").first.is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not tab.locator("#cells table").is_visible()
    assert len(tab.pdf(format="A4")) > 20_000


@pytest.mark.long
def test_time_to_interactive(browser, pages, tmp_path) -> None:
    """As a ratio to an empty page, so that a busy machine does not matter much."""
    empty = tmp_path / "empty.html"
    empty.write_text(
        "<!doctype html><title>empty</title><p>empty</p><script>document.documentElement.dataset.ready = ''</script>"
    )

    def measure(file) -> float:
        tab = browser.new_page()
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.goto(file.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached")
        metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
        tab.close()
        return metrics["TaskDuration"]

    base = sorted(measure(empty) for _ in range(3))[1]
    for name in ("study", "exploration", "comparison", "claims"):
        seconds = measure(pages[name])
        print(f"{name}: {seconds:.3f} s of processor time until interactive, {seconds / base:.1f} empty pages")
        assert seconds < LARGEST_RATIO * base, name


def test_tables_can_be_sorted_and_saved(visit, pages, tmp_path) -> None:
    tab = visit(pages["comparison"])
    open_details(tab)
    body = tab.locator("#cells tbody tr")
    column = "all => all.map((row) => row.cells[2].textContent)"
    head = tab.locator("#cells thead button", has_text="budget")
    head.click()
    budgets = [float(text.replace(",", "")) for text in body.evaluate_all(column)]
    assert budgets == sorted(budgets)
    assert len(budgets) == 16
    head.click()
    assert [float(text.replace(",", "")) for text in body.evaluate_all(column)] == budgets[::-1]
    assert tab.locator("#cells th[aria-sort=descending]").count() == 1
    with tab.expect_download() as download:
        tab.locator("[aria-label='Save as CSV: cells']").click()
    download.value.save_as(tmp_path / "cells.csv")
    rows = list(csv.reader((tmp_path / "cells.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 17
    assert rows[0][:3] == ["pool", "strategy", "budget"]


def test_claims_can_be_filtered(visit, pages) -> None:
    tab = visit(pages["claims"])
    total = tab.locator(".claim").count()
    assert tab.locator("#shown").inner_text() == f"{total} of {total} claims"
    assert tab.locator(".claim math").count() > total
    tab.locator("select[name=matters]").select_option("conclusion")
    assert tab.locator(".claim:visible").count() == sum(claim.matters == "conclusion" for claim in all_claims())
    tab.locator("select[name=matters]").select_option("")
    tab.locator("input[name=verdict][value=holds]").uncheck()
    assert not tab.locator(".claim[data-verdict=holds]").first.is_visible()
    tab.locator("input[name=text]").fill("lemma-1-i")
    shown = tab.locator(".claim:visible")
    assert 0 < shown.count() < 10
    article = tab.locator("#lemma-1-i")
    article.locator("summary").click()
    assert "exml claims lemma-1-i" in article.inner_text()
