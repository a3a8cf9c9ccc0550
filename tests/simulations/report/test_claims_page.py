"""The claims page: what it takes from the registry and from the Coq library."""

from __future__ import annotations

import html
import re

from simulations.report.claims import render_claims
from theory.claims import all_claims
from theory.evidence.grades import read_library


def test_every_claim_shows_its_coq_statement_and_its_counterexample() -> None:
    text = render_claims(all_claims())
    articles = dict(
        zip(re.findall(r'<article class="claim" id="([^"]+)"', text), text.split("<article ")[1:], strict=True)
    )
    assert list(articles) == [claim.id for claim in all_claims()]
    library = read_library()
    for claim in all_claims():
        article = html.unescape(articles[claim.id])
        for name in (*claim.coq, *claim.corrected_coq):
            assert library[name]["statement"] in article
            assert f"File theory/coq/{name.partition('.')[0]}.v" in article
            assert f"An instance without hypotheses: {library[name]['instance']}." in article
        assert ("counterexample</dt>" in article) == (claim.expected == "refuted"), claim.id
        assert f"exml claims {claim.id}</code>" in article
        assert article.count("<math") >= 1 + bool(claim.corrected)


def test_sections_are_mapped_in_the_papers_order() -> None:
    text = render_claims(all_claims())
    links = re.findall(r'<li><a href="#([^"]+)">', text.split('<ul class="map">')[1].split("</ul>")[0])
    assert links == list(dict.fromkeys(claim.group for claim in all_claims()))
    changing = [claim.id for claim in all_claims() if claim.matters == "conclusion"]
    listed = text.split('id="conclusions-title"')[1].split("</ul>")[0]
    assert re.findall(r'href="#([^"]+)"', listed) == changing


def test_classical_steps_are_theorems_of_the_library() -> None:
    steps = render_claims(all_claims()).split("Classical steps")[1].split("</ul>")[0]
    names = re.findall(r"<code>([^<]+)</code>", steps)
    assert len(names) == 5
    assert set(names) <= read_library().keys()
