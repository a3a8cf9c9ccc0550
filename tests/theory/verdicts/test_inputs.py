"""Verdicts take every kind of number for what it is, refuse what is no count, and say it in plain words."""

from fractions import Fraction

import numpy as np
import pytest

from theory.verdicts import (
    clopper_pearson,
    critical_count,
    detectable_rate,
    judge,
    judge_family,
    tail,
)

WIDEST = [np.iinfo(kind) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)]


@pytest.mark.parametrize("kind", WIDEST, ids=lambda kind: str(kind.dtype))
def test_narrow_integers_are_judged_like_python_integers(kind):
    trials = int(kind.max)
    for failures in (0, 1, trials // 10, trials):
        narrow = kind.dtype.type(failures), kind.dtype.type(trials)
        assert judge(*narrow, 0.1) == judge(failures, trials, 0.1)
        assert judge_family([(*narrow, 0.1)]) == judge_family([(failures, trials, 0.1)])
        assert clopper_pearson(*narrow, 1e-3) == clopper_pearson(failures, trials, 1e-3)
        assert tail(*narrow, 0.1) == tail(failures, trials, 0.1)
    assert detectable_rate(kind.dtype.type(1), kind.dtype.type(trials)) == detectable_rate(1, trials)
    assert critical_count(kind.dtype.type(trials), 0.1, 1e-6) == critical_count(trials, 0.1, 1e-6)


@pytest.mark.parametrize("count", [2.5, 2.0, True, np.True_, "2", None, Fraction(2), np.array([1, 2])], ids=repr)
def test_what_is_no_whole_number_is_no_count(count):
    for counts in ((count, 10), (0, count)):
        for call in (
            lambda counts: judge(*counts, 0.1),
            lambda counts: judge_family([(*counts, 0.1)]),
        ):
            with pytest.raises(ValueError, match=r"(failures|trials) must be a whole number; got "):
                call(counts)


def test_fractions_are_bounds():
    tenth, level = Fraction(1, 10), Fraction(1, 1000)
    assert judge(3, 100, tenth, alpha=level) == judge(3, 100, 0.1, alpha=1e-3)
    assert judge_family([(3, 100, tenth)], alpha=level) == judge_family([(3, 100, 0.1)], alpha=1e-3)
    assert type(judge(3, 100, tenth).bound) is float
    assert judge(3, 100, np.float32(0.25)) == judge(3, 100, 0.25)
    for bound in ("0.1", None, 0.1j):
        with pytest.raises(ValueError, match="bound must be a real number; got "):
            judge(3, 100, bound)
    with pytest.raises(ValueError, match="bound must not be negative"):
        judge_family([(3, 100, Fraction(-1, 10))])


@pytest.mark.parametrize("bound", [0.9995, 0.9999, 1 - 1e-9, 1 - 2**-53])
def test_a_bound_below_one_does_not_read_one(bound):
    sentence = judge(10**9, 10**9, bound).sentence
    shown = sentence.split("the bound ")[1].split(":")[0]
    assert 0.999 < float(shown) < 1
