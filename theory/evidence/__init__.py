"""Evidence for the claims of `theory.claims`: rigorous refutations, references to proofs, and one grade per statement.

>>> from theory.claims import get
>>> from theory.evidence.grades import grade
>>> str(grade(get("a2-quarter")).grade)
'proved in Coq'
"""
