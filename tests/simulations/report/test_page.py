"""The page's data and its file, without a browser."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys

import pytest

from exml_sim.engine import Store, StudyResult, run
from simulations.figures import facets, style
from simulations.panels import make_panels, name_bound
from simulations.report._page import make_page
from simulations.report._render import embed, render
from tests.engine.studies import known
from theory.versions import VERSIONS
from tools import fetch_d3


@pytest.mark.parametrize("text", ["</script>", "<!--", "a & b", "\u2028", "]]>", '"\\'])
def test_no_text_can_end_the_data(text) -> None:
    found = embed({text: [text]})
    assert not {"<", ">", "&", "\u2028"} & set(found)
    assert json.loads(found) == {text: [text]}


def test_no_number_is_lost() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        embed(math.nan)


def test_the_file_is_one_and_the_same(page, html) -> None:
    text = html.read_text(encoding="utf-8")
    assert render(page) == text
    assert "http-equiv" in text
    for link in ("src=", "<link", "@import", "url("):
        assert link not in text.replace(fetched(), "")


def fetched() -> str:
    return (fetch_d3.ASSETS / "d3.min.js").read_text(encoding="utf-8")


def test_the_vendored_library_is_the_published_one(tmp_path) -> None:
    assert hashlib.sha256((fetch_d3.ASSETS / "d3.min.js").read_bytes()).hexdigest() == fetch_d3.CHECKSUM
    assert f"v{fetch_d3.VERSION}" in fetched()[:80]
    assert "Mike Bostock" in (fetch_d3.ASSETS / "d3.LICENSE.txt").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="nothing was written"):
        fetch_d3.unpack(b"something else", tmp_path)
    assert not list(tmp_path.iterdir())


def test_cells_carry_what_the_store_holds(page, store) -> None:
    with StudyResult.open(store) as result:
        summaries = {(one.strategy, float(one.budget)): one for one in result.summary(0.99)}
        assert page["provenance"]["digest"] == result.store.digest()
        assert page["provenance"]["sessions"] == result.store.sessions()
    (group,) = page["groups"]
    cells = [(panel["strategy"], cell) for panel in group["panels"] for cell in panel["cells"]]
    assert len(cells) == len(summaries)
    for strategy, cell in cells:
        one = summaries[strategy, cell["budget"]]
        assert (cell["failures"], cell["trials"]) == (one.failures, one.trials)
        assert (cell["lower"], cell["upper"]) == (one.lower, one.upper)
        assert cell["pulls"] == [one.allocation[name] for name in group["arms"]]


def test_a_study_does_not_import_the_claims(tmp_path) -> None:
    """Run a small study with its report and list what was imported."""
    study = tmp_path / "small.toml"
    study.write_text(known(trials=5).to_toml(), encoding="utf-8")
    code = (
        "import sys\nfrom exml_sim.cli import main\n"
        f"try:\n    main(['study', {str(study)!r}, '--out', {str(tmp_path / 'out')!r}, '--n-jobs', '1', '--quiet'])\n"
        "finally:\n    print('imported', *sorted(name for name in sys.modules if name.startswith('theory')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (tmp_path / "out" / "report.html").exists()
    imported = done.stdout.splitlines()[-1].split()
    assert imported[0] == "imported"
    assert "theory.versions" in imported
    assert [name for name in imported if name.startswith(("theory.claims", "theory.evidence"))] == []


def test_headline_and_findings(page) -> None:
    words = " ".join([*page["headline"], *page["budgets"], page["verdict"], *page["findings"]])
    assert "uniform allocation needs a budget of about 1,024 in simulation" in words
    assert f"At budget 49,152 our {name_bound('tighter')} of uniform allocation is below 5%" in words
    assert "No bound is refuted" in words
    assert "On the same trials uniform allocation misses the best candidate less often than median elimination" in words
    assert "8 arms (best 90°, gaps " in page["studied"]
    assert "400 trials each" in page["studied"]


def test_verdicts_are_counted_by_bound_and_strategy(page) -> None:
    outcomes = ("refuted", "consistent", "undecided", "vacuous")
    assert [(row["strategy"], row["bound"]) for row in page["verdicts"]] == [
        (strategy, name_bound(name)) for strategy in ("uniform allocation", "median elimination") for name in VERSIONS
    ]
    assert all(sum(row.get(outcome, 0) for outcome in outcomes) == row["cells"] == 4 for row in page["verdicts"])


def test_other_kinds_of_studies(tmp_path) -> None:
    for options, word in (
        ({"mode": "exact", "trials": 1, "budgets": {"per_arm": [3]}}, "vacuous at these budgets"),
        ({"stop": {"bound": 0.4}, "trials": 3000, "strategies": ["ocba"]}, "No bound applies"),
    ):
        with run(known(**options), n_jobs=1, progress=False) as result:
            page = make_page(result)
            assert word in page["verdict"]
            assert render(page)


def test_facets_where_there_are_several_pools() -> None:
    """The picture is the one that exml plot draws; it is inside of the page."""
    arms = [{"kind": "parametric", "means": [0.3, 0.6], "label": label} for label in ("one", "two")]
    for pools, number in ((arms, 1), (arms[:1], 0)):
        with run(known(trials=20, pools=pools), n_jobs=1, progress=False) as result:
            page = make_page(result)
            panels = make_panels(result)
        assert page["facets"].startswith("data:image/png;base64,") == bool(number)
        assert render(page).count("data:image/png;base64,") == number
        if number:
            assert page["facets"] == style.inline(facets.figure(panels, page["title"]))


def half(budget, context) -> float:
    """A bound that is true."""
    return 0.9


def hardly(budget, context) -> float:
    """A bound that is not."""
    return 0.01


@pytest.mark.parametrize(("bound", "words"), [(half, "1 are decided for the bound"), (hardly, "1 against it (REFUT")])
def test_a_study_that_stops_by_the_verdict_says_it(bound, words) -> None:
    options = {"strategies": ["uniform_allocation"], "budgets": {"per_arm": [4]}, "trials": 5000}
    with run(known(bounds=[bound], stop={"verdict": bound.__name__}, **options), n_jobs=1, progress=False) as result:
        found = make_page(result)["verdict"]
        assert result.summary()[0].trials < 5000
    assert words in found
    assert "No bound applies" not in found


def test_a_store_without_results(tmp_path) -> None:
    study = known()
    Store.create_or_open(tmp_path / "x.sqlite", study, study.cells()).close()
    with StudyResult.open(tmp_path / "x.sqlite") as result, pytest.raises(ValueError, match="no results yet"):
        make_page(result)
