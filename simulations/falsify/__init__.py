"""The hunt: search for an instance that violates a claim, or comes as close to it as possible.

A `Target` is a claim with a space of instances and a way to measure how close an instance comes. `search` steers on
log(observed / bound), `shrink` makes a find small and round, `finds` saves it as a file that can be replayed.
"""
