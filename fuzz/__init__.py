"""Fuzzing of stores, files, the command line and the solver: `make fuzz`, ten minutes, not in CI.

A fuzzer draws cases from a seed and judges each; a case is plain data, so that a finding is a file that can be judged
again. What was tried and what came of it is printed at the end, and kept in docs/explanation/fuzzing.md.
"""
