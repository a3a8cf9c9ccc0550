"""``exml claims``: the list, one claim, all checks, JSON, HTML, bad input."""

import dataclasses
import json
import re

import pytest
from click.testing import CliRunner

from exml_sim.cli import claims as module
from exml_sim.cli.claims import command
from simulations.report._render import write_symbols
from theory.claims import Reading, Registry, all_claims, get, read_own


def registry_of(*claims):
    """A registry of these claims."""
    registry = Registry(read_own().sections, {})
    registry.__dict__["claims"] = {claim.id: claim for claim in claims}
    return registry


@pytest.fixture
def few(monkeypatch):
    """A registry of three quick claims, one of each outcome."""
    picked = [get(name) for name in ("a5-count-1", "a5-series-3", "quality-order")]
    monkeypatch.setattr(module, "read_own", lambda: registry_of(*picked))
    return picked


def invoke(*arguments):
    return CliRunner().invoke(command, list(arguments))


def test_the_list_names_every_claim_with_place_verdict_and_kind():
    result = invoke()
    assert result.exit_code == 0
    lines = result.output.splitlines()
    claims = all_claims()
    assert len(lines) == len(claims) + 7
    for claim, line in zip(claims, lines[4:], strict=False):
        assert line.startswith(claim.id)
        assert str(claim.where) in line
        assert claim.printed in line
        assert line.endswith(claim.kind)
    stated = sum(not claim.inferred for claim in claims)
    assert lines[0].startswith(f"{len(claims)} claims: {stated} stated in the paper (")
    assert f"{len(claims) - stated} inferred from it (" in lines[0]
    changing = [claim.id for claim in claims if claim.matters == "conclusion"]
    assert lines[-1] == f"Change the conclusion: {', '.join(changing)}."


def test_one_claim_in_full():
    result = invoke("Lemma-4-Kappa")
    assert result.exit_code == 0
    assert "A.1, Lemma 4, definition of kappa (L707)" in result.output
    assert "as printed:      holds-corrected" in result.output
    assert "1.6217e-08" in result.output
    assert "corrected check: consistent." in result.output
    assert "say instead:     kappa is the supremum of the square root" in result.output
    printed = invoke("lemma-4").output
    for name in ("experiment", "hypotheses", "checked on", "setting"):
        assert f"\n{name}:" in printed
    assert "planted error:   none; the check refutes the printed statement" in invoke("eq-1").output


def test_check_prints_the_record(few):
    result = invoke("--check")
    assert result.exit_code == 0, result.output
    assert result.output.count("as recorded") == 3
    assert "3 claims checked in" in result.output
    assert "0 differ from the record" in result.output


def test_check_exits_1_when_a_check_differs_from_the_record(monkeypatch):
    claim = get("a5-series-3")
    wrong = dataclasses.replace(claim, reading=claim.mutant)
    asleep = dataclasses.replace(claim, mutant=claim.reading)
    unrepaired = get("a5-count-1")
    unrepaired = dataclasses.replace(unrepaired, repaired=unrepaired.reading)
    for broken in (wrong, asleep, unrepaired):
        monkeypatch.setattr(module, "read_own", lambda broken=broken: registry_of(broken))
        result = invoke("--check")
        assert result.exit_code == 1
        assert "DIFFERS" in result.output


def test_json_is_exact_and_complete(few):
    listed = json.loads(invoke("--json").output)
    assert [record["id"] for record in listed] == [claim.id for claim in few]
    assert "check" not in listed[0]
    checked = json.loads(invoke("--check", "--json").output)
    assert [record["check"]["outcome"] for record in checked] == ["refuted", "consistent", "vacuous"]
    assert all(record["as_recorded"] for record in checked)
    evidence = dict(checked[1]["check"]["evidence"])
    assert evidence["q"] == "1/100"
    assert checked[0]["where"]["line"] == 845
    grades = [(record["grade"], record["corrected_grade"]) for record in listed]
    assert grades[:2] == [("refuted rigorously", "proved in Coq"), ("proved in Coq", None)]


def test_json_has_no_infinities(monkeypatch):
    claim = dataclasses.replace(
        get("a5-series-3"), cases=({"x": 1},), reading=Reading(lambda x: 1.0, "<=", lambda x: float("inf"))
    )
    claim = dataclasses.replace(claim, mutant=None, assumptions=())
    monkeypatch.setattr(module, "read_own", lambda: registry_of(claim))
    record = json.loads(invoke("a5-series-3", "--json").output, parse_constant=lambda name: pytest.fail(name))
    assert ["right", "inf"] in record[0]["check"]["evidence"]


def test_html_lists_every_claim_in_order_and_escapes(monkeypatch):
    result = invoke("--html")
    assert result.exit_code == 0
    ids = re.findall(r'<article class="claim" id="([^"]+)"', result.output)
    assert ids == [claim.id for claim in all_claims()]
    assert "proved in Coq" in result.output
    assert "change the conclusion" in result.output
    assert str(write_symbols(get("assumption-necessary").instead)) in result.output
    planted = dataclasses.replace(get("quality-order"), plain="<b>1 < 2 & 3</b>")
    monkeypatch.setattr(module, "read_own", lambda: registry_of(planted))
    page = invoke("--html").output
    assert "&lt;b&gt;1 &lt; 2 &amp; 3&lt;/b&gt;" in page
    assert "<b>" not in page


@pytest.mark.parametrize("others", [("eq-1",), ("--check",), ("--json",)])
def test_html_stands_alone(others):
    assert invoke("--html", *others).exit_code == 2
