"""The paper as code: bounds, corrections, tighter theorems and a ledger of claims."""
