"""Every claim: its check comes out as recorded, its correction survives, its planted error is caught."""

import dataclasses
import importlib
import math
import re
from fractions import Fraction

import pytest

from tests.theory.claims.test_sweep import NEEDED, NEEDED_AS_PRINTED
from theory.claims import Claim, Experiment, Place, Reading, all_claims, get
from theory.claims import _assumptions as assumptions
from theory.claims._instances import POOLS
from theory.claims.claim import show
from theory.claims.document import MATTERS

CLAIMS = all_claims()
IDS = [claim.id for claim in CLAIMS]


@pytest.mark.parametrize("claim_id", IDS)
def test_check_comes_out_as_recorded(entries, claim_id):
    entry = entries[claim_id]
    assert entry.verdict.outcome == entry.claim.expected, entry.verdict.sentence


@pytest.mark.parametrize("claim_id", [claim.id for claim in CLAIMS if claim.repaired is not None])
def test_corrected_statement_survives_the_same_instances(entries, claim_id):
    verdict = entries[claim_id].corrected
    assert verdict.outcome == "consistent", verdict.sentence


@pytest.mark.parametrize("claim_id", [claim.id for claim in CLAIMS if claim.mutant is not None])
def test_planted_error_is_refuted(entries, claim_id):
    verdict = entries[claim_id].mutant
    assert verdict.outcome == "refuted", verdict.sentence


@pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
def test_no_claim_has_a_check_that_cannot_fail(claim):
    if claim.printed in ("holds", "definition"):
        assert claim.mutant is not None, "a claim that holds needs a planted error"
    else:
        assert claim.repaired is not None, "a claim that fails needs a corrected statement"
        assert claim.corrected
        assert claim.errata


@pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
def test_what_fails_says_what_the_paper_should_say_and_whether_it_matters(claim):
    fails = claim.printed not in ("holds", "definition")
    assert (claim.matters in MATTERS) == fails
    assert claim.instead.endswith(".") == fails
    assert len(claim.instead.split()) <= 40


@pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
def test_every_reading_depends_on_its_right_side(claim):
    """A right side that no value can satisfy is refuted: the examination itself is not asleep."""
    reading = claim.repaired or claim.reading
    impossible = -math.inf if reading.relation in ("<=", "<") else math.inf
    absurd = Reading(reading.left, reading.relation, lambda **_: impossible)
    if isinstance(reading.left(**claim.cases[0]), tuple):
        absurd = Reading(reading.left, "==", lambda **_: ("nothing",))
    assert claim.examine(absurd).outcome == "refuted"


@pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
def test_a_claim_is_complete(claim):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", claim.id)
    assert claim.statement
    assert claim.plain.endswith((".", ".)"))
    assert 180 <= claim.where.line <= 882
    assert claim.cases
    assert claim.statement.count("{") == claim.statement.count("}")
    assert claim.corrected.count("{") == claim.corrected.count("}")


PREMISES = {premise.name: premise for claim in CLAIMS for premise in claim.assumptions}
BROKEN = {
    "theta lies in (0, 1/2)": {"theta": 0.5},
    "theta lies in (0, 1), as printed": {"theta": 1.0},
    "there are at least two arms": {"K": 1},
    "identification condition with the factor 64": {"n": 10, "gap": 0.1, "theta": 0.1, "r": 0.5},
    assumptions.FEASIBLE_GAP.name: {"gap": 0.6, "theta": 0.1, "r": 0.5},
    assumptions.DEFINED.name: {"theta": Fraction(1, 2)},
    assumptions.ONE_ROW_OR_AFFINE.name: {"m": 2, "theta": 0.1, "r": 0.9},
    assumptions.WALK.name: {"n": 10, "p": Fraction(1, 2), "delta": Fraction(1, 10)},
    assumptions.LARGEST_GAP.name: {"n": 81, "theta": 0.1, "r": 0.5},
    "the first arm has the smallest risk on the training set": {"name": "second-best"},
    "the budget buys a row for every arm": {"B": 3, "K": 4},
    "the bound of median elimination is below 1": {"n": 100, "K": 4, "gap": 0.5, "theta": 0.1, "r": 0.5},
}


# Premises of single claims: a change of a case that breaks them. Cases of the sweep break the others.
CHANGED = {
    "eq-6": {"constant": 1},
    "lemma-4-kappa": {"n": 10**7},
    "lemma-1-ii": {"tilt": -0.1},
    "thm-1": {"noise": Fraction(1, 2)},
}
BREAKING = [(claim_id, {**get(claim_id).cases[-1], **change}) for claim_id, change in CHANGED.items()]
BREAKING += [(claim_id, case) for (claim_id, _), case in {**NEEDED, **NEEDED_AS_PRINTED}.items()]


def is_broken(name, claim_id, case):
    return any(premise.name == name and not premise.holds(**case) for premise in get(claim_id).assumptions)


