"""Planted errors for every rule of the kernel: each is refused, none is proved."""

from __future__ import annotations

import copy
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

from theory.proofs.balls import ball, digits
from theory.proofs.derivation import built
from theory.proofs.derived import DERIVATIONS
from theory.proofs.kernel import axioms as ax
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.defined import undefined
from theory.proofs.kernel.language import (
    Formula,
    Refused,
    Term,
    at,
    const,
    every,
    exp,
    floor,
    integer,
    largest,
    largest_of,
    log,
    power,
    recursive,
    same,
    sqrt,
    substitute,
    total,
    variables,
    where,
)
from theory.proofs.kernel.theorem import (
    Theorem,
    absurd,
    antisymmetric,
    assume,
    by_cases,
    by_induction,
    cut,
    instance,
    negation,
    replace_equal,
    specialise,
    weaken,
)
from theory.proofs.kernel.values import holds, value

F = Fraction
x, y, n, i, k, q = variables("x y n i k q")
zero, one = const(0), const(1)
KERNEL = Path(__file__).parents[3] / "theory" / "proofs"


def fact(formula):
    return assume(formula)


def sum_to(end, body=None):
    return total("k", 1, end, k if body is None else body)


def gauss():
    """k = 1..n adds up to n (n + 1)/2: the induction that the planted ones are made from."""
    claim = same(sum_to(n), n * (n + 1) / 2)
    base = combine(substitute(claim, {"n": zero}), ax.total_none("k", 1, k))
    more = cut(ax.total_next("k", 1, n, k), combine(one <= n + 1, fact(zero <= n)))
    step = combine(substitute(claim, {"n": n + 1}), more, fact(claim))
    return claim, base, step


def test_an_induction_that_is_right():
    claim, base, step = gauss()
    found = by_induction("n", 0, claim, base, step)
    assert found.conclusion == claim
    assert found.hypotheses == {integer(n), zero <= n}


def test_an_induction_whose_step_is_wrong_only_at_one_residue():
    """Planted: a claim that fails where n is odd, and a step that is proved for odd n only."""
    wrong = n <= floor(n / 2) * 2
    with pytest.raises(Refused, match="not decided"):
        combine(substitute(wrong, {"n": n + 1}), fact(wrong), (ax.floor_below((n + 1) / 2), 2))
    claim, base, step = gauss()
    odd = weaken(step, zero < n - floor(n / 2) * 2)
    with pytest.raises(Refused, match="speaks of n"):
        by_induction("n", 0, claim, base, odd)


def test_an_induction_with_a_wrong_base_step_or_start():
    claim, base, step = gauss()
    with pytest.raises(Refused, match="base"):
        by_induction("n", 1, claim, base, step)
    with pytest.raises(Refused, match="base"):
        by_induction("n", 0, claim, combine(zero <= zero), step)
    with pytest.raises(Refused, match="step"):
        by_induction("n", 0, claim, base, fact(claim))
    with pytest.raises(Refused, match="starts at a whole number"):
        by_induction("n", F(1, 2), claim, base, step)
    with pytest.raises(Refused, match="speaks of n"):
        by_induction("n", 0, claim, base, step, last=n)
    with pytest.raises(Refused, match="speaks of n"):
        by_induction("n", 0, claim, base, weaken(step, n <= const(5)))


