"""Where claims are proved: theorems of the Coq library `theory/coq`, and headings of docs/theorems.md.

A claim is listed under Coq only if the theorem is the statement, as printed or in the corrected form of the registry.
"""

from __future__ import annotations

__all__ = ["COQ_CORRECTED", "COQ_PRINTED", "PAPER_CORRECTED", "PAPER_PRINTED"]

#: Claims that hold as printed (or are empty as printed, which the theorem shows), with theorems of theory/coq.
COQ_PRINTED: dict[str, tuple[str, ...]] = {
    "surrogate-affine": ("registry.surrogate_affine",),
    "eq-2-upper-bound": ("registry.eq_2_upper_bound",),
    "eq-3-quadratic-program": ("registry.eq_3_quadratic_program",),
    "ua-allocation": ("registry_rows.ua_allocation",),
    "me-largest-sample": ("registry_rows.me_largest_sample",),
    "me-spend": ("registry_rows.me_spend",),
    "sample-alignment-spend": ("registry.sample_alignment_spend",),
    "budget-alignment-spend": ("registry.budget_alignment_spend",),
    "sl-rate": ("registry.sl_rate",),
    "eq-7": ("registry_arms.eq_7",),
    "lemma-1-condition": ("registry.lemma_1_condition_empty",),
    "thm-1-decay": ("registry.thm_1_decay",),
    "remark-6-sqrt-k": ("registry.remark_6_sqrt_k",),
    "lemma-2-condition": ("registry.lemma_2_condition_empty",),
    "remark-7-sqrt-log": ("registry.remark_7_sqrt_log",),
    "a2-step-1": ("registry.decomposition",),
    "a2-term-c": ("registry_arms.least_risk",),
    "a2-step-4": ("registry_arms.a2_step_4",),
    "a2-sum": ("registry.a2_sum",),
    "a2-quarter": ("registry.a2_quarter",),
    "a2-delta-line-3": ("registry.a2_delta_line_3",),
    "a3-step-1": ("registry.decomposition",),
    "a3-delta": ("registry.a3_delta",),
    "a3-quarter": ("registry.a3_quarter",),
    "a3-numerator": ("registry.a3_numerator",),
    "a3-denominator-1": ("registry.a3_denominator_1",),
    "a3-denominator-2": ("registry.a3_denominator_2",),
    "a3-sum": ("registry.a2_sum",),
    "a4-union": ("registry_arms.a4_union",),
    "a4-identity": ("registry.a4_identity",),
    "a4-sum": ("registry.a4_sum",),
    "a4-conclusion": ("registry_arms.a4_conclusion",),
    "a5-pairs-line-2": ("registry.a5_pairs_line_2",),
    "a5-markov": ("registry_arms.a5_markov",),
    "a5-doubling": ("registry_rows.a5_doubling",),
    "a5-series-1": ("registry.a5_series_1",),
    "a5-series-2": ("registry.a5_series_2", "registry.a5_series_limit"),
    "a5-series-3": ("registry.a5_series_3", "registry.a5_series_limit"),
    "a6-inclusion": ("registry.a6_inclusion",),
    "a6-union": ("registry_arms.a6_union",),
    "a6-gap": ("registry_arms.a6_gap",),
    "a6-split": ("registry.a6_split",),
    "a6-drop": ("registry_arms.a6_drop",),
    "a6-rademacher": ("registry_arms.a6_rademacher",),
    "a6-condition": ("registry.a6_condition",),
    "a6-conclusion": ("registry.a6_conclusion",),
}

