"""Populations to explore: synthetic, Mfeat (shipped), RealDisp (the user's own download)."""

from exml_sim.datasets.mfeat import Mfeat, load_mfeat
from exml_sim.datasets.synthetic import make_synthetic

__all__ = ["Mfeat", "load_mfeat", "make_synthetic"]
