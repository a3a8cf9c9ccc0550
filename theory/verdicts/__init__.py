"""Tests of bounds against evidence, with both error rates stated.

A bound on a failure probability is tested against ``failures`` out of ``trials``:

* `judge` for a fixed number of trials: the exact one-sided binomial test of "the true rate is at most the
  bound".  It raises a false alarm with probability at most ``alpha`` whatever the truth under the bound is,
  and it reports how large a violation it would have detected with 95 % probability.  A test without power
  is called undecided, not a success.
* `judge_family` for many cells at once: ``alpha`` holds for the whole family.
* `log_evidence_below` for any number of trials: evidence that the rate is below a bound, valid at every stop.

Deterministic checks (identities, inequalities, exact probabilities) use the same `Verdict` with
`consistent`, `refuted`, `vacuous`, `undecided` and `judge_exact`; they have no false-alarm rate.
"""

from theory.verdicts._counting import (
    POWER,
    ROUNDING,
    clopper_pearson,
    critical_count,
    detectable_rate,
    judge,
    judge_family,
    log_evidence_below,
    tail,
    upper_limit,
)
from theory.verdicts.verdict import (
    OUTCOMES,
    Evidence,
    Number,
    Outcome,
    Verdict,
    consistent,
    judge_exact,
    refuted,
    undecided,
    vacuous,
)

__all__ = [
    "OUTCOMES",
    "POWER",
    "ROUNDING",
    "Evidence",
    "Number",
    "Outcome",
    "Verdict",
    "clopper_pearson",
    "consistent",
    "critical_count",
    "detectable_rate",
    "judge",
    "judge_exact",
    "judge_family",
    "log_evidence_below",
    "refuted",
    "tail",
    "undecided",
    "upper_limit",
    "vacuous",
]
