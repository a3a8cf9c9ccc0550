"""Fuzzing of stores, files, the command line and the solver: `make fuzz`, ten minutes, not in CI.

Fuzzers are properties and state machines of hypothesis, which draws cases from a seed, shrinks a failing one and prints
it. Results are in docs/explanation/fuzzing.md.
"""
