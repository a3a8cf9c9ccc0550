"""Speed, measured as ratios to peers in one run."""
