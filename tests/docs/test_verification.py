"""docs/verification.md lists what is tried, and how deep."""

from __future__ import annotations

import math
from pathlib import Path

from simulations.verification import near_tight
from simulations.verification.plans import DEPTHS, list_tested_claims

TEXT = (Path(__file__).parents[2] / "docs" / "verification.md").read_text(encoding="utf-8")


def row(start: str) -> list[str]:
    (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_every_claim_that_is_tried_is_listed_and_no_other():
    table = TEXT.split("| claim | what makes a trial fail |\n|---|---|\n")[1].split("\n\n")[0]
    listed = {name.strip() for line in table.splitlines() for name in line.split("|")[1].split(",")}
    assert listed == set(list_tested_claims())


def test_the_table_of_depths():
    depths = [DEPTHS[name] for name in ("quick", "standard", "deep")]
    assert row("trials per cell, at least") == [f"{depth.least:,}" for depth in depths]
    assert row("trials with random instances") == [f"{depth.excess:,}" for depth in depths]
    assert row("values of delta") == [", ".join(f"{level:g}" for level in depth.levels) for depth in depths]
    assert row("guaranteed probabilities of counted cells")[1:] == [
        f"down to {depth.targets[-1]:g}" for depth in depths[1:]
    ]
    remote = [", ".join(f"{target:.0e}".replace("e-0", "e-") for target in depth.remote) for depth in depths[1:]]
    assert row("cells by enumeration or importance sampling")[1:] == remote


def test_what_no_depth_can_see():
    """The factors that are quoted are those of the near-tight instances, rounded up."""
    for claim in ("lemma-1-i", "lemma-2-i", "lemma-4"):
        cells = [one for one in near_tight.collect_evidence(claim) if one.informative]
        factor = min(one.bound / one.verdict.rate for one in cells if one.reading == "tighter")
        assert f"a factor below {math.ceil(10 * factor) / 10:g} (1 / {1 / factor:.2f})" in TEXT
        for reading, words in (("tighter", "our bounds by a factor"), ("corrected", "the corrected exponent")):
            exponents = [math.log(one.verdict.rate) / math.log(one.bound) for one in cells if one.reading == reading]
            assert f"{words} below {math.ceil(10 * min(exponents)) / 10:g}" in TEXT, (claim, reading, exponents)
