"""Check a compiled copy of the Coq library: ``python -m tools.check_coq FOLDER [--write]``.

Fail if a proof is left open, if the library rests on an axiom beyond the four of the standard reals and classical logic
(``coqchk``, which checks all proofs again), if a claim names a theorem that the library lacks, or if
``theory/coq/library.json`` differs from the compiled files. With ``--write`` the file is written instead.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from theory.claims import all_claims

#: Axioms of the real numbers of the standard library, functional extensionality and the excluded middle.
ALLOWED = {
    "Coq.Reals.ClassicalDedekindReals.sig_not_dec",
    "Coq.Reals.ClassicalDedekindReals.sig_forall_dec",
    "Coq.Logic.FunctionalExtensionality.functional_extensionality_dep",
    "Coq.Logic.Classical_Prop.classic",
}
LIBRARY = Path(__file__).parents[1] / "theory" / "coq" / "library.json"
PAGE = Path(__file__).parents[1] / "docs" / "proofs.md"
#: Files that show that hypotheses can be met; a closed instance may use their theorems.
WITNESS_FILES = {"pool", "witness", "witness_excess", "instances_numbers", "instances"}
_OPEN = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort|bypass_check)\b")
_THEOREM = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)
_INSTANCE = re.compile(r"^\s*(?:Definition|Theorem)\s+(i_\w+)", re.MULTILINE)
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_HEADER = """\
From Coq Require Import Reals.
From mathcomp Require Import ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype finfun bigop finset div prime.
From Exml Require Import finite_probability.
From Exml Require {modules}.
Open Scope R_scope.
Unset Printing Implicit Defensive.
Set Printing Width 110.
"""


def read_source(path: Path) -> str:
    """Return a source file without its comments."""
    return _COMMENT.sub("", path.read_text(encoding="utf-8"))


def find_open_proofs(folder: Path) -> list[str]:
    """Return one line for every word that leaves a proof open or adds an axiom."""
    return [
        f"{source.name}: {word}" for source in sorted(folder.glob("*.v")) for word in _OPEN.findall(read_source(source))
    ]


def list_theorems(folder: Path) -> list[str]:
    """Return the names ``file.theorem`` of all theorems in the folder, without lemmas."""
    return [
        f"{source.stem}.{name}"
        for source in sorted(folder.glob("*.v"))
        for name in _THEOREM.findall(read_source(source))
    ]


def find_axioms(summary: str) -> list[str]:
    """Return the axioms in the context summary of ``coqchk`` that are not allowed."""
    _, header, rest = summary.partition("* Axioms:")
    if not header:
        return ["coqchk printed no list of axioms"]
    part = rest.partition("\n* ")[0]
    return sorted(set(part.split()) - ALLOWED - {"<none>"})


def find_unsafe(summary: str) -> list[str]:
    """Return the parts of the context summary that switch a check of Coq off."""
    parts = re.findall(r"^\* (\S.*?):\s*(.*?)\s*(?=^\* |\Z)", summary, flags=re.MULTILINE | re.DOTALL)
    return [title for title, text in parts if title not in ("Theory", "Axioms") and text != "<none>"]


def run_coqchk(folder: Path) -> str:
    """Check all compiled proofs again and return the context summary."""
    modules = [f"Exml.{source.stem}" for source in sorted(folder.glob("*.v"))]
    command = ["coqchk", "-silent", "-o", "-Q", ".", "Exml", *modules]
    result = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return result.stdout + result.stderr


def print_statements(folder: Path, names: list[str]) -> dict[str, str]:
    """Return the statements as Coq prints them, with all hypotheses of their sections."""
    modules = sorted({name.partition(".")[0] for name in names})
    script = folder / "statements_check.v"
    lines = [_HEADER.format(modules=" ".join(modules)), *(f"Check @{name}." for name in names)]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["coqc", "-q", "-w", "none", "-Q", ".", "Exml", script.name]
    try:
        printed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    finally:
        for left in folder.glob("*statements_check.*"):
            left.unlink()
    blocks = re.split(r"^@?[\w.]+\s*\n?\s+: ", printed, flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(names, blocks, strict=True)}


def read_references(folder: Path) -> dict[str, set[str]]:
    """Return the theorems, lemmas and definitions that each of them names, as ``file.name``."""
    references: dict[str, set[str]] = {}
    for glob in sorted(folder.glob("*.glob")):
        current = ""
        for line in glob.read_text(encoding="utf-8").splitlines():
            start = re.match(r"(?:prf|def|thm|ind|rec) \d+:\d+ <> (\S+)$", line)
            use = re.match(r"R\d+:\d+ Exml\.(\S+) <> (\S+) (?:thm|def)$", line)
            if start:
                current = f"{glob.stem}.{start.group(1)}"
                references.setdefault(current, set())
            elif use and current:
                references[current].add(f"{use.group(1)}.{use.group(2)}")
    return references


def collect_uses(references: dict[str, set[str]], name: str, ends: Container[str]) -> set[str]:
    """Return the names that a proof uses, where names outside of `ends` are replaced by what they use."""
    uses: set[str] = set()
    seen, waiting = {name}, [name]
    while waiting:
        for other in references.get(waiting.pop(), set()) - seen:
            seen.add(other)
            if other in ends:
                uses.add(other)
            else:
                waiting.append(other)
    return uses


def list_instances(folder: Path) -> list[str]:
    """Return the names of the closed instances: what starts with ``i_`` in the files ``instances*.v``."""
    return [
        f"{source.stem}.{name}"
        for source in sorted(folder.glob("instances*.v"))
        for name in _INSTANCE.findall(read_source(source))
    ]


def has_premises(statement: str) -> bool:
    """Tell whether a printed statement is about arbitrary objects or has a hypothesis."""
    words, depth = statement.replace("(", " ( ").replace(")", " ) ").split(), 0
    while words[0] == "let":
        words = words[words.index("in") + 1 :]
    if words[0] in ("forall", "exists"):
        return words[0] == "forall"
    for word in words:
        depth += word.count("(") + word.count("[") - word.count(")") - word.count("]")
        if word == "->" and depth == 0:
            return True
    return False


def list_cited(folder: Path) -> set[str]:
    """Return the names of theorems in claims and, as ``file.name`` in backticks, on the page of proofs."""
    files = {source.stem for source in folder.glob("*.v")}
    names = re.findall(r"`(\w+\.\w+)`", PAGE.read_text(encoding="utf-8"))
    cited = {name for name in names if name.partition(".")[0] in files and not name.endswith(".v")}
    return cited | {name for claim in all_claims() for name in (*claim.coq, *claim.corrected_coq)}


def find_witnesses(folder: Path) -> dict[str, str]:
    """Return for each theorem the first closed instance whose proof applies it, directly or through lemmas.

    The proof may pass through theorems of the files about witnesses, but not through other theorems of the library.
    """
    references, instances = read_references(folder), list_instances(folder)
    statements = print_statements(folder, instances)
    theorems = {name for name in list_theorems(folder) if name.partition(".")[0] not in WITNESS_FILES}
    witnesses: dict[str, str] = {}
    for instance in instances:
        if not has_premises(statements[instance]):
            for theorem in collect_uses(references, instance, theorems):
                witnesses.setdefault(theorem, instance)
    return witnesses


def describe_library(folder: Path) -> str:
    """Return the statement of every theorem, the theorems it uses and its closed instance as JSON text."""
    names, references, witnesses = list_theorems(folder), read_references(folder), find_witnesses(folder)
    statements = print_statements(folder, names)
    theorems = {
        name: {
            "statement": statements[name],
            "uses": sorted(collect_uses(references, name, set(names))),
            "instance": witnesses.get(name, ""),
        }
        for name in names
    }
    return json.dumps(theorems, indent=1, ensure_ascii=False) + "\n"


def find_gaps(theorems: dict[str, dict[str, Any]], cited: Iterable[str]) -> list[str]:
    """Return one line for every cited theorem that the library lacks or that has no closed instance."""
    gaps = []
    for name in sorted(cited):
        if name not in theorems:
            gaps.append(f"a claim or a page names a theorem that the library lacks: {name}")
        elif not theorems[name]["instance"]:
            gaps.append(f"no closed instance shows that the hypotheses can be met: {name}")
    return gaps


def count_relations() -> str:
    """Return how many identities and inequalities of the registry are theorems, as printed or as corrected."""
    relations = [claim for claim in all_claims() if claim.kind in ("identity", "inequality")]
    proved = [claim for claim in relations if claim.coq or claim.corrected_coq]
    left = ", ".join(claim.id for claim in relations if claim not in proved)
    return f"{len(proved)} of {len(relations)} identities and inequalities are theorems; not {left}."


def main() -> None:
    """Print the problems, or what the library proves; exit code 1 if there are problems."""
    folder = Path(sys.argv[1])
    library = describe_library(folder)
    if "--write" in sys.argv[2:]:
        LIBRARY.write_text(library, encoding="utf-8")
    problems = [f"open proof or axiom: {place}" for place in find_open_proofs(folder)]
    problems += find_gaps(json.loads(library), list_cited(folder))
    if LIBRARY.read_text(encoding="utf-8") != library:
        problems.append(f"{LIBRARY.name} is not up to date; run python -m tools.check_coq {folder} --write")
    summary = run_coqchk(folder)
    problems += [f"axiom that is not allowed: {axiom}" for axiom in find_axioms(summary)]
    problems += [f"a check of Coq is switched off: {title}" for title in find_unsafe(summary)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(list_theorems(folder))} theorems; coqchk finds no axiom beyond {', '.join(sorted(ALLOWED))}.")
    print(f"{len(list_cited(folder))} theorems are named by claims or {PAGE.name}; each has a closed instance.")
    print(count_relations())


if __name__ == "__main__":
    main()
