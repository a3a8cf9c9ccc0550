"""Populations to explore: synthetic, Mfeat (shipped), RealDisp (the user's own download)."""

from exml_sim.datasets.mfeat import Mfeat, load_mfeat

__all__ = ["Mfeat", "load_mfeat"]
