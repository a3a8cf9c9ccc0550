"""Registry of claims: every statement of the paper's theory with an executable check.

>>> from theory.claims import get
>>> get("a5-count-1").check().outcome
'refuted'
"""

from theory.claims.claim import Assumption, Case, Check, Claim, Experiment, Place, Reading
from theory.claims.registry import Registry, all_claims, get, read_own

__all__ = [
    "Assumption",
    "Case",
    "Check",
    "Claim",
    "Experiment",
    "Place",
    "Reading",
    "Registry",
    "all_claims",
    "get",
    "read_own",
]
