"""Populations to explore: synthetic, Mfeat (shipped), RealDisp (the user's own download)."""
