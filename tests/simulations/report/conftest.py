"""Pages of small studies, and one browser for all tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exml_sim.engine import Study, StudyResult, run
from simulations import budget_vs_failure
from simulations.report._comparison import make_comparison, render_comparison
from simulations.report._exploration import page as render_exploration
from simulations.report._page import make_page
from simulations.report._render import render
from simulations.report.claims import render_claims
from tests.simulations.report.browser import chromium
from tests.simulations.report.test_exploration import FACTS, REPORT
from theory.claims import all_claims

#: Marks that reorder the text around them.
BIDI = "\u202e\u2066"
LONG = "x" * 500
HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Path:
    """The main study, small."""
    path = tmp_path_factory.mktemp("report") / "study.sqlite"
    budgets = (24, 128, 1024, 49_152)
    run(budget_vs_failure.make_study(400, budgets=budgets), store=path, n_jobs=2, progress=False).close()
    return path


@pytest.fixture(scope="session")
def page(store) -> dict[str, Any]:
    """Its page's data."""
    with StudyResult.open(store) as result:
        return make_page(result)


@pytest.fixture(scope="session")
def html(page, tmp_path_factory) -> Path:
    """Its page."""
    return write(page, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="session")
def hostile_html(tmp_path_factory) -> Path:
    """A page on which everything that a user can name is named like markup."""
    folder = tmp_path_factory.mktemp("hostile")
    store = folder / "study.sqlite"
    study = Study(
        name=f"{HOSTILE} study",
        pools=[
            {"kind": "parametric", "direction": "minimise", "means": [0.3, 0.6], "label": f"{HOSTILE} pool"},
            {
                "kind": "parametric",
                "direction": "minimise",
                "means": [0.2, 0.3, 0.6],
                "label": "</style></script><script>window.pwned = 3</script>",
            },
        ],
        strategies=["ocba", "top_two"],
        budgets={"per_arm": [10, 40]},
        trials=50,
    )
    run(study, store=store, n_jobs=1, progress=False).close()
    with StudyResult.open(store) as result:
        page = make_page(result)
    # Known arms get their names from the program; a name from a user's table would arrive here.
    page["groups"][0]["arms"]["names"][0] = f"{HOSTILE} arm"
    page["groups"][1]["arms"]["names"][1] = page["groups"][1]["place"] = f"{BIDI}{LONG}"
    page["needs"]["rows"][-1]["place"] = page["groups"][1]["chart"]["colours"][1] = f"{LONG}{BIDI}"
    return write(page, folder / "report.html")


@pytest.fixture(scope="session")
def pages(html, store, hostile_html, tmp_path_factory) -> dict[str, Path]:
    """All kinds of pages by name."""
    files = {"study": html, "hostile": hostile_html}
    folder = tmp_path_factory.mktemp("pages")
    files["exploration"] = folder / "exploration.html"
    files["exploration"].write_text(render_exploration(REPORT, hostile_facts(), f"{HOSTILE} table"), encoding="utf-8")
    with (
        StudyResult.open(store) as first,
        run(replace(first.study, seed=1, trials=100), n_jobs=1, progress=False) as second,
    ):
        files["comparison"] = folder / "comparison.html"
        files["comparison"].write_text(render_comparison(make_comparison([first, second])), encoding="utf-8")
    for name, claims in (("claims", all_claims()), ("few claims", all_claims()[::12])):
        files[name] = tmp_path_factory.mktemp("claims") / "claims.html"
        files[name].write_text(render_claims(claims), encoding="utf-8")
    return files


def hostile_facts() -> dict[str, Any]:
    """An exploration with hostile names."""
    facts = json.loads(json.dumps(FACTS).replace("low", LONG))
    facts["layers"][1]["looks"][0][0]["candidates"] = [HOSTILE, "b"]
    return facts


def write(page: dict[str, Any], file: Path) -> Path:
    file.write_text(render(page), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Any]]:
    """Open a page; afterwards nothing must have gone wrong on it and nothing been fetched."""
    tabs, troubles = [], []

    def go(file: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        tab.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        tab.on("console", lambda message: troubles.append(f"console: {message.text}"))
        tab.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: troubles.append(request.url) if request.url != file.as_uri() else None)
        tab.goto(file.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)
        tabs.append(tab)
        return tab

    yield go
    for tab in tabs:
        tab.close()
    assert troubles == []
