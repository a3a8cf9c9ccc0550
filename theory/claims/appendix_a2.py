"""Appendix A.2: the proof of Theorem 1, step by step."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from theory import corrected, paper
from theory.claims import section_4_1
from theory.claims.appendix_a1 import LEMMA_3, LEMMA_3_CASES, LEMMA_3_MUTANT
from theory.claims.assumptions import (
    ARMS,
    FEASIBLE_GAP,
    LARGEST_GAP,
    LAUNCH_64,
    ONE_ROW_OR_AFFINE,
    THETA,
    WALK,
)
from theory.claims.claim import Claim, Place, Reading
from theory.claims.exact_losses import c
from theory.claims.instances import corner_violation, mean_absolute_walk, walk_violation
from theory.claims.uniform import (
    CORNER_CASES,
    CORNER_PREMISES,
    SIZES,
    corner_allowance,
    corner_allowance_corrected,
    log_fail,
    regret_corrected,
    regret_printed,
)
from theory.constants import loss_range, tight_rademacher_constant

F = Fraction


def rademacher(m: int, theta: float, r: float) -> float:
    """R_m(ℓ∘F), exactly: half the range for one row, r·E|S_m|/m for the walk in the affine regime."""
    if m == 1:
        return float(loss_range(theta, r)) / 2
    return r * mean_absolute_walk(m)


RADEMACHER_CASES = tuple(
    {"m": m, "theta": theta, "r": r}
    for theta in (0.001, 0.1, 0.25, 0.4)
    for m, r in ((1, 0.1), (1, 1 - 2 * theta), (1, 3.0), (1, 30.0), (2, 1 - 2 * theta), (100, 1 - 2 * theta))
)


def walk_term_d(n: int, theta: float, delta: float) -> float:
    """2cr/√m + √(log(1/δ)/2m) at r = 1 − 2θ."""
    return float(paper.term_d(n, theta, 1 - 2 * theta, delta))


def walk_step_3(n: int, theta: float, delta: float) -> float:
    """2R_m + √(log(1/δ)/2m) with the exact Rademacher complexity of the walk."""
    return 2 * (1 - 2 * theta) * mean_absolute_walk(n) + math.sqrt(math.log(1 / delta) / (2 * n))


def walk_hoeffding(n: int, theta: float, delta: float) -> float:
    """M√(log(1/δ)/2m), Hoeffding for one fixed model; the range of the walk's loss is 2r."""
    return float(corrected.term_d(n, theta, 1 - 2 * theta, delta))


WALK_TERM_D = ({"n": 30, "p": F(16, 25), "theta": F(1, 1000), "delta": F(64, 10**7)},)
WALK_STEP_3 = ({"n": 10, "p": F(33, 50), "theta": F(1, 1000), "delta": F(1, 2500)},)


def _opened(n: int, m: int, theta: float, r: float, delta: float) -> float:
    """The four terms without R_ap, K = 2, at the largest gap r of the affine regime."""
    return float(paper.excess_risk_uniform(2 * n, 2, r, theta, r, m, delta))


def _order(rows: Any) -> Any:
    def bound(n: int, m: int, theta: float, r: float, delta: float) -> float:
        n = rows(n, m)
        return 8 * c(theta) * (r / math.sqrt(n) + math.sqrt(math.log(6 / delta) / (2 * n)))

    return bound


def _parts(share: int) -> Any:
    """Term (a) + term (d) + the bound of term (b), each at δ/share."""

    def total(n: int, m: int, theta: float, r: float, delta: float) -> float:
        part = delta / share
        return float(
            paper.term_a(m, theta, r, part) + paper.term_d(m, theta, r, part) + regret_printed(n, r, theta, part)
        )

    return total


_OPENED_CASES = tuple(
    {"n": n, "m": m, "theta": theta, "r": r, "delta": 0.05}
    for (n, m), theta, r in product(((10**6, 10), (1000, 1000), (1000, 10**5)), (0.1, 0.2), (0.3, 0.6))
)


def margin(n: int, gap: float, theta: float, r: float, **_: Any) -> float:
    """Δ/2 − 2cr/√n."""
    return gap / 2 - 2 * c(theta) * r / math.sqrt(n)


def _simplified(n: int, K: int, gap: float, theta: float, r: float) -> float:
    return float(paper.delta_fail_uniform_simplified(K * n, K, gap, theta, r, log=True))


def _appendix(n: int, K: int, gap: float, theta: float, r: float) -> float:
    return float(paper.delta_fail_uniform_appendix(K * n, K, gap, theta, r, log=True))


