"""Join what the claims say (``data/*.toml``) with their checks (``CHECKS`` of the modules in this folder)."""

from __future__ import annotations

import difflib
import pkgutil
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from theory.claims.claim import Check, Claim, Experiment, Place, Reading, Sides

__all__ = ["all_claims", "get", "join", "read_checks", "read_errata", "read_sections", "section_titles"]

_PACKAGE = "theory.claims"


@cache
def read_sections() -> dict[str, dict[str, Any]]:
    """Return the data files of the paper's sections by name, in the order of the paper."""
    folder = files(_PACKAGE) / "data"
    sources = {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    sections = {
        name: tomllib.loads(source.read_text(encoding="utf-8")) for name, source in sources.items() if name != "errata"
    }
    return dict(sorted(sections.items(), key=lambda item: min(claim["line"] for claim in item[1]["claim"])))


@cache
def read_errata() -> dict[str, str]:
    """Return what each erratum says, by name."""
    return tomllib.loads((files(_PACKAGE) / "data" / "errata.toml").read_text(encoding="utf-8"))


@cache
def read_checks() -> dict[str, Check]:
    """Return the checks of all modules of this folder by claim id."""
    package = import_module(_PACKAGE)
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name != "__main__")
    checks: dict[str, Check] = {}
    for name in names:
        for claim_id, check in getattr(import_module(f"{_PACKAGE}.{name}"), "CHECKS", {}).items():
            if claim_id in checks:
                raise ValueError(f"claim {claim_id!r} has two checks; one is allowed.")
            checks[claim_id] = check
    return checks


def section_titles() -> dict[str, str]:
    """Return the title of every data file, in the order of the paper."""
    return {name: section["title"] for name, section in read_sections().items()}


def join(sections: Mapping[str, Mapping[str, Any]], checks: Mapping[str, Check]) -> dict[str, Claim]:
    """Build every claim from its data and its check; each id needs both, once."""
    claims: dict[str, Claim] = {}
    for group, section in sections.items():
        for entry in section["claim"]:
            claim_id = entry["id"]
            if claim_id in claims:
                raise ValueError(f"claim {claim_id!r} is stated twice; ids must be unique.")
            if claim_id not in checks:
                raise ValueError(f"claim {claim_id!r} of data/{group}.toml has no check.")
            claims[claim_id] = _build(entry, checks[claim_id], group)
    if orphans := sorted(set(checks) - set(claims)):
        raise ValueError(f"checks without a claim in data/*.toml: {', '.join(orphans)}.")
    return claims


def _build(entry: Mapping[str, Any], check: Check, group: str) -> Claim:
    fields = {name: _freeze(value) for name, value in entry.items() if name != "also_covers"}
    options = {name: fields.pop(name) for name in ("vacuous_from", "log") if name in fields}
    relation = fields.pop("relation")

    def read(sides: Sides | None, own: str) -> Reading | None:
        chosen = fields.pop(own, relation)
        return None if sides is None else Reading(sides[0], chosen, sides[1], **options)

    repaired, mutant = read(check.corrected, "corrected_relation"), read(check.mutant, "mutant_relation")
    experiment = fields.pop("experiment", None)
    return Claim(
        where=Place(fields.pop("section"), fields.pop("label"), fields.pop("line")),
        cases=check.cases,
        reading=Reading(check.printed[0], relation, check.printed[1], **options),
        repaired=repaired,
        mutant=mutant,
        assumptions=check.assumptions,
        experiment=experiment and Experiment(**{name: _freeze(value) for name, value in experiment.items()}),
        group=group,
        **fields,
    )


def _freeze(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@cache
def _registry() -> dict[str, Claim]:
    return join(read_sections(), read_checks())


def all_claims() -> list[Claim]:
    """Return every claim of the registry, in the order of the paper."""
    return sorted(_registry().values(), key=lambda claim: claim.where.line)


def get(claim_id: str) -> Claim:
    """Return the claim with this id; the error for an unknown id names the nearest ones."""
    registry = _registry()
    if claim_id in registry:
        return registry[claim_id]
    near = difflib.get_close_matches(claim_id, registry, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `exml claims` lists all ids."
    raise ValueError(f"there is no claim {claim_id!r}{hint}")


def uncovered_displays() -> list[int]:
    """Return the lines of displays that no claim covers.

    A claim covers the display in or just after which it stands (at most five lines), and those it names.
    """
    displays = sorted(line for section in read_sections().values() for line in section.get("displays", ()))
    ends = [*displays[1:], 10**6]
    lines = [claim.where.line for claim in all_claims()]
    entries = [entry for section in read_sections().values() for entry in section["claim"]]
    named = {line for entry in entries for line in entry.get("also_covers", ())}
    return [
        start
        for start, end in zip(displays, ends, strict=True)
        if start not in named and not any(start <= line < min(start + 6, end) for line in lines)
    ]
