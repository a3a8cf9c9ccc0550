"""The experiments of Section 5: what the paper did, done again, and held against what it printed."""
