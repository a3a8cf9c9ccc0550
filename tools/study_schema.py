"""Write the reference of study files and their JSON schema: ``python -m tools.study_schema``.

Types, limits and defaults come from the classes of `exml_sim.engine`, the rest from tools/study_reference.toml.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from exml_sim.engine import POOLS, Study
from exml_sim.engine._fields import MAX_LIST, MAX_MONEY, MAX_NAME, MAX_NUMBER, MAX_SEED, MIN_MONEY

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
#: Schema for editors, and page for readers.
SCHEMA, PAGE = FOLDER / "study.schema.json", FOLDER / "study-file.md"
REFERENCE = Path(__file__).parent / "study_reference.toml"

_WHOLE = {"type": "integer", "minimum": 1}
_RANGE = {
    "type": "object",
    "properties": {"from": _WHOLE, "to": _WHOLE, "number": {**_WHOLE, "minimum": 2, "maximum": MAX_LIST}},
    "required": ["from", "to", "number"],
    "additionalProperties": False,
}
_MONEY = {"type": ["string", "number"]}
#: Types that a page names shortly, with the text for them.
_PLURALS = {name: f"{name}s" for name in ("number", "integer", "text", "table", "list")}
_NAMED = ((_RANGE, "range"), (_MONEY, "money"))


def _format_limit(limit: float | Fraction) -> str:
    """Write a power as a power, other numbers with commas."""
    if limit == MAX_SEED:
        return "$2^{63}-1$"
    exponent = round(math.log10(limit)) if limit > 0 else 0
    is_power = abs(exponent) > 5 and limit == Fraction(10) ** exponent
    return f"$10^{{{exponent}}}$" if is_power else f"{limit:,}"


def make_schema() -> dict[str, Any]:
    """Return the JSON schema of a study file as a user writes it, with abbreviations."""
    schema = TypeAdapter(Study).json_schema()
    tables = schema["$defs"]
    for name in ("Plugin", "Plugins"):
        tables.pop(name, None)
    for table in (schema, *tables.values()):
        table["description"] = table.get("description", "").partition("\n\n")[0]
        for name in ("plugin", "plugins"):
            table["properties"].pop(name, None)
    keys, text = schema["properties"], {"type": "string"}
    schema["required"] = ["pools", "budgets"]
    schema["anyOf"] = [{"required": [name]} for name in ("strategies", "strategy")]
    keys["strategies"]["items"] = keys["strategy"] = {"anyOf": [text, {"$ref": "#/$defs/StrategySpec"}]}
    keys["bounds"]["items"] = {"anyOf": [text, {"$ref": "#/$defs/BoundSpec"}]}
    swept = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "array", "minItems": 1}}
    strategy = tables["StrategySpec"]["properties"]
    strategy["label"] = strategy.pop("title")
    strategy["options"] = {"type": "object"}
    tables["StrategySpec"]["additionalProperties"] = True
    tables["DatasetPool"]["properties"]["options"]["default"] = tables["PluginPool"]["properties"]["options"][
        "default"
    ] = {}
    for name in ("absolute", "per_arm"):
        listed = tables["Budgets"]["properties"][name]
        tables["Budgets"]["properties"][name] = {"anyOf": [listed, _RANGE], "default": []}
    columns = tables["TablePool"]["properties"]["candidates"]["items"]
    tables["TablePool"]["properties"]["candidates"]["items"] = {"anyOf": [text, columns]}
    for pool in POOLS.values():
        tables[pool.__name__]["required"] = [*tables[pool.__name__].get("required", []), "kind"]
    for name in ("StrategySpec", "Score", *(pool.__name__ for pool in POOLS.values())):
        tables[name]["properties"]["sweep"] = swept
    named = {"type": "object", "properties": {"kind": {"type": "string", "not": {"enum": sorted(POOLS)}}}}
    keys["pools"]["items"]["anyOf"].append({**named, "required": ["kind"]})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def read_reference() -> dict[str, Any]:
    """Read head and sections of the page; a section has the meanings of its keys and of common ones."""
    reference = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
    for section in reference["section"]:
        section["keys"] = reference["common"] | section["keys"]
    return reference


def find_table(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a table of the schema by its name."""
    table: dict[str, Any] = schema if name == "Study" else schema["$defs"][name]
    return table


