"""Join what the claims say (``data/*.toml``) with their checks (``CHECKS`` of the modules in this folder)."""

from __future__ import annotations

import difflib
import pkgutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files
from typing import Any, get_args

from theory.claims.claim import PRINTED, Check, Claim, Experiment, Kind, Matters, Place, Reading, Relation, Side, Sides

__all__ = ["Registry", "all_claims", "get", "join", "read_checks", "read_own", "read_sections"]

_PACKAGE = "theory.claims"


@dataclass(frozen=True)
class Registry:
    """Claims of one paper.

    Attributes
    ----------
    sections : mapping
        Data files by name: title and claims of each section.
    checks : mapping
        Checks by claim id.
    errata : mapping
        What each erratum says, by name.

    Examples
    --------
    >>> read_own().get("lemma-1-i").expected
    'refuted'
    """

    sections: Mapping[str, Mapping[str, Any]]
    checks: Mapping[str, Check]
    errata: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """Claims by id, in the order of the paper."""
        claims = join(self.sections, self.checks)
        return dict(sorted(claims.items(), key=lambda item: item[1].where.line))

    @property
    def titles(self) -> dict[str, str]:
        """Return the title of every section, in the order of the paper."""
        return {name: section["title"] for name, section in self.sections.items()}

    def get(self, claim_id: str) -> Claim:
        """Return the claim with this id; the error for an unknown id names the nearest ones."""
        if claim_id in self.claims:
            return self.claims[claim_id]
        near = difflib.get_close_matches(claim_id, self.claims, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `exml claims` lists all ids."
        raise ValueError(f"there is no claim {claim_id!r}{hint}")


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


def join(sections: Mapping[str, Mapping[str, Any]], checks: Mapping[str, Check]) -> dict[str, Claim]:
    """Build every claim from its data and its check; each id needs both, once."""
    claims: dict[str, Claim] = {}
    for group, section in sections.items():
        for entry in section["claim"]:
            _require_fields(entry, group)
            claim_id = entry["id"]
            if claim_id in claims:
                raise ValueError(f"claim {claim_id!r} is stated twice; ids must be unique.")
            if claim_id not in checks:
                raise ValueError(f"claim {claim_id!r} of {group} has no check.")
            claims[claim_id] = _build(entry, checks[claim_id], group)
    if orphans := sorted(set(checks) - set(claims)):
        raise ValueError(f"checks without a claim in the data: {', '.join(orphans)}.")
    return claims


_REQUIRED = ("section", "label", "line", "statement", "plain", "printed", "kind", "relation")
#: Entries of a claim's data that are no fields of `Claim`.
_OWN = ("section", "label", "line", "relation", "corrected_relation", "mutant_relation", "vacuous_from", "log")
_ALLOWED: dict[str, tuple[str, ...]] = {
    "printed": PRINTED,
    "kind": get_args(Kind),
    "relation": get_args(Relation),
    "matters": get_args(Matters),
}


def _require_fields(entry: Mapping[str, Any], group: str) -> None:
    """Refuse the data of a claim that lack an entry, have another one, or a value that is not allowed."""
    place = f"claim {entry['id']!r} of {group}" if "id" in entry else f"a claim of {group}"
    if missing := [name for name in ("id", *_REQUIRED) if name not in entry]:
        raise ValueError(f"{place} lacks {', '.join(missing)}.")
    known = {*_OWN, "also_covers", *(entry.name for entry in fields(Claim))} - {"where", "cases", "reading", "repaired"}
    if unknown := sorted(entry.keys() - known):
        raise ValueError(f"{place} has the unknown entry {unknown[0]!r}; allowed are {', '.join(sorted(known))}.")
    for name, allowed in _ALLOWED.items():
        if name in entry and entry[name] not in allowed:
            raise ValueError(f"{place} has {name} = {entry[name]!r}; allowed are {', '.join(allowed)}.")


def _build(entry: Mapping[str, Any], check: Check, group: str) -> Claim:
    fields = {name: _freeze(value) for name, value in entry.items() if name != "also_covers"}
    options = {name: fields.pop(name) for name in ("vacuous_from", "log") if name in fields}
    relation = fields.pop("relation")

    def read(sides: Sides | Side | None, own: str) -> Reading | None:
        chosen = fields.pop(own, relation)
        if sides is None:
            return None
        left, right = sides if isinstance(sides, tuple) else (check.printed[0], sides)
        return Reading(left, chosen, right, **options)

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
def read_own() -> Registry:
    """Read the registry of the paper of this project."""
    errata = tomllib.loads((files(_PACKAGE) / "data" / "errata.toml").read_text(encoding="utf-8"))
    return Registry(read_sections(), read_checks(), errata)


def all_claims() -> list[Claim]:
    """Return every claim of the project's paper, in its order."""
    return list(read_own().claims.values())


def get(claim_id: str) -> Claim:
    """Return the claim of the project's paper with this id."""
    return read_own().get(claim_id)
