"""The paper as code: bounds, corrections, tighter theorems and a ledger of claims."""

from theory.errors import AssumptionError

__all__ = ["AssumptionError"]