def describe_type(key: dict[str, Any]) -> str:
    """Describe type and limits of a key in words.

    >>> describe_type({"type": "integer", "minimum": 1, "maximum": 5000})
    'integer, 1 to 5,000'
    """
    named = next((text for shape, text in _NAMED if shape.items() <= key.items()), None)
    if named or "$ref" in key:
        return named or "table"
    if "anyOf" in key:
        kinds = [describe_type(kind) for kind in key["anyOf"] if kind != {"type": "null"}]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in key or "const" in key:
        return ", ".join(f"`{value}`" for value in key.get("enum", [key.get("const")]))
    if key["type"] == "array":
        most = key.get("maxItems", MAX_LIST)
        if "prefixItems" in key:
            return f"list of {most} numbers"
        entries = re.sub(
            r"^(\w+)|(?<= or )(\w+)", lambda match: _PLURALS.get(match[0], match[0]), describe_type(key["items"])
        )
        return f"list of {entries}" + (f"; at most {most:,}" if most != MAX_LIST else "")
    kind = {"object": "table", "string": "text"}.get(key["type"], key["type"])
    return ", ".join([kind, *_describe_limits(key)])


def _describe_limits(key: dict[str, Any]) -> list[str]:
    low, high = key.get("minimum", -MAX_NUMBER), key.get("maximum", MAX_NUMBER)
    if "exclusiveMaximum" in key:
        return [f"in ({key['exclusiveMinimum']}, {key['exclusiveMaximum']})"]
    if "exclusiveMinimum" in key:
        return [f"above {key['exclusiveMinimum']}"]
    if key["type"] != "integer" or (low, high) == (-MAX_NUMBER, MAX_NUMBER):
        return []
    return [f"{low} to {_format_limit(high)}"]


def _describe_default(table: dict[str, Any], name: str) -> str:
    default = table["properties"][name].get("default")
    if name in table.get("required", ()):
        return "required"
    return "" if default in (None, "", [], {}) or isinstance(default, dict) else f"`{json.dumps(default)}`"


def make_page(schema: dict[str, Any]) -> str:
    """Return the text of the page."""
    reference = read_reference()
    least, most, number = map(_format_limit, (MIN_MONEY, MAX_MONEY, MAX_NUMBER))
    limits = (
        f'Money is a number or an exact decimal text such as `"0.1"`, from {least} to {most}. Unless stated otherwise, '
        f"numbers are at most {number} in size, lists have at most {MAX_LIST:,} entries, texts {MAX_NAME} characters."
    )
    parts = [reference["head"].strip(), limits]
    for section in reference["section"]:
        table = find_table(schema, section["table"])
        kind = table["properties"].get("kind", {}).get("const")
        parts += [section["before"].strip()] if "before" in section else []
        parts.append(f"### `{kind}`" if kind else f"## {section['title']}")
        parts += [section["text"].strip()] if "text" in section else []
        names = [name for name in section["keys"] if name in table["properties"]]
        rows = [
            f"| `{name}` | {describe_type(table['properties'][name])} | {_describe_default(table, name)} "
            f"| {section['keys'][name]} |"
            for name in sorted(names, key=list(table["properties"]).index)
        ]
        parts.append("\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows]))
        parts += [f"```toml\n{section[key].strip()}\n```" for key in ("example", "more") if key in section]
    return "\n\n".join(parts) + "\n"


def make_text() -> str:
    """Return the schema as text."""
    return json.dumps(make_schema(), indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(make_text(), encoding="utf-8")
    PAGE.write_text(make_page(make_schema()), encoding="utf-8")
