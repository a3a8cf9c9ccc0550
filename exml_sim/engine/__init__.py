"""Studies: many trials, addressed by seed, run in blocks and stored."""

# Arms and sampling import `exml_sim.engine.seeds`, so nothing that needs a pool may be imported here eagerly.
