"""Purchases on tables that nobody tuned to, against what a person would do: ``python -m benchmarks.practice``."""