#: Corrected statements, with theorems of theory/coq.
COQ_CORRECTED: dict[str, tuple[str, ...]] = {
    "eq-2": ("registry.eq_2_upper_bound",),
    "me-sample-count": ("registry_rows.me_sample_count",),
    "me-draw": ("registry_rows.me_draw",),
    "me-one-left": ("registry_rows.me_one_left",),
    "sample-alignment": ("registry.sample_alignment",),
    "budget-alignment": ("registry.budget_alignment",),
    "eq-8": ("registry.decomposition",),
    "eq-8-term-c": ("registry_arms.least_risk",),
    "lemma-1-i": ("uniform_allocation.lemma_1_i", "registry_arms.lemma_1_i_printed"),
    "lemma-1-condition": ("registry.lemma_1_condition",),
    "thm-1-delta-order": ("registry.thm_1_delta_order",),
    "lemma-2-condition": ("registry.lemma_2_condition",),
    "thm-2-delta-order": ("registry.thm_2_delta_order",),
    "lemma-4": ("uniform_allocation.lemma_4", "registry_arms.lemma_4_printed"),
    "lemma-4-kappa": ("uniform_allocation.lemma_4",),
    "a2-step-4": ("registry_arms.a2_step_4_corrected",),
    "a2-order": ("registry.a2_order",),
    "a2-absolute-constant": ("registry.a2_quarter",),
    "a2-delta-line-1": ("registry.a2_delta_line_1",),
    "a2-delta-line-2": ("registry.thm_1_delta_order",),
    "a2-delta-line-4": ("registry.a2_delta_line_4",),
    "a3-constant": ("registry.a3_constant",),
    "a3-absolute-constant": ("registry.a3_absolute_constant",),
    "a3-order": ("registry.thm_2_delta_order",),
    "a4-step-1": ("registry_arms.a4_step_1",),
    "a4-lemma-4": ("registry_arms.a4_lemma_4",),
    "a4-min-gap": ("registry.a4_min_gap",),
    "a4-term-a": ("registry_arms.a4_term_a",),
    "a4-term-c": ("registry_arms.a4_term_c",),
    "a4-conditioning": ("registry_arms.a4_conditioning",),
    "a5-pairs-line-1": ("uniform_allocation.lemma_4", "registry_arms.lemma_4_printed"),
    "a5-half": ("registry_arms.a5_half",),
    "a5-sum": ("registry_arms.a5_sum",),
    "a5-count-1": ("registry_rows.a5_count_1",),
    "a5-count-2": ("registry_rows.a5_count_2", "registry_rows.a5_count_3"),
    "a5-count-3": ("registry_rows.a5_count_3",),
    "a5-count-4": ("registry_rows.a5_count_4",),
    "a6-generalisation": ("registry_arms.a6_generalisation",),
    "a6-index": ("registry_arms.a6_generalisation",),
    "a6-tail": ("registry_arms.a6_tail",),
    "a6-term-a": ("registry_arms.a6_term_a",),
    "a6-term-b": ("registry_arms.a6_term_b",),
}

_L4, _REGRET, _THEOREMS = "Lemma 4 repaired", "Lemmas 1 (ii), 2 (ii) repaired", "Theorems 1 and 2 repaired"
_MEDIAN = "Lemma 2 (i) repaired"

#: Claims that hold as printed, with headings of docs/theorems.md.
PAPER_PRINTED: dict[str, str] = {
    "r-ap": "Lemma F",
    "lemma-3": _THEOREMS,
    "term-a": _THEOREMS,
    "a5-expectation-bound": _L4,
}

#: Corrected statements, with headings of docs/theorems.md.
PAPER_CORRECTED: dict[str, str] = {
    "surrogate-does-no-harm": "Lemma F",
    "lemma-1-ii": _REGRET,
    "lemma-2-i": _MEDIAN,
    "lemma-2-ii": _REGRET,
    "lemma-3-theta": _THEOREMS,
    "thm-1": _THEOREMS,
    "thm-2": _THEOREMS,
    "remark-5-launch-budget": "Theorem 9",
    "assumption-necessary": "Theorem 6",
    "me-draw-replacement": _THEOREMS,
    "eq-3-ball": "Theorem 8",
    "a2-step-3": _REGRET,
    "term-d": _THEOREMS,
    "a2-term-b": _REGRET,
    "a3-term-b": _REGRET,
    "a5-expectation": _MEDIAN,
    "a5-regret": _REGRET,
}
