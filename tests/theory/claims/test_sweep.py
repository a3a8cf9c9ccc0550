"""Statements on small and random values inside their stated premises: none may hide behind its cases.

Every corrected statement whose cases are numbers is drawn from a box that is wider than its premises, and judged
wherever the premises hold.  Counting statements are enumerated.
"""

import dataclasses
import math
import random
from fractions import Fraction
from itertools import product

import pytest

from theory.claims import all_claims, get
from theory.claims.section_3_2 import COSTS

F = Fraction
SMALLER = [{"B": B, "K": K} for K in range(2, 33) for B in (*range(320), *range(2990, 3000))]


def admissible(claim, case):
    return all(premise.holds(**case) for premise in claim.assumptions)


def violations(claim, reading, cases):
    """The admissible cases that refute a reading, and how many were admissible."""
    kept = [case for case in cases if admissible(claim, case)]
    wrong = [case for case in kept if dataclasses.replace(claim, cases=(case,)).examine(reading).outcome == "refuted"]
    return wrong, len(kept)


COUNTED = ["me-budget-gain", "me-sample-count", "lemma-2-first-round", *(f"a5-count-{i}" for i in (1, 2, 3, 4))]


@pytest.mark.parametrize("claim_id", COUNTED)
def test_counting_statements_hold_for_every_small_budget(claim_id):
    claim = get(claim_id)
    cases = [case for case in SMALLER if admissible(claim, case)]
    assert len(cases) > 50
    for case in cases:
        left, right = claim.repaired.left(**case), claim.repaired.right(**case)
        assert claim.repaired.holds(left, right), case


