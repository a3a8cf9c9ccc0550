"""Holding every claim against evidence: checks, counted trials, exact laws, and one report.

`plans` says which claims are about trials and what each reading of them promises, `statistics` what is measured in a
trial, `cells` where each reading is tried, `experiments` turns cells into studies and counts into verdicts, `tight`
holds bounds against near-tight instances, `run` does all of it and can be interrupted, `tally` counts evidence once,
and `report` writes what came out.
"""
