"""Fuzzing of stores, files, the command line, bounds and the solver: `make fuzz`, ten minutes, not in CI.

Hypothesis draws cases from a seed and shrinks the failing ones. A case is plain data, so a finding is a JSON file that
can be replayed.
"""
