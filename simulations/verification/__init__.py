"""Holding every claim against evidence: checks, counted trials, exact laws, and one report.

`plans` says which claims are about trials and what each reading of them promises, `statistics` what is measured in a
trial, `experiments` turns plans into studies and counts into verdicts, `run` does all of it and can be interrupted,
`report` writes what came out.
"""