def test_the_proof_that_median_elimination_gains_leaves_only_budgets_below_36():
    """(X + 1)(H - T/K) >= T, the condition in the proof, holds for all X >= K but those that the cases enumerate."""
    for K in range(3, 2000):
        rounds, active = (K - 1).bit_length(), [K]
        while active[-1] > 2:
            active.append(-(-active[-1] // 2))
        slope = sum(F(1, a) for a in active) - F(rounds, K)
        settled = max(K, math.ceil(rounds / slope) - 1)
        assert settled == K if rounds >= 4 else settled * rounds < 36
    covered = {(case["B"], case["K"]) for case in get("me-budget-gain").cases}
    assert all((B, K) in covered for K in range(3, 9) for B in range(K * (K - 1).bit_length(), 36))


def test_the_corrected_chain_of_a5_holds_for_every_k_up_to_400():
    claim = get("a5-wlog")
    for K in range(2, 401):
        share = K * (K - 1).bit_length()
        # The floors hurt most with few rows, just above and just below a multiple of the share.
        for B, q in product((K * share, (K + 1) * share - 1, (K + 3) * share - 1), (1e-6, 0.01, 1 / 9, 0.3, 0.6, 0.95)):
            case = {"B": B, "K": K, "q": q}
            assert admissible(claim, case)
            assert claim.repaired.holds(claim.repaired.left(**case), claim.repaired.right(**case)), case


@pytest.mark.parametrize("arms", [2, 3, 4, 5])
@pytest.mark.parametrize("claim_id", ["a4-step-1", "a5-half"])
def test_statements_about_scores_hold_for_all_orders_and_ties(claim_id, arms):
    cases = [{"scores": scores} for scores in product(range(3), repeat=arms)]
    wrong, _ = violations(get(claim_id), get(claim_id).repaired, cases)
    assert wrong == []


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def rows(rng, high=10**6):
    return max(1, round(log_uniform(rng, 1, high)))


def share(rng, denominator=60):
    return F(rng.randint(0, denominator), denominator)


def sizes(rng, power_of_two=False):
    """(n, K, gap, theta, r), gaps of both signs and launch conditions met or not."""
    r = log_uniform(rng, 0.01, 5)
    K = rng.randint(2, 64) if not power_of_two else 2 ** rng.randint(1, 6)
    gap = r * rng.choice((log_uniform(rng, 0.01, 1), -rng.random()))
    return {"n": rows(rng), "K": K, "gap": gap, "theta": rng.uniform(0.001, 0.6), "r": r}


def without(case, *names):
    return {name: value for name, value in case.items() if name not in names}


def walk(rng):
    return {
        "n": rng.randint(1, 40),
        "p": share(rng),
        "theta": F(rng.randint(1, 60), 100),
        "delta": F(1, max(1, round(log_uniform(rng, 1, 10**7)))),
    }


def outliers(rng, *counts):
    """p on both sides of q, q on both sides of 1/(1 + r), counts between the two means."""
    r, n = log_uniform(rng, 0.5, 50), rows(rng, 10**9)
    q = rng.uniform(0.3, 1.2) / (1 + r)
    p = q * rng.uniform(0.3, 1.2)
    middle = min(n, max(0, round(n * (p + rng.random() * (q - p)))))
    case = {"r": r, "theta": 10 ** rng.uniform(-9, -1), "n": n, "p": p, "q": q}
    return {**case, **{name: max(0, middle - index) for index, name in enumerate(counts)}}


def corner(rng):
    tilt, third = log_uniform(rng, 1e-3, 1), log_uniform(rng, 1e-3, 1)
    return {"n": rows(rng), "tilt": tilt, "third": third, "delta": 10 ** rng.uniform(-12, 0)}


def one_row(rng):
    theta = F(rng.randint(1, 60), 100)
    delta = F(1, max(1, round(log_uniform(rng, 1, 10**6))))
    return {"n": rows(rng, 10**12), "noise": theta * share(rng, 40), "theta": theta, "delta": delta, "constant": 1}


def opened(rng):
    case = {"n": rows(rng), "m": rows(rng), "theta": rng.uniform(0.001, 0.6), "delta": 10 ** rng.uniform(-9, 0)}
    return {**case, "r": rng.uniform(0, 1.2)}


def gaps(rng, number):
    return tuple(rng.choice((0.0, rng.uniform(0.01, 1), rng.uniform(0.01, 1))) for _ in range(number))


def point(rng):
    return {
        "h": F(rng.randint(-60, 60), 12),
        "g": F(rng.randint(-60, 60), 12),
        "y": rng.choice((-1, 1)),
        "theta": F(rng.randint(1, 99), 100),
    }


def pair(rng):
    return {"eta": share(rng), "theta": F(rng.randint(1, 60), 100)}


def decomposition(rng):
    radius = F(rng.randint(1, 80), 20)
    return {**pair(rng), "sampled": share(rng), "train": share(rng), "radius": radius}


def fit(rng, *data):
    C = F(rng.randint(1, 40), rng.randint(1, 20))
    return {"data": rng.choice(data), "theta": F(rng.randint(1, 60), 100), "C": rng.choice((C, F(1)))}


def prices(rng):
    feature, original = rng.sample(sorted(COSTS), 2)
    return {"b": rng.randint(1, 400), "feature": feature, "original": original}


def orthogonal(rng):
    scale = log_uniform(rng, 0.01, 100)
    radius, kappa = F(scale).limit_denominator(1000), F(1) / F(rng.choice((1, 10, 100)))
    n = rows(rng, 10**5)
    return {"kappa": kappa, "radius": radius, "n": n, "m": n * rows(rng, 10**3), "first": kappa * share(rng)}


CONDITION = lambda rng: without(sizes(rng), "n")  # noqa: E731
DRAWS = {
    **dict.fromkeys(["eq-1", "eq-4-value", "surrogate-does-no-harm"], pair),
    **dict.fromkeys(["eq-1-rejection-rule", "eq-2"], point),
    **dict.fromkeys(["sample-alignment", "budget-alignment"], prices),
    **dict.fromkeys(["eq-8", "eq-8-term-c"], decomposition),
    **dict.fromkeys(["lemma-1-condition", "lemma-2-condition", "remark-7-launch-budget"], CONDITION),
    **dict.fromkeys(["thm-1-delta-order", "a2-delta-line-1", "a2-delta-line-2", "a2-delta-line-4"], sizes),
    **dict.fromkeys(["thm-1", "thm-2"], one_row),
    **dict.fromkeys(["lemma-1-ii", "lemma-2-ii", "a2-term-b", "a3-term-b", "a5-regret"], corner),
    **dict.fromkeys(["a2-step-3", "term-d", "a4-term-a", "a4-term-c", "a6-generalisation", "a6-index"], walk),
    **dict.fromkeys(["thm-2-delta-order", "a3-order"], lambda rng: sizes(rng, power_of_two=True)),
    **dict.fromkeys(["lemma-4", "a4-lemma-4", "a5-pairs-line-1"], lambda rng: outliers(rng, "first", "second")),
    **dict.fromkeys(["a6-tail", "a6-term-a", "a6-term-b"], lambda rng: outliers(rng, "count")),
    **dict.fromkeys(["eq-4", "quality-order"], lambda rng: without(pair(rng), "eta")),
    "candidates-ranked": lambda rng: {
        "theta": F(rng.randint(1, 99), 200),
        "flat": (rng.randint(-9, 9), rng.randint(1, 9)),
        "steep": (rng.randint(-9, 9), -rng.randint(1, 9)),
    },
    "eq-3-ball": lambda rng: {**fit(rng, "two-clusters", "overlap", "unbalanced"), "other": "overlap"},
    "eq-3-parameters": lambda rng: fit(rng, "two-clusters"),
    "me-one-left": lambda rng: {"K": rng.randint(2, 10**6)},
    "me-draw": lambda rng: {"K": rng.randint(1, 40), "m": rng.randint(1, 60), "ratio": share(rng, 20)},
    "eq-6": lambda rng: {
        "B": rows(rng),
        "theta": F(rng.randint(1, 60), 100),
        "delta": F(1, round(log_uniform(rng, 1, 10**12))),
        "constant": rng.randint(1, 5),
    },
    "assumption-necessary": lambda rng: {**without(pair(rng), "eta"), "noise": share(rng), "scale": share(rng, 40)},
    "remark-5-launch-budget": lambda rng: {"name": "opposed", "B": rng.randint(2, 60)},
    "remark-7-sqrt-log": lambda rng: {
        "B": 64 * rng.randint(10**4, 10**6),
        "K": rng.choice((2, 4, 16)),
        "theta": rng.uniform(0.01, 0.3),
        "r": 0.5,
        "delta": rng.uniform(0.001, 1),
    },
    "a2-absolute-constant": lambda rng: {**sizes(rng), "constant": 0.01},
    "lemma-3-theta": lambda rng: {"theta": F(rng.randint(1, 99), 100), "m": rows(rng), "delta": rng.uniform(0.001, 1)},
    "lemma-4-kappa": orthogonal,
    "a2-step-4": lambda rng: {"m": rows(rng, 200), "theta": rng.uniform(0.001, 0.6), "r": log_uniform(rng, 0.01, 50)},
    "a2-order": opened,
    "a4-min-gap": lambda rng: {"gaps": gaps(rng, 3), "n": rows(rng), "theta": rng.uniform(0.001, 0.6), "r": 0.5},
    "a4-term-b": lambda rng: {
        "theta": F(rng.randint(1, 60), 100),
        "radius": F(rng.randint(1, 40), 20),
        "C": F(rng.randint(1, 40), 10),
    },
}
BUDGET = lambda rng: {"B": rows(rng), "K": rng.randint(1, 300)}  # noqa: E731
SPLIT = lambda rng: without(decomposition(rng), "eta")  # noqa: E731
SERIES = lambda rng: {"T": rng.randint(1, 12), "q": rng.uniform(0, 1.2)}  # noqa: E731
HOLDING_DRAWS = {
    "eq-2-upper-bound": point,
    "eq-3-quadratic-program": point,
    "r-ap": lambda rng: without(decomposition(rng), "sampled", "train"),
    "hypothesis-ball": lambda rng: {
        "features": tuple(F(rng.randint(-60, 60), 20) for _ in range(rng.randint(1, 4))),
        "radius": F(rng.randint(1, 80), 20),
    },
    **dict.fromkeys(("a2-step-1", "a2-term-c"), decomposition),
    **dict.fromkeys(("a4-identity", "a6-split", "a6-drop"), SPLIT),
    **dict.fromkeys(("ua-allocation", "me-spend", "me-largest-sample"), BUDGET),
    **dict.fromkeys(("thm-1-decay", "a2-quarter", "a3-numerator", "a3-denominator-1", "a3-denominator-2"), sizes),
    **dict.fromkeys(("a3-quarter", "a3-delta"), lambda rng: sizes(rng, power_of_two=True)),
    "a3-absolute-constant": sizes,
    "a6-conclusion": lambda rng: without({**sizes(rng), "theta": 0.2, "r": 0.5, "gap": rng.uniform(0.01, 0.5)}, "K"),
    **dict.fromkeys(("a5-series-1", "a5-series-2"), SERIES),
}
# Statements about named pools and exact distributions of whole rounds; their cases are enumerations already.
NAMED = {"a4-conditioning", "a5-expectation", "a5-sum", "eq-7-optimality-gap", "lemma-1-i", "lemma-2-i"}
NAMED |= {"me-draw-replacement", "me-fails-more", "remark-7-low-order"}
ENUMERATED = {*COUNTED, "a4-step-1", "a5-half", "a5-wlog"}


def test_no_corrected_statement_is_left_out():
    corrected = {claim.id for claim in all_claims() if claim.repaired is not None}
    assert corrected == DRAWS.keys() | NAMED | ENUMERATED


@pytest.mark.parametrize("claim_id", sorted(DRAWS.keys() | HOLDING_DRAWS.keys()))
def test_statement_holds_wherever_its_premises_do(claim_id):
    """As corrected, or as printed where that holds."""
    rng, claim = random.Random(claim_id), get(claim_id)
    draw = {**DRAWS, **HOLDING_DRAWS}[claim_id]
    # Exact minima over a ball take milliseconds each, and their premises hardly exclude a case.
    number = 120 if draw(rng).keys() >= {"eta", "radius"} or "train" in draw(rng) else 400
    wrong, kept = violations(claim, claim.repaired or claim.reading, [draw(rng) for _ in range(number)])
    assert wrong == []
    assert kept >= 15


# Each premise, and a case that breaks it and nothing else, and refutes the statement if the premise is dropped.
NEEDED = {
    ("a5-count-1", "divides B"): {"B": 12, "K": 4},
    ("a5-count-2", "divides B"): {"B": 12, "K": 4},
    ("me-budget-gain", "first episode"): {"B": 5, "K": 5},
    ("a5-wlog", "at least K rows"): {"B": 15, "K": 5, "q": 0.1},
    ("thm-2-delta-order", "power of two"): {"n": 82, "K": 3, "gap": 0.5, "theta": 0.1, "r": 0.5},
    ("a4-min-gap", "smallest positive gap"): {"gaps": (0.05, 0.2), "n": 126, "theta": 0.1, "r": 0.5},
    ("a4-term-b", "at most 1 - 2 theta"): {"theta": F(1, 10), "radius": F(2), "C": F(1)},
    ("a6-term-a", "p < q"): {"r": 20.0, "theta": 1e-6, "n": 10**6, "count": 45000, "p": 1 / 21, "q": 0.045},
    ("a6-tail", "p < q"): {"r": 20.0, "theta": 1e-6, "n": 10**6, "count": 45000, "p": 1 / 21, "q": 0.045},
    ("a6-term-b", "p < q"): {"r": 20.0, "theta": 1e-6, "n": 10**7, "count": 476190, "p": 1 / 21, "q": 0.045},
    ("assumption-necessary", "tiny"): {"theta": F(1, 10), "noise": F(1, 10), "scale": F(1, 3)},
    ("remark-7-sqrt-log", "divides B"): {"B": 960001, "K": 4, "theta": 0.1, "r": 0.5, "delta": 0.05},
    ("eq-3-parameters", "experiments"): {"data": "two-clusters", "theta": F(1, 100), "C": F(1)},
}
STEP = (F(0), F(0), F(1, 3), F(0))
NEEDED_AS_PRINTED = {
    ("a5-doubling", "divides B"): {"B": 12, "K": 4},
    ("a5-pairs-line-2", "smallest gap"): {"n": 200, "rows": 200, "gap": 0.5, "gap_i": 0.4, "theta": 0.1, "r": 0.5},
    ("a5-pairs-line-2", "n_t >= n_1"): {"n": 400, "rows": 200, "gap": 0.5, "gap_i": 0.5, "theta": 0.1, "r": 0.5},
    ("a6-condition", "smallest gap"): {"n": 400, "gap": 0.5, "gap_i": 0.01, "theta": 0.1, "r": 0.5},
    ("surrogate-affine", "at most 1 - 2 theta"): {"h": F(2), "g": F(-1), "y": 1, "theta": F(1, 10)},
    ("eq-3", "closed form"): {"data": "two-clusters", "theta": F(2, 5), "C": F(1, 8), "step": STEP},
    ("a5-series-1", "q lies"): {"T": 3, "q": 2.0},
    ("a5-series-2", "q lies"): {"T": 3, "q": 2.0},
    ("remark-6-sqrt-k", "divides B"): {"B": 100001, "K": 2, "gap": 0.3, "theta": 0.1, "r": 0.5, "delta": 0.05},
    ("a3-constant", "same smallest"): {"theta": 0.1, "r": 0.5, "gaps": (0.0, 0.4), "more": (0.0, 0.4, 0.04)},
    ("r-ap-trivial", "kappa*Lambda"): {"eta": F(1), "theta": F(1, 10), "radius": F(2)},
}


@pytest.mark.parametrize(("claim_id", "premise"), [*NEEDED, *NEEDED_AS_PRINTED])
def test_a_premise_is_stated_and_needed(claim_id, premise):
    claim, key = get(claim_id), (claim_id, premise)
    case, reading = (NEEDED[key], claim.repaired) if key in NEEDED else (NEEDED_AS_PRINTED[key], claim.reading)
    broken = [assumption.name for assumption in claim.assumptions if not assumption.holds(**case)]
    assert any(premise in name for name in broken)
    loose = dataclasses.replace(claim, cases=(case,), assumptions=())
    assert loose.examine(reading).outcome == "refuted"
