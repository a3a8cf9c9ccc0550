"""Populations to explore: synthetic, graded gaps, Mfeat (shipped), RealDisp (the user's own download)."""

from exml_sim.datasets.graded import make_graded
from exml_sim.datasets.mfeat import Mfeat, load_mfeat
from exml_sim.datasets.realdisp import load_realdisp, read_realdisp
from exml_sim.datasets.synthetic import make_synthetic

__all__ = ["Mfeat", "load_mfeat", "load_realdisp", "make_graded", "make_synthetic", "read_realdisp"]
