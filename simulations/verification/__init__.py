"""Test every claim against evidence: checks, trials, exact probabilities, and one report.

`_guarantees` says what each version of a claim guarantees and how that is measured, `_cells` where it is tested.
`_claim_trials` runs cells and judges the counts; `run` does all of it, and `_report` writes the
results.
"""
