"""Test every claim against evidence: checks, trials, exact probabilities, and one report.

`plans` says which claims are about trials, `guarantees` what each version of a claim guarantees, `cells` where it is
tested, and `measures` which statistic of a trial is measured. `trials` runs cells and judges the counts, `excess_risk`
and `near_tight` do so for other kinds of instances. `run` does all of it, and `report` writes the results.
"""