@pytest.mark.parametrize(
    ("goal", "uses", "signs"),
    [
        (x <= y, [], []),
        (zero <= x * x - x, [], [x]),
        (zero <= x * x * 99 - x * x * 100, [], [x]),
        (zero < x * y, [], [(x, "<="), y]),
        (y / y <= one, [], []),
        (same(x / x, 1), [], [(x, "<=")]),
        (same(sqrt(x * x), x), [], []),
        (same(log(x * y), log(x) + log(y)), [], [(x, "<="), y]),
        (x <= y, [(x <= y * 2, 1)], []),
        (x < y, [(x <= y, 1)], []),
        (x < y, [(x < y, 0)], []),
        (y <= x, [(x <= y, -1)], []),
        (x * y <= y * y, [(x <= y, y)], []),
        (same(x, y), [(x <= y, 1)], []),
        (x <= floor(x), [], []),
        (floor(x) + 1 <= x, [], []),
        (exp(x) <= 1 + x, [], [x]),
        (largest(x, y) <= x, [], [x, y]),
        (power(x, n) <= power(x, n + 1), [], [x]),
        (same(at("c", i), at("d", i)), [], []),
        (same(at("c", i), at("c", i + 1)), [], []),
        (same(sum_to(n), sum_to(n + 1)), [], []),
        (same(total("i", 1, n, sqrt(i * i)), total("i", 1, n, i)), [], [i]),
        (same(largest_of("i", 1, n, i / i), largest_of("i", 1, n, one)), [], [i]),
        (integer(x), [], []),
    ],
)
def test_a_combination_that_is_false_is_not_decided(goal, uses, signs):
    known = [fact(zero < s) if isinstance(s, Term) else fact(zero <= s[0]) for s in signs]
    with pytest.raises(Refused):
        combine(goal, *((fact(formula), weight) for formula, weight in uses), signs=known)


def test_a_sign_must_be_that_of_a_variable():
    with pytest.raises(Refused, match="no variable"):
        combine(zero <= x - y, signs=[fact(zero <= x - y)])
    with pytest.raises(Refused, match="positive"):
        combine(zero <= x, signs=[fact(x <= zero)])


def test_cases_with_a_gap():
    """Planted: x < 0 and 1 <= x leave [0, 1) open, so a hypothesis stays."""
    yes, no = fact(x < zero), weaken(combine(zero < x, fact(one <= x)), one <= x)
    with pytest.raises(Refused, match="different things"):
        by_cases(x < zero, yes, no)
    goal = zero <= x * x
    low = absurd(combine(zero < zero, fact(x < zero), fact(zero <= x)), goal)
    high = combine(goal, signs=[combine(zero <= x, fact(one <= x))])
    found = by_cases(x < zero, weaken(low, x < zero), weaken(high, one <= x))
    assert (one <= x) in found.hypotheses


def test_a_chain_with_a_broken_link():
    a, b, c = variables("a b c")
    with pytest.raises(Refused):
        combine(a <= c, fact(a <= b), fact(b * F(101, 100) <= c))
    with pytest.raises(Refused):
        combine(a < c, fact(a <= b), fact(b <= c))


def test_a_cut_takes_only_what_was_assumed():
    with pytest.raises(Refused, match="no hypothesis"):
        cut(fact(x <= y), fact(x < y))
    left = cut(fact(zero < x), combine(zero < x, fact(one <= x)))
    assert left.hypotheses == {one <= x}


def test_an_instance_keeps_its_hypotheses():
    lemma = combine(zero < 1 / x, signs=[fact(zero < x)])
    there = instance(lemma, x=y - 1)
    assert there.hypotheses == {zero < y - 1}
    with pytest.raises(Refused, match="no variable"):
        instance(lemma, z=y)
    with pytest.raises(Refused, match="caught"):
        instance(weaken(fact(x <= sum_to(n, k * x)), zero <= x), x=k)


def test_increasing_functions_outside_their_domain():
    less = fact(x < y)
    for function, domain in (("log", None), ("log", fact(zero <= x)), ("sqrt", None), ("sqrt", fact(zero <= y))):
        with pytest.raises(Refused, match="needs"):
            ax.increasing(function, less, domain)
    with pytest.raises(Refused, match="increasing functions"):
        ax.increasing("floor", less)
    with pytest.raises(Refused, match="no comparison"):
        ax.increasing("exp", fact(same(x, y)))


def test_largest_values():
    values = largest(x, y)
    with pytest.raises(Refused, match="one bound per entry"):
        ax.largest_least(values, fact(x <= q))
    with pytest.raises(Refused, match="does not bound"):
        ax.largest_least(values, fact(x <= q), fact(y <= q + 1))
    with pytest.raises(Refused, match="not by the entry"):
        ax.entry_is_largest(values, 0, fact(x <= q), fact(y <= q))
    with pytest.raises(Refused, match="depends on i"):
        ax.largest_of_least("i", 1, n, combine(i <= i + 1))
    with pytest.raises(Refused, match="speaks of i"):
        ax.largest_of_least("i", 1, n, weaken(fact(at("c", 1) <= x), i <= const(3)))
    assert (one <= n) in ax.largest_of_least("i", 1, n, combine(zero <= zero)).hypotheses


