"""Holding every claim against evidence: checks, counted trials, exact laws, and one report.

`plans` says which claims are about trials and what each reading of them promises, `probes` where each reading is tried,
`measures` what is measured in a trial. `trials` turns probes into studies and counts into evidence; `comparison` and
`excess_risk` do so for claims of other shapes, `near_tight` holds bounds against near-tight instances. `run` does all
of it on a `workbench` that keeps what is finished, `tally` counts evidence once, and `report` writes what came out.
"""
