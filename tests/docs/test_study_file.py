"""The reference of study files: page and schema are those of the code, every key has an example, every example runs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from exml_sim.engine import POOLS, Study, run
from tools import study_schema

SCHEMA = study_schema.make_schema()
SECTIONS = {section["table"]: section for section in study_schema.read_reference()["section"]}
EXAMPLES = [(table, part) for table in SECTIONS for part in ("example", "more") if part in SECTIONS[table]]
PLUGINS = """
import numpy as np
from exml_sim.engine import bound
from exml_sim.plugins import pool
from exml_sim.population import Candidate, Population

@pool
def make_ward(rows, rng):
    y = np.repeat([-1, 1], rows // 2)
    return Population(np.ones((rows, 1)), y, [Candidate("good", y, 1), Candidate("bad", rng.normal(size=rows), 1)])

@bound("uniform_allocation")
def union(budget, context):
    return min(1.0, context.K * np.exp(-context.gap**2 * float(budget) / context.K))
"""


def complete(example: str) -> dict[str, Any]:
    """Complete an example to a study."""
    study: dict[str, Any] = {"strategies": ["uniform_allocation"], "budgets": {"per_arm": [8]}}
    study["pools"] = [{"kind": "synthetic", "per_class": 10, "angles": [10, 90]}]
    study |= tomllib.loads(example)
    if "strategy" in study:
        study.pop("strategies")
    if any(pool["kind"] not in ("parametric", "rewards", "family", "random_instance") for pool in study["pools"]):
        study.setdefault("scores", [{"ball": 0.4}])
    return study


@pytest.mark.parametrize(("table", "part"), EXAMPLES)
def test_an_example_runs_and_fits_the_schema(
    table: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savetxt("rewards.csv", rng.normal(size=(30, 3)), delimiter=",", header="a,b,c", comments="")
    ward = np.column_stack([rng.normal(size=(40, 4)), np.repeat([0, 1], 20)])
    np.savetxt("ward.csv", ward, delimiter=",", header="age,blood,ct1,ct2,sick", comments="")
    Path("my_plugins.py").write_text(PLUGINS, encoding="utf-8")
    given = complete(SECTIONS[table][part])
    Draft202012Validator(SCHEMA).validate(given)
    study = replace(Study.from_table(given, [Path("my_plugins.py")]), trials=20)
    result = run(study, progress=False)
    assert {line.pool for line in result.summary()} == {pool.label for pool in study.pools}


def test_every_table_and_key_is_described_and_has_an_example() -> None:
    assert set(SECTIONS) == {"Study", *SCHEMA["$defs"]}
    common = study_schema.read_reference()["common"]
    for name, section in SECTIONS.items():
        examples = section["example"] + section.get("more", "")
        keys = set(study_schema.find_table(SCHEMA, name)["properties"])
        # A sweep is read in one place, for all tables.
        assert {key for key in keys if not re.search(rf"\b{key}( =|\]\])", examples)} <= {"sweep"}, name
        assert keys - set(section["keys"]) <= {"kind"}, name
        assert set(section["keys"]) - keys - set(common) == set(), f"keys that {name} does not have"


@pytest.mark.parametrize("kind", POOLS)
def test_a_meaning_without_a_key_is_no_row(kind: str) -> None:
    part = study_schema.PAGE.read_text(encoding="utf-8").split(f"### `{kind}`\n")[1].split("\n#")[0]
    keys = set(study_schema.find_table(SCHEMA, POOLS[kind].__name__)["properties"])
    assert set(re.findall(r"^\| `(\w+)`", part, re.MULTILINE)) == keys - {"kind"}


def test_page_and_schema_are_up_to_date() -> None:
    """If they are not: python -m tools.study_schema."""
    assert study_schema.SCHEMA.read_text(encoding="utf-8") == study_schema.make_text()
    assert study_schema.PAGE.read_text(encoding="utf-8") == study_schema.make_page(SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"trails": 5},
        {"trials": 0},
        {"trials": 1.5},
        {"strategies": "ocba"},
        {"budgets": {"per_arm": {"from": 3}}},
        {"pools": [{"kind": "family", "family": "sparse", "gap": 0}]},
        {"pools": [{"kind": "family", "family": "dense"}]},
        {"pools": [{"kind": "synthetic", "angle": [3]}]},
        {"stop": {"width": 1.5}},
        {"pools": [{"kind": "synthetic", "sweep": {"seed": 1}}]},
    ],
    ids=str,
)
def test_what_the_schema_refuses_is_refused_by_the_code(change: dict[str, Any]) -> None:
    given = complete("") | change
    assert list(Draft202012Validator(SCHEMA).iter_errors(given))
    with pytest.raises(ValueError, match=r"."):
        Study.from_table(given)