def test_conditions():
    term = where(x < y, 1, 0)
    with pytest.raises(Refused, match="does not decide"):
        ax.where_yes(term, fact(x <= y))
    with pytest.raises(Refused, match="does not decide"):
        ax.where_no(term, fact(y < x))
    with pytest.raises(Refused, match="comparison"):
        where(same(x, y), 1, 0)
    assert negation(x < y) == (y <= x)


def test_sums_compare_only_where_every_term_does():
    with pytest.raises(Refused, match="speaks of i"):
        ax.total_compare("i", 1, n, fact(at("c", i) <= at("d", i)))
    with pytest.raises(Refused, match="speaks of i"):
        ax.total_compare("i", 1, n, weaken(combine(i <= i + 1), i <= const(2)))
    with pytest.raises(Refused, match="must not depend"):
        ax.total_compare("i", 1, i, combine(i <= i + 1))
    assert ax.total_compare("i", 1, n, combine(i < i + 1)).conclusion.op == "<="


def test_whole_numbers():
    with pytest.raises(Refused, match="not strict"):
        ax.integer_gap(fact(x <= y), fact(integer(x)), fact(integer(y)))
    with pytest.raises(Refused, match="must be whole"):
        ax.integer_gap(fact(x < y), fact(integer(x)), fact(integer(x)))
    for term in (x, const(F(1, 2)), n / 2, power(2, n), sqrt(n)):
        with pytest.raises(Refused):
            ax.integer_term(term, fact(integer(n)))


def test_equals_for_equals():
    equation = fact(same(x, y))
    with pytest.raises(Refused, match="not the pattern"):
        replace_equal(equation, fact(x <= q), k <= y, "k")
    with pytest.raises(Refused, match="no equation"):
        replace_equal(fact(x <= y), fact(x <= q), k <= q, "k")
    inside = fact(same(sum_to(n, k * x), q))
    with pytest.raises(Refused, match="caught"):
        replace_equal(fact(same(k, y)), inside, same(sum_to(n, k * x), q), "x")


def test_contradictions_and_both_ways():
    with pytest.raises(Refused, match="no contradiction"):
        absurd(fact(x < x), x <= y)
    with pytest.raises(Refused, match="not opposite"):
        antisymmetric(fact(x <= y), fact(x <= y))
    with pytest.raises(Refused, match="not opposite"):
        antisymmetric(fact(x < y), fact(y <= x))
    with pytest.raises(Refused, match="for all"):
        specialise(x <= y, 1)
    found = specialise(every("i", 1, n, zero < at("c", i)), k)
    assert found.hypotheses >= {integer(k), one <= k, k <= n}


def test_theorems_are_made_by_rules_alone():
    true = combine(zero <= zero)
    with pytest.raises(Refused, match="not by hand"):
        Theorem(object(), [], one < zero, "arithmetic", ())
    for change in (lambda: setattr(true, "conclusion", one < zero), lambda: setattr(true, "rule", "")):
        with pytest.raises(Refused, match="cannot be changed"):
            change()
    with pytest.raises((Refused, TypeError, AttributeError)):
        copy.replace(true, conclusion=one < zero)  # type: ignore[attr-defined]

    class Fake:
        conclusion, hypotheses, parents, rule = one < zero, frozenset(), (), ""

    with pytest.raises(Refused, match="takes theorems"):
        combine(one < zero, Fake())  # type: ignore[arg-type]


def test_only_the_kernel_makes_theorems():
    """`made` is imported by the kernel's own files alone."""
    for file in KERNEL.rglob("*.py"):
        if file.parent.name != "kernel":
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"\bmade\b.*\(|_KEY|Theorem\(", re.sub(r'"""(.|\n)*?"""', "", text)), file


