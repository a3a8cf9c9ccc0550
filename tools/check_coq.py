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
from pathlib import Path

from theory.evidence.coq import missing_theorems

#: Axioms of the real numbers of the standard library, functional extensionality and the excluded middle.
ALLOWED = {
    "Coq.Reals.ClassicalDedekindReals.sig_not_dec",
    "Coq.Reals.ClassicalDedekindReals.sig_forall_dec",
    "Coq.Logic.FunctionalExtensionality.functional_extensionality_dep",
    "Coq.Logic.Classical_Prop.classic",
}
LIBRARY = Path(__file__).parents[1] / "theory" / "coq" / "library.json"
_OPEN = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort|bypass_check)\b")
_THEOREM = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)
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
    part = summary.partition("* Axioms:")[2].partition("\n* ")[0]
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
    blocks = re.split(r"^@?(\w+\.\w+)\s*\n?\s+: ", printed, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in zip(blocks[1::2], blocks[2::2], strict=True)}


def read_uses(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """Return the theorems that each theorem uses, directly or through lemmas and definitions."""
    direct: dict[str, set[str]] = {}
    for glob in sorted(folder.glob("*.glob")):
        current = ""
        for line in glob.read_text(encoding="utf-8").splitlines():
            start = re.match(r"(?:prf|def|thm|ind|rec) \d+:\d+ <> (\S+)$", line)
            use = re.match(r"R\d+:\d+ Exml\.(\S+) <> (\S+) (?:thm|def)$", line)
            if start:
                current = f"{glob.stem}.{start.group(1)}"
                direct.setdefault(current, set())
            elif use and current:
                direct[current].add(f"{use.group(1)}.{use.group(2)}")
    wanted = set(names)

    def collect(name: str, seen: set[str]) -> set[str]:
        uses: set[str] = set()
        for other in sorted(direct.get(name, set()) - seen):
            seen.add(other)
            uses |= {other} if other in wanted else collect(other, seen)
        return uses

    return {name: sorted(collect(name, {name}) - {name}) for name in names}


def describe_library(folder: Path) -> str:
    """Return the statements and dependencies of all theorems as JSON text."""
    names = list_theorems(folder)
    statements, uses = print_statements(folder, names), read_uses(folder, names)
    theorems = {name: {"statement": statements[name], "uses": uses[name]} for name in names}
    return json.dumps(theorems, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Print the problems, or one line about the library; exit code 1 if there are problems."""
    folder = Path(sys.argv[1])
    library = describe_library(folder)
    if "--write" in sys.argv[2:]:
        LIBRARY.write_text(library, encoding="utf-8")
    problems = [f"open proof or axiom: {place}" for place in find_open_proofs(folder)]
    problems += [f"a claim names a theorem that the library lacks: {name}" for name in missing_theorems()]
    if LIBRARY.read_text(encoding="utf-8") != library:
        problems.append(f"{LIBRARY.name} is not up to date; run python -m tools.check_coq {folder} --write")
    summary = run_coqchk(folder)
    problems += [f"axiom that is not allowed: {axiom}" for axiom in find_axioms(summary)]
    problems += [f"a check of Coq is switched off: {title}" for title in find_unsafe(summary)]
    if problems:
        sys.exit("\n".join(problems))
    axioms = ", ".join(sorted(ALLOWED))
    print(f"{len(list_theorems(folder))} theorems; coqchk finds no axiom beyond {axioms}.")


if __name__ == "__main__":
    main()
