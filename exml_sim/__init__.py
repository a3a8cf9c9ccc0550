"""Exploratory machine learning with unknown unknowns: the system."""

__version__ = "0.1.0"
