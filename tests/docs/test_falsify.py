"""docs/falsify.md says what the counterexamples and the registry say."""

import re
from pathlib import Path

from simulations.falsify.counterexamples import read
from simulations.falsify.targets import all_targets

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "falsify.md").read_text(encoding="utf-8")


def rows_after(heading):
    part = TEXT.split(heading)[1].split("\n## ")[0]
    return [line for line in part.splitlines() if line.startswith("| ") and "`" in line]


def test_the_tightness_table_has_every_target_with_its_verdict():
    found = {}
    for line in rows_after("## How tight each bound can be"):
        id, word, ratio = re.match(r"\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|", line).groups()
        found[id] = (word.strip(), ratio.strip())
    assert set(found) == {target.id for target in all_targets()}
    for target in all_targets():
        word, ratio = found[target.id]
        if target.holds:
            assert word == "holds", target.id
            assert ratio == "-" or float(ratio) <= 1, target.id


def test_the_table_of_counterexamples_is_that_of_the_files():
    named = {}
    for line in rows_after("## Known counterexamples"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        named[cells[1].strip("`")] = int(cells[2].split()[0].replace(",", ""))
    files = [read(file) for file in sorted((ROOT / "tests" / "counterexamples").glob("*.toml"))]
    assert named == {find.target.id: find.evaluations for find in files}
