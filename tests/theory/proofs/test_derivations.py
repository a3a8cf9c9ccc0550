"""Derived theorems depend on every step, and are the ledger's statements or give no grade."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from functools import cache

import pytest

from theory.claims import get
from theory.proofs import grades
from theory.proofs.derivation import Derivation, built, shortfall
from theory.proofs.derived import DERIVATIONS
from theory.proofs.kernel import axioms, certificate, theorem
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Formula, Refused, const, same, variables
from theory.proofs.kernel.theorem import assume, cut, instance, weaken

F = Fraction
BY_NAME = {one.of: one for one in DERIVATIONS}
TAUTOLOGY = same(*variables("x x"))
#: Steps that are changed per derivation; a sweep over all of them is long.
SOME = 3


def rebuilt(derivation, monkeypatch, place=0, change=None):
    """Build again, with the theorem that is made in this place changed; all theorems in the order of their making."""
    made, real = [], theorem.made

    def spy(hypotheses, conclusion, rule, *parents):
        if len(made) + 1 == place:
            hypotheses, conclusion = change(set(hypotheses), conclusion)
        found = real(hypotheses, conclusion, rule, *parents)
        made.append(found)
        return found

    with monkeypatch.context() as patch:
        for module in (theorem, axioms, certificate):
            patch.setattr(module, "made", spy)
        try:
            return derivation.build()[0], made
        except (Refused, StopIteration):
            return None, made


def changed_steps(derivation, monkeypatch, count):
    """Places of steps that the theorem was made from; hypotheses and what occurs twice are left out."""
    final, made = rebuilt(derivation, monkeypatch)
    used = {id(step) for step in final.steps()}
    said: dict[Formula, int] = {}
    for step in made:
        said[step.conclusion] = said.get(step.conclusion, 0) + 1
    places = [
        place
        for place, step in enumerate(made, 1)
        if id(step) in used and step.rule != "hypothesis" and said[step.conclusion] == 1
    ]
    draw = random.Random(derivation.of)
    return final, draw.sample(places, min(count, len(places)))


@cache
def some_steps(name):
    """The steps that are changed, each in two ways."""
    with pytest.MonkeyPatch.context() as patch:
        return changed_steps(BY_NAME[name], patch, SOME)


def untouched(final, found):
    return found is not None and found.conclusion == final.conclusion and found.hypotheses == final.hypotheses


def without_meaning(hypotheses, conclusion):
    return hypotheses, TAUTOLOGY


def on_less(hypotheses, conclusion):
    return hypotheses | {variables("narrow")[0] < const(0)}, conclusion


@pytest.mark.parametrize("change", [without_meaning, on_less])
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_step_is_needed(name, change, monkeypatch):
    """Planted: one step says x = x, or holds on a smaller region."""
    final, places = some_steps(name)
    assert places
    for place in places:
        found, _ = rebuilt(BY_NAME[name], monkeypatch, place, change)
        assert not untouched(final, found), place


#: They pass a fact that the arithmetic does without (0 == 0, a sign), so that a step of them is redundant.
REDUNDANT = {"eq-3", "eq-3-quadratic-program", "remark-7-failure-bounds"}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(BY_NAME) - REDUNDANT))
def test_every_single_step_is_needed(name, monkeypatch):
    final, places = changed_steps(BY_NAME[name], monkeypatch, 10_000)
    for place in places:
        found, _ = rebuilt(BY_NAME[name], monkeypatch, place, without_meaning)
        assert not untouched(final, found), place


# --- a theorem that is not the ledger's statement ---------------------------------------------------------------


def with_statement(derivation: Derivation, change) -> Derivation:
    """The same derivation of something else."""

    def build():
        final, facts = derivation.build()
        return change(final), facts

    return dataclasses.replace(derivation, build=build)


def one_per_cent(final):
    """The same theorem about other numbers: both sides one per cent larger."""
    left, right = final.conclusion.args
    factor = const(F(101, 100))
    goal = Formula(final.conclusion.op, (factor * left, factor * right))
    return combine(goal, (final, F(101, 100)))


@pytest.mark.parametrize("name", ["ua-allocation", "me-spend", "a5-series-3", "a6-inclusion", "thm-2-delta-order"])
def test_other_sides_are_seen(name):
    planted = with_statement(BY_NAME[name], one_per_cent)
    assert "in the ledger" in shortfall(get(name), planted)


@pytest.mark.parametrize("name", ["ua-allocation", "a6-gap", "a2-step-4", "lemma-1-condition"])
def test_a_tautology_is_not_the_statement(name):
    assert shortfall(get(name), with_statement(BY_NAME[name], lambda _: combine(TAUTOLOGY)))
    trivial = with_statement(BY_NAME[name], lambda final: combine(const(1) <= const(2)))
    assert shortfall(get(name), trivial)


def test_the_conclusion_is_no_hypothesis():
    """Planted: the statement from itself; it holds at every case."""
    for name in ("ua-allocation", "a5-doubling", "a6-gap", "a3-denominator-1", "a2-step-4", "thm-2-delta-order"):
        one = BY_NAME[name]
        planted = with_statement(one, lambda final: assume(final.conclusion))
        assert shortfall(get(name), planted), name
        renamed = dataclasses.replace(
            planted, premises=tuple((built(one)[0].conclusion, a.name) for a in get(name).assumptions)
        )
        assert shortfall(get(name), renamed), name


def test_a_weaker_relation_and_an_open_premise_are_seen():
    one = BY_NAME["a5-series-3"]
    left, right = built(one)[0].conclusion.args
    weaker = with_statement(one, lambda final: combine(left <= right, final))
    assert "proves <= where the statement says ==" in shortfall(get(one.of), weaker)
    q = variables("q")[0]
    narrow = with_statement(one, lambda final: weaken(final, q < const(F(1, 2))))
    assert "fails" in shortfall(get(one.of), narrow)
    odd = with_statement(one, lambda final: weaken(final, q * q < const(1)))
    assert "no range" in shortfall(get(one.of), odd)
    launch = BY_NAME["a3-denominator-1"]
    other = dataclasses.replace(launch, premises=tuple((f, "theta lies in (0, 1/2)") for f, _ in launch.premises))
    assert "fail 0 times" in shortfall(get(launch.of), other)
    nameless = dataclasses.replace(launch, premises=())
    assert "no premise of the ledger" in shortfall(get(launch.of), nameless)


def test_a_statement_that_may_be_undefined_is_seen():
    one = BY_NAME["ua-allocation"]
    bare = dataclasses.replace(one, build=lambda: (one.build()[0], ()))
    assert "is not shown" in shortfall(get(one.of), bare)


def test_an_instance_is_not_the_whole_statement():
    one = BY_NAME["ua-allocation"]
    special = with_statement(one, lambda final: weaken(instance(final, K=2), const(2) <= variables("K")[0]))
    assert "no range" in shortfall(get(one.of), special)
    fixed = with_statement(one, lambda final: cut(instance(final, K=2), combine(const(2) <= const(2))))
    assert "the left side is" in shortfall(
        get(one.of), dataclasses.replace(fixed, build=lambda: (fixed.build()[0], (combine(const(0) < const(2)),)))
    )


def test_a_derivation_that_falls_short_gives_no_grade(monkeypatch):
    one = BY_NAME["ua-allocation"]
    # Nothing is remembered here, and nothing forgotten that is about the derivations as they are.
    monkeypatch.setattr(grades, "_proved", grades._proved.__wrapped__)
    for planted in (
        with_statement(one, one_per_cent),
        dataclasses.replace(one, corrected=True),
        dataclasses.replace(one, says="vacuous"),
    ):
        monkeypatch.setattr(grades, "derivations_of", lambda _, planted=planted: (planted,))
        assert grades.grade(get(one.of)).grade == "held against evidence"


def test_a_number_in_disguise_and_a_cut_off_are_seen():
    """Planted: left <= left + d for d >= 0, with d written down again from the sides; and a statement up to 10^6."""
    claim, one = get("ua-allocation"), BY_NAME["ua-allocation"]
    a, d, K = variables("a d K")
    trivial = combine(a <= a + d, assume(const(0) <= d))

    def disguised(B, K):
        spent = K * (B // K)
        return [{"a": spent, "d": B - spent}]

    planted = Derivation(claim.id, "", lambda: (trivial, ()), reads=disguised)
    assert "is no number of the case" in shortfall(claim, planted)
    cut_off = with_statement(one, lambda final: weaken(final, const(10**6) >= K))
    assert "no range" in shortfall(claim, cut_off)
