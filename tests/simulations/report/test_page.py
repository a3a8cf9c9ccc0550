"""The page's data and its file, without a browser."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys

import pytest

from exml_sim.engine import Store, StudyResult, run
from simulations.panels import name_bound
from simulations.report._comparison import make_comparison
from simulations.report._page import make_page
from simulations.report._render import TermMarker, embed, read_glossary, render, typeset_text, write_symbols
from tests.engine.studies import known
from theory.claims import all_claims
from theory.versions import VERSIONS
from tools import glossary


@pytest.mark.parametrize("text", ["</script>", "<!--", "a & b", "\u2028", "]]>", '"\\'])
def test_no_text_can_end_the_data(text) -> None:
    embedded = embed({text: [text]})
    assert not {"<", ">", "&", "\u2028"} & set(embedded)
    assert json.loads(embedded) == {text: [text]}
    with pytest.raises(ValueError, match="JSON compliant"):
        embed(math.nan)


def test_the_file_is_one_and_the_same(page, html) -> None:
    text = html.read_text(encoding="utf-8")
    assert render(page) == text
    assert len(text.encode()) < 600_000
    assert "http-equiv" in text
    for link in ("src=", "<link", "@import", "url(", "//cdn"):
        assert link not in text


def test_the_glossary_of_the_pages_is_the_documents() -> None:
    assert glossary.ASSET.read_text(encoding="utf-8") == glossary.write_asset()
    assert len(read_glossary()) == len(glossary.read_terms()) > 40


def test_terms_are_marked_once_and_only_as_words() -> None:
    mark = TermMarker()
    text = str(mark("<b> budgets & a budgeted Budget"))
    assert text.startswith("&lt;b&gt; <button")
    assert text.count("<button") == 1
    assert "a budgeted Budget" in text
    assert "<math" in text
    assert str(mark("budget")) == "budget"


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("kappa^2/(4C) <= 1 - 2 theta", "κ<sup>2</sup>/(4C) ≤ 1 − 2θ"),
        ("R_1* >= theta/(3 - 2 theta)", "R<sub>1</sub>* ≥ θ/(3 − 2θ)"),
        ("kappa*Lambda is a_theta; <b>", "κΛ is a<sub>θ</sub>; &lt;b&gt;"),
        ("registry.eq_2 and thetas", "registry.eq_2 and thetas"),
    ],
)
def test_mathematics_in_sentences(text, symbols) -> None:
    assert str(write_symbols(text)) == symbols


def test_formulas_become_mathml() -> None:
    text = str(typeset_text("<b> $\\frac{a}{b}$ $\\arg\\min_f x$"))
    assert text.startswith("&lt;b&gt; <math")
    assert "<mfrac>" in text
    assert "\\arg" not in text


def test_every_formula_of_the_registry_is_typeset() -> None:
    for claim in all_claims():
        for formula in filter(None, (claim.statement, claim.corrected)):
            assert not re.search(r">\\\\\w", typeset_text(f"${formula}$")), claim.id


def test_the_chart_has_what_the_store_holds(page, store) -> None:
    with StudyResult.open(store) as result:
        summaries = {(cell.strategy.replace("_", " "), float(cell.budget)): cell for cell in result.summary(0.99)}
        assert page["provenance"]["digest"] == result.store.digest()
        assert page["provenance"]["sessions"] == result.store.sessions()
    (group,) = page["groups"]
    chart = group["chart"]
    count = 0
    for series in chart["series"]:
        if series["dash"] != 0:
            assert all(0 < point[1] < 1 for point in series["points"])
            continue
        for point, texts in zip(series["points"], series["texts"], strict=True):
            cell = summaries[chart["colours"][series["colour"]], point[0]]
            count += 1
            rate = cell.failure_rate or cell.upper
            assert point[1:] == [rate, cell.lower, cell.upper, cell.failures == 0]
            assert f"{cell.failures} of 400 trials" in texts[0] or "no failure in 400 trials" in texts[0]
    assert count == len(summaries)
    for strategy in group["allocation"]["strategies"]:
        cell = summaries[strategy["title"], float(group["allocation"]["budget"].replace(",", ""))]
        assert strategy["total"] == [cell.allocation[name] for name in group["arms"]["names"]]
        assert sum(map(sum, strategy["rounds"])) == pytest.approx(sum(strategy["total"]))


def test_a_study_does_not_import_the_claims() -> None:
    modules = (
        "exml_sim.cli.study, simulations.report._page, simulations.report._render, simulations.figures.failure_rate"
    )
    done = subprocess.run([sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)"], stdout=-1, text=True)
    assert "theory.versions" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.startswith(("theory.claims", "theory.evidence"))]


def test_headline_and_findings(page) -> None:
    sentences = " ".join([*page["headline"], *page["budgets"], page["verdict"], *page["findings"]])
    assert "uniform allocation needs a budget of about 1,024 in simulation" in sentences
    assert f"At budget 49,152 our {name_bound('tighter')} of uniform allocation is below 5%" in sentences
    assert "No bound is refuted" in sentences
    assert "On the same trials uniform allocation misses the best arm less often than median elimination" in sentences
    assert "8 arms (best 90°, gaps " in page["studied"]
    assert "400 trials each" in page["studied"]


def test_verdicts_are_counted_by_bound_and_strategy(page) -> None:
    table = page["verdicts"]
    assert table["columns"] == ["bound", "refuted", "consistent", "undecided", "vacuous"]
    strategies, bounds = ["uniform allocation", "median elimination"], [name_bound(name) for name in reversed(VERSIONS)]
    assert [(row["strategy"], row["cells"][0]) for row in table["rows"]] == list(itertools.product(strategies, bounds))
    assert all(sum(row["cells"][1:]) == 4 for row in table["rows"])


def test_other_kinds_of_studies(tmp_path) -> None:
    for options, word in (
        ({"mode": "exact", "trials": 1, "budgets": {"per_arm": [3]}}, "vacuous at these budgets"),
        ({"stop": {"bound": 0.4}, "trials": 3000, "strategies": ["ocba"]}, "No bound applies"),
    ):
        with run(known(**options), n_jobs=1, progress=False) as result:
            page = make_page(result)
            assert word in page["verdict"]
            assert render(page)


def test_small_multiples_where_there_are_several_pools() -> None:
    pools = [
        {"kind": "parametric", "direction": "minimise", "means": [0.3, 0.6], "label": label} for label in ("one", "two")
    ]
    for number in (1, 2):
        with run(known(trials=20, pools=pools[:number]), n_jobs=1, progress=False) as result:
            text = render(make_page(result))
        assert text.count('data-chart="') == (1 if number == 1 else 3)


def half(budget, context) -> float:
    """A bound that is true."""
    return 0.9


def hardly(budget, context) -> float:
    """A bound that is not."""
    return 0.01


@pytest.mark.parametrize(("bound", "phrase"), [(half, "1 are decided for the bound"), (hardly, "1 against it (REFUT")])
def test_a_study_that_stops_at_its_bound_says_it(bound, phrase) -> None:
    options = {"strategies": ["uniform_allocation"], "budgets": {"per_arm": [4]}, "trials": 5000}
    with run(known(bounds=[bound], stop={"bound": bound(4, None)}, **options), n_jobs=1, progress=False) as result:
        verdict = make_page(result)["verdict"]
        assert result.summary()[0].trials < 5000
    assert phrase in verdict
    assert "No bound applies" not in verdict


@pytest.mark.parametrize("make", [make_page, lambda result: make_comparison([result])])
def test_a_store_without_results(tmp_path, make) -> None:
    study = known()
    Store.create_or_open(tmp_path / "x.sqlite", study, study.cells()).close()
    with StudyResult.open(tmp_path / "x.sqlite") as result, pytest.raises(ValueError, match="no results yet"):
        make(result)
