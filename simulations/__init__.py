"""Studies: each module is one question, where the system meets the theory."""
