"""Which claim covers which displayed statement of the paper.

One row per displayed line of Sections 3.1, 3.2 and 4 and of Appendix A, plus the statements, algorithm lines
and remarks in running text that assert something checkable.  The lines are those of the LaTeX source.
"""

from __future__ import annotations

from dataclasses import dataclass

from theory.claims import groups


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement of the paper and the claims that check it."""

    line: int
    what: str
    claims: tuple[str, ...]


# Where a display (equation, align or $$) starts in the LaTeX source.
DISPLAYS = (
    189, 193, 194, 199, 222, 229,
    288, 311, 318, 336, 342, 354, 376, 382, 390,
    693, 704,
    714, 725, 732, 734, 736, 742, 745, 750,
    763, 771, 773, 776, 782,
    794, 803, 808, 812, 814,
    822, 827, 829, 831, 833, 842, 844,
    859, 864, 869, 873, 877, 879,
)  # fmt: skip

PASSAGES = (
    Passage(188, "rejection rule g < 0", ("eq-1-rejection-rule",)),
    Passage(189, "Eq. 1, objective", ("eq-1",)),
    Passage(193, "0-1 loss", ("eq-1",)),
    Passage(194, "Eq. 2, surrogate", ("eq-2", "eq-2-upper-bound", "surrogate-affine")),
    Passage(199, "Eq. 3, regularised objective", ("eq-3", "eq-3-ball")),
    Passage(203, "representer theorem, quadratic program", ("eq-3-representer", "eq-3-quadratic-program")),
    Passage(222, "Eq. 4, Bayes risk", ("eq-4",)),
    Passage(226, "minimal error of any rejection model", ("eq-4-value",)),
    Passage(229, "Eq. 5, score", ("eq-5",)),
    Passage(233, "surrogate does no harm", ("surrogate-does-no-harm",)),
    Passage(241, "uniform allocation", ("ua-allocation",)),
    Passage(243, "median elimination, rows of the selected feature", ("me-sample-count", "me-largest-sample")),
    Passage(253, "Algorithm 1, rows of a round", ("me-spend", "me-draw", "me-draw-replacement")),
    Passage(256, "Algorithm 1, halving", ("me-one-left",)),
    Passage(261, "gain of median elimination, its failures", ("me-budget-gain", "me-fails-more")),
    Passage(266, "sample alignment", ("sample-alignment", "sample-alignment-spend")),
    Passage(268, "budget alignment", ("budget-alignment", "budget-alignment-spend")),
    Passage(
        283,
        "hypothesis space, kappa, order of the features",
        ("hypothesis-ball", "quality-order", "eq-3-ball"),
    ),
    Passage(288, "Eq. 6, supervised learning", ("eq-6",)),
    Passage(292, "approximation error and rate", ("r-ap", "sl-rate")),
    Passage(302, "assumption", ("assumption",)),
    Passage(304, "necessity of the assumption", ("assumption-necessary",)),
    Passage(311, "Eq. 7, gaps", ("eq-7",)),
    Passage(315, "optimality gap", ("eq-7-optimality-gap",)),
    Passage(318, "Eq. 8, decomposition", ("eq-8",)),
    Passage(326, "term (c) is negative", ("eq-8-term-c",)),
    Passage(336, "Lemma 1 (i), Eq. 9", ("lemma-1-i",)),
    Passage(340, "identification condition, 16", ("lemma-1-condition",)),
    Passage(342, "Lemma 1 (ii)", ("lemma-1-ii",)),
    Passage(346, "launch budget as a statistical limit", ("remark-5-launch-budget",)),
    Passage(354, "Theorem 1, Eq. 10", ("thm-1",)),
    Passage(358, "order and decay of delta_fail", ("thm-1-delta-order", "thm-1-decay")),
    Passage(363, "extra factor sqrt K", ("remark-6-sqrt-k",)),
    Passage(376, "Lemma 2 (i), Eq. 11", ("lemma-2-i", "lemma-2-first-round")),
    Passage(380, "identification condition of Lemma 2", ("lemma-2-condition",)),
    Passage(382, "Lemma 2 (ii)", ("lemma-2-ii",)),
    Passage(390, "Theorem 2, Eq. 12", ("thm-2",)),
    Passage(394, "order of delta_fail", ("thm-2-delta-order",)),
    Passage(
        400,
        "comparison of the strategies",
        ("remark-7-sqrt-log", "remark-7-launch-budget", "remark-7-failure-bounds", "remark-7-low-order"),
    ),
    Passage(421, "parameters C_h = C_g = 1", ("eq-3-parameters",)),
    Passage(693, "Lemma 3", ("lemma-3", "lemma-3-theta")),
    Passage(704, "Lemma 4", ("lemma-4",)),
    Passage(707, "kappa in Lemma 4", ("lemma-4-kappa",)),
    Passage(714, "A.2, decomposition", ("a2-step-1",)),
    Passage(720, "A.2, term (c) <= 0", ("a2-term-c",)),
    Passage(725, "A.2, term (a)", ("term-a",)),
    Passage(732, "A.2, term (d) by Rademacher complexity", ("a2-step-3",)),
    Passage(734, "A.2, Rademacher complexity", ("a2-step-4",)),
    Passage(736, "A.2, term (d)", ("term-d",)),
    Passage(742, "A.2, term (b)", ("a2-term-b",)),
    Passage(745, "A.2, sum", ("a2-sum", "a2-order")),
    Passage(749, "A.2, a quarter of the gap, absolute constant", ("a2-quarter", "a2-absolute-constant")),
    Passage(
        750,
        "A.2, failure probability",
        ("a2-delta-line-1", "a2-delta-line-2", "a2-delta-line-3", "a2-delta-line-4"),
    ),
    Passage(763, "A.3, decomposition", ("a3-step-1",)),
    Passage(771, "A.3, term (b)", ("a3-term-b",)),
    Passage(773, "A.3, failure probability", ("a3-delta",)),
    Passage(775, "A.3, a quarter of the gap", ("a3-quarter",)),
    Passage(776, "A.3, numerator", ("a3-numerator",)),
    Passage(781, "A.3, constant C", ("a3-constant",)),
    Passage(782, "A.3, denominator", ("a3-denominator-1", "a3-denominator-2")),
    Passage(787, "A.3, absolute constant, order, combination", ("a3-absolute-constant", "a3-order", "a3-sum")),
    Passage(793, "A.4, failure implies a better score", ("a4-step-1",)),
    Passage(794, "A.4, union, Lemma 4, smallest gap", ("a4-union", "a4-lemma-4", "a4-min-gap")),
    Passage(803, "A.4, regret in three terms", ("a4-identity",)),
    Passage(807, "A.4, term (b) <= 0", ("a4-term-b",)),
    Passage(808, "A.4, term (a)", ("a4-term-a",)),
    Passage(812, "A.4, term (c)", ("a4-term-c",)),
    Passage(813, "A.4, conditioning", ("a4-conditioning",)),
    Passage(814, "A.4, sum", ("a4-sum",)),
    Passage(815, "A.4, conclusion", ("a4-conclusion",)),
    Passage(821, "A.5, without loss of generality", ("a5-wlog",)),
    Passage(822, "A.5, pairs", ("a5-pairs-line-1", "a5-pairs-line-2")),
    Passage(826, "A.5, discarded means beaten by half", ("a5-half",)),
    Passage(827, "A.5, expectation", ("a5-expectation", "a5-expectation-bound")),
    Passage(829, "A.5, Markov", ("a5-markov",)),
    Passage(831, "A.5, sum over rounds", ("a5-sum",)),
    Passage(832, "A.5, rows double", ("a5-doubling",)),
    Passage(833, "A.5, series", ("a5-series-1", "a5-series-2", "a5-series-3")),
    Passage(842, "A.5, regret", ("a5-regret",)),
    Passage(844, "A.5, sum of the rows", ("a5-count-1", "a5-count-2", "a5-count-3", "a5-count-4")),
    Passage(859, "A.6, two events", ("a6-inclusion", "a6-union")),
    Passage(863, "A.6, gap", ("a6-gap",)),
    Passage(864, "A.6, split", ("a6-split", "a6-drop")),
    Passage(869, "A.6, generalisation bound", ("a6-generalisation", "a6-index", "a6-rademacher")),
    Passage(872, "A.6, identification condition", ("a6-condition",)),
    Passage(873, "A.6, tail", ("a6-tail",)),
    Passage(877, "A.6, term (a)", ("a6-term-a",)),
    Passage(879, "A.6, term (b)", ("a6-term-b",)),
    Passage(880, "A.6, conclusion", ("a6-conclusion",)),
)

# What is wrong, in a few words; the claims that carry the name show it.
ERRATA = {
    "E1": "Eq. 1 charges nothing at h = 0, so every Bayes risk is zero.",
    "E2": "The surrogate and Lemma 3 need theta below one half, not below one.",
    "E3": "Eq. 3 with the mean loss and C = 1 rejects every point.",
    "E4": "Hoeffding and McDiarmid are used with range 1 where the loss has range M, up to 2 and more.",
    "E5": "Lemma 4 fails for large kappa*Lambda: the factor 2/9 absorbs a range up to 3 only.",
    "E6": "kappa in Lemma 4 lacks the square root.",
    "E7": "Ties: equally good features and equal scores are ignored.",
    "E8": "The selected feature of median elimination has (K - 1) n_1 rows if K log2 K divides B, not K n_1 or more.",
    "E9": "K is not a power of two without loss of generality; halves must be rounded up.",
    "E10": "The proof scores on fresh rows, the algorithm on accumulated ones.",
    "E11": "A.2 prints 4 - 4 theta where Eq. 9 has 2 - 2 theta.",
    "E12": "Constants called absolute depend on the gap and on kappa*Lambda and can vanish.",
    "E13": "delta_fail is not O(exp(-n)); its exponent is at most Delta^2 n/18.",
    "E14": "The Rademacher constant is right but not the smallest.",
    "E15": "Conditioning on success and hiding the training set's own error: only intersections are bounded.",
    "E16": "Distinct rows are not i.i.d. rows, and a round can ask for more rows than there are.",
    "E17": "Neither the assumption nor the launch budget is necessary.",
    "E18": "Median elimination does not fail more often than uniform allocation.",
    "E19": "The alignment principles round twice; with fractional costs the allotted money is too little.",
    "E20": "Small ones: one symbol for two things, wrong indices and floors, O for Omega, < for <=.",
    "E21": "The analysed model minimises over a ball, the trained one minimises Eq. 3.",
}


def passages() -> tuple[Passage, ...]:
    """The table above with what modules of claims say of themselves by a `PASSAGES` of their own, in order."""
    found = {one.line: one for one in PASSAGES}
    for group in groups():
        for one in getattr(group, "PASSAGES", ()):
            here = found.get(one.line, Passage(one.line, one.what, ()))
            found[one.line] = Passage(one.line, here.what, (*here.claims, *one.claims))
    return tuple(found[line] for line in sorted(found))
