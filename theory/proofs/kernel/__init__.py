"""A small kernel that joins machine-proved parts into statements: every join is a checked rule, none is a sentence.

`language` writes statements as data, `theorem` has the rules of logic, `axioms` what the functions are, `certificate`
the arithmetic, `defined` asks whether a statement makes sense everywhere, `values` computes at a point.
"""
