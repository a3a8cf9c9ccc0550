"""Purchases on thirteen tables, against what a person would do: ``python -m benchmarks.practice``."""