def test_a_float_is_no_term():
    for wrong in (0.5, True, "x", None):
        with pytest.raises(Refused, match="whole numbers and fractions"):
            const(wrong)


def test_what_is_undefined_is_seen():
    statement = combine(zero <= zero)
    for term, need in (
        (1 / x, zero < x),
        (sqrt(x), zero <= x),
        (log(x), zero < x),
        (power(2, n), integer(n)),
        (largest_of("i", 1, n, at("c", i)), integer(n)),
        (total("i", 1, n, 1 / at("c", i)), integer(n)),
        (recursive("a", x, x / 2, n), integer(n)),
        (where(x < y, 1 / x, zero), zero < x),
    ):
        planted = weaken(statement, same(term, term))
        assert str(need) in undefined(planted, ())
    fine = weaken(statement, same(1 / x, 1 / x), zero < x)
    assert undefined(fine, ()) == ""
    guarded = weaken(statement, same(where(zero < x, 1 / x, zero), zero))
    assert undefined(guarded, ()) == ""
    borrowed = combine(zero < x, fact(one <= x))
    assert "is not shown" in undefined(weaken(statement, same(1 / x, 1 / x)), (borrowed,))


# --- every theorem of every derivation, at random points -------------------------------------------------------------

_NAMES = ("a2-step-4", "a5-doubling", "remark-7-failure-bounds", "eq-3", "hypothesis-ball", "sample-alignment-spend")


@pytest.mark.parametrize("name", _NAMES)
def test_every_step_of_a_derivation_is_true_at_points(name):
    """The slow path: evaluate each step where its hypotheses hold. A wrong rule would show here."""
    derivation = next(one for one in DERIVATIONS if one.of == name)
    draw = random.Random(name)
    checked = 0
    with digits(120):
        for step in built(derivation)[0].steps():
            for _ in range(6):
                checked += _true_at(step, _point(draw))
    assert checked > 30


def _point(draw):
    small = {
        name: draw.choice((1, 2, 3))
        for name in ["n", "i", "j", "k", "m", "p", "T", "t", "A", "d", "K", "n_", "m_", "s_"]
    }
    reals = (
        "B b c r gap theta q x y z h g u v w s e a score first risk best radius C lift a_ b_ k_ t_ w_ f_ p_ q_ z_ n__"
    )
    numbers = {name: F(draw.randint(-6, 12), draw.choice((1, 2, 5, 13))) for name in reals.split()}
    rows = {name: tuple(F(draw.randint(1, 9), 4) for _ in range(8)) for name in ("c", "y", "risk")}
    grid = tuple(tuple(F(draw.randint(-4, 4), 4) for _ in range(8)) for _ in range(8))
    families = {"x": grid, "s": rows["c"], "u": rows["y"]}
    return {**numbers, **small, "theta": F(draw.randint(1, 9), 20)}, {**rows, **families}


def _true_at(step, point):
    """1 if the step was evaluated and is true; 0 if a hypothesis fails or has no value."""
    scalars, families = point
    used = {
        term.args[0] for formula in (*step.hypotheses, step.conclusion) for term in _terms(formula) if term.op == "at"
    }
    values = {**scalars, **{name: families[name] for name in used if name in families}}
    if "x" in used and not any(
        len(t.args) == 3 for f in (*step.hypotheses, step.conclusion) for t in _terms(f) if t.op == "at"
    ):
        values["x"] = families["s"]
    try:
        if not all(_surely(formula, values) for formula in step.hypotheses):
            return 0
        if step.conclusion.op == "==":
            left, right = (value(side, values) for side in step.conclusion.args)
            assert ball(left).overlaps(ball(right)), (step, values)
            return 1
        found = holds(step.conclusion, values)
    except (Refused, KeyError, TypeError, OverflowError):
        return 0
    assert found, (step, values)
    return 1


def _surely(formula, values):
    if formula.op == "==":
        left, right = (value(side, values) for side in formula.args)
        return isinstance(left, F) and isinstance(right, F) and left == right
    return holds(formula, values)


def _terms(one):
    yield one
    for argument in one.args:
        if isinstance(argument, Term | Formula):
            yield from _terms(argument)
