"""Numbers and tables of the documents are those of the code."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from simulations.falsify.counterexamples import read as read_counterexample
from simulations.falsify.targets import all_targets
from simulations.verification._cells import DEPTHS, list_tested_claims
from simulations.verification._claim_trials import judge_near_tight
from tests.docs.pages import README, ROOT, read
from tests.statistical import instances, test_planted_bounds, test_planted_bugs
from tests.statistical.bounds import BOUNDS
from tests.statistical.planted_table import tables
from tests.statistical.wrong_bounds import PLANTED
from tests.statistical.wrong_strategies import BUGS
from theory.claims import all_claims

RESULTS = read("reference/results-bounds.md")
TESTING = read("explanation/testing-bounds.md")
VERIFICATION = read("explanation/verification.md")


def test_numbers_of_claims_in_the_readme() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    claims = all_claims()
    count = Counter(claim.printed for claim in claims if not claim.inferred)
    assert f"{len(claims)} claims" in text
    assert f"Of {sum(count.values())} statements, {count['holds']} hold as printed" in text
    assert f"{count['holds-corrected']} hold after a correction, {count['refuted']} are refuted" in text
    assert f"{count['vacuous']} are true and empty, and {count['definition']} are definitions" in text
    assert f"{sum(claim.inferred for claim in claims)} more claims are inferred" in text


@pytest.mark.parametrize("heading", ["Planted wrong bounds", "Planted bugs"])
def test_the_tables_of_planted_errors_are_those_of_the_tests(heading: str) -> None:
    section = RESULTS.split(f"### {heading}\n\n")[1].split("\n\n")[0]
    assert section.splitlines() == tables()[heading]


def test_there_are_enough_planted_errors_and_every_named_test_exists() -> None:
    assert f"plant {len(PLANTED) + 3} wrong bounds and {len(BUGS)} errors in strategies" in " ".join(TESTING.split())
    assert len(PLANTED) + 3 >= 12
    assert len(BUGS) >= 6
    named = set(re.findall(r"`(test_\w+)`", RESULTS + TESTING))
    assert len(named) >= 9
    modules = (test_planted_bounds, test_planted_bugs)
    assert all(any(hasattr(module, name) for module in modules) for name in named)


def test_the_largest_ratio_on_the_opposed_pair() -> None:
    pairs = [instances.opposed(n, 0.02) for n in (*range(500, 1000, 25), *range(1000, 12_000, 1000))]
    bounds = [BOUNDS["uniform"]["tighter"](pair.point, pair.budget) for pair in pairs]
    largest = max(pair.least / bound for pair, bound in zip(pairs, bounds, strict=True) if bound < 1)
    assert f"on the opposed pair is {largest:.2f}" in " ".join(TESTING.split())


def find_rows(text: str, heading: str) -> list[list[str]]:
    """Find the cells of the rows with code in the table below a heading."""
    part = text.split(heading)[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ") and "`" in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_tightness_table_has_every_target_with_its_verdict() -> None:
    table = {cells[0].strip("`"): (cells[1], cells[2]) for cells in find_rows(RESULTS, "## Tightness")}
    assert set(table) == {target.id for target in all_targets()}
    for target in all_targets():
        verdict, ratio = table[target.id]
        if target.holds:
            assert verdict == "holds", target.id
            assert ratio == "-" or float(ratio) <= 1, target.id


def test_the_table_of_counterexamples_is_that_of_the_files() -> None:
    rows = find_rows(RESULTS, "## Counterexamples")
    assert f"finds {len(rows)} counterexamples" in read("explanation/counterexamples.md")
    table = {cells[1].strip("`"): int(cells[2].split()[0].replace(",", "")) for cells in rows}
    files = [read_counterexample(file) for file in sorted((ROOT / "tests" / "counterexamples").glob("*.toml"))]
    assert table == {file.target.id: file.evaluations for file in files}


def test_every_simulated_claim_is_listed_and_no_other() -> None:
    table = VERIFICATION.split("| claim | what makes a trial fail |\n|---|---|\n")[1].split("\n\n")[0]
    listed = {name.strip() for line in table.splitlines() for name in line.split("|")[1].split(",")}
    assert listed == set(list_tested_claims())


def find_row(start: str) -> list[str]:
    """Find the cells of one row of the verification page, without the first."""
    (line,) = [line for line in VERIFICATION.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_the_table_of_depths() -> None:
    depths = [DEPTHS[name] for name in ("quick", "standard", "deep")]
    assert find_row("trials per cell, at least") == [f"{depth.least:,}" for depth in depths]
    assert find_row("trials with newly drawn training sets") == [f"{depth.excess:,}" for depth in depths]
    assert find_row("values of delta") == [", ".join(f"{level:g}" for level in depth.levels) for depth in depths]
    assert find_row("promised probabilities of counted cells")[1:] == [
        f"down to {depth.targets[-1]:g}" for depth in depths[1:]
    ]


def test_what_no_depth_can_detect() -> None:
    """The factors that are quoted are those of the near-tight instances, rounded up."""
    for claim in ("lemma-1-i", "lemma-2-i", "lemma-4"):
        cells = [cell for cell in judge_near_tight(claim) if cell.informative]
        factor = min(cell.bound / cell.verdict.rate for cell in cells if cell.reading == "tighter")
        assert f"a factor below {math.ceil(10 * factor) / 10:g} (1 / {1 / factor:.2f})" in VERIFICATION
        for reading, words in (("tighter", "our bounds by a factor"), ("corrected", "the corrected exponent")):
            exponents = [
                math.log(cell.verdict.rate) / math.log(cell.bound) for cell in cells if cell.reading == reading
            ]
            assert f"{words} below {math.ceil(10 * min(exponents)) / 10:g}" in VERIFICATION, (claim, reading, exponents)
