"""Search for instances that violate a claim, or come as close to it as possible.

A `Target` is a claim with a space of instances and a measure of how close an instance comes. `search` climbs
log(observed / bound) with hypothesis and shrinks violations; `counterexamples` saves and replays them.
"""