def _retyped(n: int, K: int, gap: float, theta: float, r: float) -> float:
    rate = gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * math.sqrt(r**2 / n)
    return math.log(4) + math.log(K - 1) - 2 / 9 * n * rate**2


BARELY = (
    {"n": 226, "K": 2, "gap": 0.3, "theta": 0.1, "r": 0.5},
    {"n": 1500, "K": 5, "gap": 0.3, "theta": 0.1, "r": 0.5},
    *SIZES,
)
_SMALL_GAPS = tuple(
    {"n": 10**9, "K": 2, "gap": gap, "theta": 0.1, "r": 0.5, "constant": 0.01} for gap in (0.5, 0.1, 0.01)
)

CLAIMS = (
    Claim(
        id="a2-step-1",
        where=Place("A.2", "decomposition", 714),
        statement=(
            r"R_{i_s}(\hat f_{i_s})-R_1^*=(a)+(b)+(c)+(d)+(e),\ f_1^*=\arg\min_{\mathcal H_1\times\mathcal "
            r"G_1}R_1^{surr}"
        ),
        plain="The five-term decomposition with the comparator that A.2 defines.",
        printed="holds",
        kind="identity",
        cases=section_4_1.DECOMPOSITIONS,
        reading=section_4_1.KEY_IDENTITY,
        mutant=section_4_1.KEY_IDENTITY_PRINTED,
        assumptions=(THETA,),
    ),
    Claim(
        id="a2-term-c",
        where=Place("A.2", "term (c) <= 0", 720),
        statement=r"\hat R_{tr,1}^{surr}(\hat f_1^*)\le\hat R_{tr,1}^{surr}(f_1^*)",
        plain="Term (c) is not positive, because the first model minimises the empirical risk over the ball.",
        printed="holds",
        kind="inequality",
        cases=section_4_1.DECOMPOSITIONS,
        reading=Reading(section_4_1.term_c, "<=", lambda **_: 0),
        mutant=Reading(section_4_1.term_c, "<=", lambda **_: F(-1, 1000)),
        assumptions=(THETA,),
    ),
    Claim(
        id="term-a",
        where=Place("A.2", "term (a)", 725),
        statement=(
            r"\mathtt{term(a)}\le\tfrac{2-2\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt m}+\sqrt{\tfrac{"
            r"\log(1/\delta_1)}{2m}}"
        ),
        plain=(
            "Lemma 3 on the training set bounds term (a) for every model of the ball of a fixed feature, "
            "hence for the learned one when i_s = 1. (With several best features take delta_1/K for each of "
            "the K: which of them tie depends on the training set that the lemma is about.)"
        ),
        printed="holds",
        kind="exact-probability",
        cases=LEMMA_3_CASES,
        reading=LEMMA_3,
        mutant=LEMMA_3_MUTANT,
        assumptions=(THETA,),
    ),
    Claim(
        id="a2-step-3",
        where=Place("A.2", "term (d) by Rademacher complexity", 732),
        statement=r"\hat R_{tr,1}^{surr}(f_1^*)-R_1^{surr}(f_1^*)\le2\mathfrak R_m(\tilde{\mathcal F}_1)+"
        r"\sqrt{\tfrac{\log(1/\delta_2)}{2m}}",
        plain=(
            "The classical bound takes the loss in [0, 1]; its range is up to 2 on the walk, and ten rows "
            "break the bound with probability above delta."
        ),
        printed="holds-corrected",
        kind="exact-probability",
        cases=WALK_STEP_3,
        reading=Reading(walk_violation(walk_step_3), "<=", lambda delta, **_: delta),
        repaired=Reading(walk_violation(walk_hoeffding), "<=", lambda delta, **_: delta),
        corrected=r"\le M\sqrt{\log(1/\delta_2)/2m}\text{ (one fixed model needs no Rademacher term)}",
        assumptions=(THETA, WALK),
        errata=("E4",),
    ),
    Claim(
        id="a2-step-4",
        where=Place("A.2", "Rademacher complexity of the surrogate", 734),
        statement=(
            r"\mathfrak R_m(\ell_{surr}\circ\mathcal F)\le\tfrac{1-\theta}{1-2\theta}\tfrac{\kappa\Lambda}{"
            r"\sqrt m}"
        ),
        plain="The Rademacher complexity of the loss class; the constant is right (and not the smallest).",
        printed="holds",
        kind="inequality",
        cases=RADEMACHER_CASES,
        reading=Reading(rademacher, "<=", lambda m, theta, r: c(theta) * r / math.sqrt(m)),
        repaired=Reading(
            rademacher, "<=", lambda m, theta, r: float(tight_rademacher_constant(theta)) * r / math.sqrt(m)
        ),
        mutant=Reading(rademacher, "<=", lambda m, theta, r: 0.9 * c(theta) * r / math.sqrt(m)),
        corrected=r"\le\max\{1,\tfrac1{2(1-2\theta)}\}\,\kappa\Lambda/\sqrt m",
        assumptions=(THETA, ONE_ROW_OR_AFFINE),
        errata=("E14",),
    ),
    Claim(
        id="term-d",
        where=Place("A.2", "term (d)", 736),
        statement=(
            r"\mathtt{term(d)}\le\tfrac{2-2\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt m}+\sqrt{\tfrac{"
            r"\log(1/\delta_2)}{2m}}"
        ),
        plain=("The bound of term (d) at level delta_2; thirty rows break it with probability above delta_2 = 6.4e-6."),
        printed="holds-corrected",
        kind="exact-probability",
        cases=WALK_TERM_D,
        reading=Reading(walk_violation(walk_term_d), "<=", lambda delta, **_: delta),
        repaired=Reading(walk_violation(walk_hoeffding), "<=", lambda delta, **_: delta),
        corrected=r"\le M\sqrt{\log(1/\delta_2)/2m}",
        assumptions=(THETA, WALK),
        errata=("E4",),
    ),
    Claim(
        id="a2-term-b",
        where=Place("A.2", "term (b) by Lemma 1", 742),
        statement=(
            r"\mathtt{term(b)}\le\tfrac{4-4\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt n}+2\sqrt{\tfrac{"
            r"\log(2/\delta_3)}{2n}}"
        ),
        plain="Lemma 1 (ii) at delta_3; it inherits the missing range constant.",
        printed="holds-corrected",
        kind="exact-probability",
        cases=CORNER_CASES,
        reading=Reading(corner_violation(regret_printed), "<=", corner_allowance, vacuous_from=1.0),
        repaired=Reading(corner_violation(regret_corrected), "<=", corner_allowance_corrected, vacuous_from=1.0),
        corrected=r"\cdots+2M\sqrt{\log(2/\delta_3)/2n}",
        assumptions=CORNER_PREMISES,
        errata=("E4",),
    ),
    Claim(
        id="a2-sum",
        where=Place("A.2", "sum of the terms", 746),
        statement=(
            r"\delta_i=\tfrac\delta3:\ (a)+(b)+(d)\le\tfrac{4-4\theta}{1-2\theta}\Big(\tfrac{\kappa\Lambda}{"
            r"\sqrt m}+\tfrac{\kappa\Lambda}{\sqrt n}\Big)+2\sqrt{\tfrac{\log(3/\delta)}{2m}}+2\sqrt{\tfrac{"
            r"\log(6/\delta)}{2n}}"
        ),
        plain="The three bounds at delta/3 each add up to the display.",
        printed="holds",
        kind="identity",
        cases=_OPENED_CASES,
        reading=Reading(_parts(3), "==", _opened),
        mutant=Reading(_parts(2), "==", _opened),
        assumptions=(THETA, LARGEST_GAP),
    ),
    Claim(
        id="a2-order",
        where=Place("A.2", "O() of the sum", 747),
        statement=(
            r"\cdots=O\Big(\tfrac{\kappa\Lambda}{\sqrt{\lfloor B/K\rfloor}}+\sqrt{\tfrac{\log(6/\delta)}{2"
            r"\lfloor B/K\rfloor}}\Big)"
        ),
        plain="The terms with m are absorbed by the terms with n (constant 8c). True for n <= m only.",
        printed="holds-corrected",
        kind="counterexample",
        cases=_OPENED_CASES,
        reading=Reading(_opened, "<=", _order(lambda n, m: n)),
        repaired=Reading(_opened, "<=", _order(min)),
        corrected=r"\text{for }\lfloor B/K\rfloor\le m",
        assumptions=(THETA, LARGEST_GAP),
        errata=("E15",),
    ),
    Claim(
        id="a2-quarter",
        where=Place("A.2", "margin under the factor 64", 749),
        statement=r"n>\tfrac{64((1-\theta)\kappa\Lambda)^2}{((1-2\theta)\Delta)^2}\Rightarrow\tfrac\Delta2-"
        r"\tfrac{2-2\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt n}\ge\tfrac\Delta4",
        plain="The identification condition of the theorem leaves at least a quarter of the gap.",
        printed="holds",
        kind="inequality",
        cases=BARELY,
        reading=Reading(margin, ">=", lambda gap, **_: gap / 4),
        mutant=Reading(margin, ">=", lambda gap, **_: gap / 3),
        assumptions=(THETA, ARMS, LAUNCH_64),
    ),
    Claim(
        id="a2-absolute-constant",
        where=Place("A.2", "absolute constant", 749),
        statement=(
            r"\tfrac\Delta2-\tfrac{2-2\theta}{1-2\theta}\tfrac{\kappa\Lambda}{\sqrt n}>\text{an absolute"
            r" constant}"
        ),
        plain=(
            "The margin exceeds a constant that does not depend on the data. It is of the order of the gap, "
            "which can be arbitrarily small."
        ),
        printed="refuted",
        kind="counterexample",
        cases=_SMALL_GAPS,
        reading=Reading(margin, ">", lambda constant, **_: constant),
        repaired=Reading(margin, ">=", lambda gap, **_: gap / 4),
        corrected=r"\ge\Delta/4\text{, a constant of the training set}",
        assumptions=(THETA, LAUNCH_64),
        errata=("E12",),
    ),
    Claim(
        id="a2-delta-line-1",
        where=Place("A.2", "failure probability, first line", 751),
        statement=(
            r"\delta_{fail}=4(K-1)\exp\Big(-\tfrac29n\Big(\tfrac\Delta2-\tfrac{4-4\theta}{1-2\theta}\tfrac{"
            r"\kappa\Lambda}{\sqrt n}\Big)^2\Big)"
        ),
        plain="The display repeats delta_fail of Eq. 9; it prints 4 - 4 theta where Eq. 9 has 2 - 2 theta.",
        printed="refuted",
        kind="identity",
        cases=BARELY,
        reading=Reading(log_fail, "==", _appendix, log=True),
        repaired=Reading(log_fail, "==", _retyped, log=True),
        corrected=r"\tfrac{2-2\theta}{1-2\theta}",
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
        errata=("E11",),
    ),
    Claim(
        id="a2-delta-line-2",
        where=Place("A.2", "failure probability, second line", 752),
        statement=r"4(K-1)\exp(\cdots(4-4\theta)\cdots)\le4(K-1)\exp\Big(-\tfrac29n\tfrac{\Delta^2}{16}\Big)",
        plain=(
            "The first line is at most the second. With the misprinted constant it is not (n = 226: 4.0000 "
            "against 3.0156)."
        ),
        printed="refuted",
        kind="counterexample",
        cases=BARELY,
        reading=Reading(_appendix, "<=", _simplified, log=True),
        repaired=Reading(log_fail, "<=", _simplified, log=True),
        corrected=r"\text{the same with }\tfrac{2-2\theta}{1-2\theta}",
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
        errata=("E11",),
    ),
    Claim(
        id="a2-delta-line-3",
        where=Place("A.2", "failure probability, third line", 753),
        statement=r"\tfrac29\cdot\tfrac1{16}=\tfrac1{72}",
        plain="The constants of the exponent.",
        printed="holds",
        kind="identity",
        cases=({"gap": F(3, 10), "n": 226},),
        reading=Reading(lambda gap, n: F(2, 9) * n * (gap / 4) ** 2, "==", lambda gap, n: gap**2 * n / 72),
        mutant=Reading(lambda gap, n: F(2, 9) * n * (gap / 4) ** 2, "==", lambda gap, n: gap**2 * n / 36),
    ),
    Claim(
        id="a2-delta-line-4",
        where=Place("A.2", "failure probability, fourth line", 754),
        statement=r"4(K-1)\exp(-\tfrac{\Delta^2}{72}n)=O(\exp(-n))",
        plain="At most a constant (here e^200) times exp(-n). The ratio grows like exp(n(1 - Delta^2/72)).",
        printed="refuted",
        kind="counterexample",
        cases=SIZES,
        reading=Reading(_simplified, "<=", lambda n, **_: 200.0 - n, log=True),
        repaired=Reading(_simplified, "<=", lambda n, K, gap, **_: math.log(4 * K) - gap**2 * n / 72, log=True),
        corrected=r"\exp(-\Omega(\Delta^2n))",
        assumptions=(THETA, ARMS, LAUNCH_64, FEASIBLE_GAP),
        errata=("E13",),
    ),
)