@pytest.mark.parametrize("name", sorted(PREMISES))
def test_every_premise_can_be_broken(name, monkeypatch):
    swapped = dataclasses.replace(POOLS["star-3"](), features=POOLS["star-3"]().features[::-1])
    monkeypatch.setitem(POOLS, "second-best", lambda: swapped)
    if name == "identification condition with the factor 16":
        # Three forms of one premise: on (n, gap, theta, r), on the corner and on the outliers.
        assert not assumptions.LAUNCH_16.holds(n=10, gap=0.1, theta=0.1, r=0.5)
        for claim_id in ("lemma-1-ii", "lemma-4", "a6-tail"):
            claim = get(claim_id)
            assert not claim.assumptions[-1].holds(**{**claim.cases[-1], "n": 1})
        return
    if name in BROKEN:
        assert not PREMISES[name].holds(**BROKEN[name])
    else:
        assert any(is_broken(name, *entry) for entry in BREAKING)


def test_a_case_that_breaks_a_premise_is_an_error():
    claim = dataclasses.replace(get("eq-2-upper-bound"), cases=({"h": 0, "g": 0, "y": 1, "theta": Fraction(3, 4)},))
    with pytest.raises(ValueError, match="breaks 'theta lies in"):
        claim.check()


def test_unknown_ids_suggest_the_nearest():
    with pytest.raises(ValueError, match="did you mean lemma-1-i"):
        get("lemma-1i")
    with pytest.raises(ValueError, match="lists all ids"):
        get("%%%%%%%%%%%")


def small_claim(**changes):
    base = Claim(
        id="small",
        where=Place("0", "none", 200),
        statement="x",
        plain="X.",
        printed="holds",
        kind="inequality",
        cases=({"x": 1}, {"x": 2}),
        reading=Reading(lambda x: x, "<=", lambda x: 2),
    )
    return dataclasses.replace(base, **changes)


def test_relations_compare_exactly_or_up_to_rounding():
    one_third = Reading(lambda x: Fraction(1, 3), "==", lambda x: Fraction(1, 3))
    assert small_claim(reading=one_third).check().outcome == "consistent"
    hair = Reading(lambda x: Fraction(1, 3), "==", lambda x: Fraction(1, 3) + Fraction(1, 10**30))
    assert small_claim(reading=hair).check().outcome == "refuted"
    assert small_claim(reading=Reading(lambda x: 0.1 + 0.2, "==", lambda x: 0.3)).check().outcome == "consistent"
    assert small_claim(reading=Reading(lambda x: 0.1 + 0.2, "==", lambda x: 0.3001)).check().outcome == "refuted"
    tiny = Reading(lambda x: 2e-300, "<=", lambda x: 1e-300)
    assert small_claim(reading=tiny).check().outcome == "refuted"
    negative = Reading(lambda x: -1.0, "<=", lambda x: -2.0)
    assert small_claim(reading=negative).check().outcome == "refuted"
    for relation, outcome in (("<", "refuted"), (">", "refuted"), (">=", "consistent"), ("<=", "consistent")):
        assert small_claim(reading=Reading(lambda x: x, relation, lambda x: x)).check().outcome == outcome


def test_a_bound_that_excludes_nothing_is_vacuous():
    for bound in (1.0, 7.0, math.nan):
        silent = Reading(lambda x: 0.5, "<=", lambda x, bound=bound: bound, vacuous_from=1.0)
        assert small_claim(reading=silent).check().outcome == "vacuous"
    mixed = Reading(lambda x: 0.5, "<=", lambda x: 0.6 if x == 1 else 3.0, vacuous_from=1.0)
    verdict = small_claim(reading=mixed).check()
    assert verdict.outcome == "consistent"
    assert dict(verdict.evidence)["silent"] == 1


def test_evidence_replays_the_violated_case():
    verdict = small_claim(reading=Reading(lambda x: x, "<=", lambda x: 1)).check()
    assert verdict.outcome == "refuted"
    assert dict(verdict.evidence) == {"x": 2, "left": 2, "right": 1}
    assert "x = 2" in verdict.sentence


def test_missing_parts_are_said():
    with pytest.raises(ValueError, match="no corrected statement"):
        small_claim().check_corrected()
    with pytest.raises(ValueError, match="no planted error"):
        small_claim().check_mutant()


def test_monte_carlo_claims_state_an_experiment():
    claims = [claim for claim in CLAIMS if claim.kind == "monte-carlo"]
    assert len(claims) >= 8
    for claim in claims:
        assert isinstance(claim.experiment, Experiment)
        assert set(claim.experiment.pools) <= set(POOLS)
        module, name = claim.experiment.bound.rsplit(".", 1)
        assert callable(getattr(importlib.import_module(module), name))


def test_long_numbers_are_shortened():
    assert show(10**240) == "1e+240"
    assert show(-(10**400) // 3) == "-3.3333e+399"
    assert show(Fraction(10**20, 3)) == "3.3333e+19"
    assert (show(10**12), show(Fraction(2, 9))) == ("1000000000000", "2/9")
