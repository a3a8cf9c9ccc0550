"""Studies: many trials, addressed by seed, run in blocks and stored."""
