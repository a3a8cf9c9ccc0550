"""Write the constants of the bounds into the report's JavaScript: ``python tools/generate_bounds_js.py``."""

from __future__ import annotations

from pathlib import Path

from theory import formulas
from theory._bound import CEILING_TOLERANCE
from theory.budgets import LARGEST_BUDGET

ASSET = Path(__file__).parents[1] / "simulations" / "report" / "assets" / "bounds.js"
START = "  // ---- constants, written by tools/generate_bounds_js.py ----\n"
END = "  // ---- end of constants ----\n"


def constants() -> dict[str, str]:
    """Return the JavaScript expressions of all constants by name."""
    numerator, denominator = formulas.PAPER_RATE
    return {
        "CEILING_TOLERANCE": repr(CEILING_TOLERANCE),
        "CORRECTED_PREFACTOR": str(formulas.CORRECTED_PREFACTOR),
        "LARGEST_BUDGET": str(LARGEST_BUDGET),
        "LAUNCH_LEMMAS": str(formulas.LAUNCH_LEMMAS),
        "PAPER_GEOMETRIC": str(formulas.PAPER_GEOMETRIC),
        "PAPER_PREFACTOR": str(formulas.PAPER_PREFACTOR),
        "PAPER_RATE": f"{numerator} / {denominator}",
    }


def with_constants(text: str) -> str:
    """Return the JavaScript with its block of constants replaced."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    block = "".join(f"  const {name} = {value};\n" for name, value in constants().items())
    return f"{before}{START}{block}{END}{after}"


if __name__ == "__main__":
    ASSET.write_text(with_constants(ASSET.read_text(encoding="utf-8")), encoding="utf-8")
