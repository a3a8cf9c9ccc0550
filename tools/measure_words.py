"""Measure sentences, names and deny-listed words of documents and code: ``python -m tools.measure_words``.

Nothing of the project is imported here. The list of words is tools/deny_list.toml.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tools._measures import OTHER_CODE, PACKAGES, list_code, make_parser, print_report

DENY_LIST = Path(__file__).parent / "deny_list.toml"

#: Pages that a command of the repository writes, and a test compares with it.
GENERATED = {
    "docs/CLAIMS.md": "python -m tools.claims_page",
    "docs/commands/*": "python -m tools.command_pages",
    "docs/reference/study-file.md": "python -m tools.study_schema",
}
#: Tables that are copied from the output of commands: their prose counts, their rows do not.
RESULTS = "docs/reference/results-*.md"
#: Documents beside docs/ in which deny-listed words are looked for.
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "mkdocs.yml")
#: The test of this tool, which plants deny-listed words.
PLANTED = "tests/tools/test_measure.py"
#: Names of variables that do not say what the variable holds.
VAGUE_NAMES = ("one", "found", "some", "told")
#: Names of functions that are no verbs: they begin with a preposition or question word, or are a participle.
_NO_VERB = re.compile(
    "(above|after|against|along|at|before|below|beside|between|beyond|during|in|near|off|out|per|until|upon|without"
    "|how|what|when|where|which|who|whose|why|begun|bought|chosen|drawn|found|given|grown|held|hidden|kept|known|left"
    "|made|seen|shown|spent|taken|told|written)( |$)|(?!(embed|exceed|feed|need|proceed|seed)$)\\w+ed$"
)

#: Largest allowed values. Sentence lengths are those of the guides of comparable projects.
TARGETS: dict[str, float | None] = {
    "sentences": None,
    "median sentence length": 17,
    "% of sentences above 30 words": 8,
    "% of sentences above 35 words": None,
    "words of README.md": 900,
    "words of docs": 26_000,
    "vague variables": 20,
    "vague variables elsewhere": 20,
    "functions without a verb": None,
    "functions without a verb elsewhere": None,
    "public functions without docstring": None,
    "deny-listed words": 0,
    "deny-listed words elsewhere": 0,
}

_ABBREVIATION = re.compile(r"(?<!\w)(e\.g|i\.e|cf|vs|etc|al|Eqs?|Sec|Fig|Thm|No|pp|resp)\.")
#: Shorter ones are labels such as "**The loss.**", which would lower the median.
MIN_WORDS_PER_SENTENCE = 4
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9`])")
_LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")
_SKIPPED_LINE = re.compile(r"^\s*(\||#|:::|!!!|\?\?\?|!\[|<|=+\s*$|-{3,}\s*$|\[[^\]]+\]:)")


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one entry of the deny list; the head of the file explains the fields."""

    pattern: str
    replacement: str
    scope: str
    kinds: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def flags(self) -> re.RegexFlag:
        """Return the flags of the regular expression; a capital letter makes it case-sensitive."""
        return re.RegexFlag(0) if any(letter.isupper() for letter in self.pattern) else re.IGNORECASE

    def find(self, text: str) -> list[re.Match[str]]:
        """Find matches of the pattern in a text, outside of allowed expressions."""
        matches = list(re.finditer(self.pattern, text, self.flags))
        spans = [m.span() for allowed in self.allowed for m in re.finditer(allowed, text, re.IGNORECASE) if matches]
        return [m for m in matches if not any(a <= m.start() and m.end() <= b for a, b in spans)]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Hold a deny-listed word and its place."""

    file: str
    line: int
    text: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}, use: {self.replacement}"


@dataclass(slots=True)
class Source:
    """Hold the text of one file that is searched for deny-listed words."""

    file: str
    identifiers: list[tuple[str, str, int]] = field(default_factory=list)
    prose: list[tuple[int, str]] = field(default_factory=list)
    joined_prose: str = field(init=False)

    def __post_init__(self) -> None:
        self.joined_prose = "\n".join(_join_lines(text) for _, text in self.prose)


def read_deny_list(path: Path = DENY_LIST) -> list[Entry]:
    """Read the deny list."""
    entries = []
    for table in tomllib.loads(path.read_text(encoding="utf-8"))["entry"]:
        if table["scope"] not in ("identifiers", "prose", "both"):
            raise ValueError(f"scope must be identifiers, prose or both, got {table['scope']!r} in {path.name}")
        lists = {key: tuple(table.get(key, ())) for key in ("kinds", "allowed", "files")}
        entries.append(Entry(table["pattern"], table["replacement"], table["scope"], **lists))
    return entries


def extract_blocks(text: str) -> list[str]:
    """Extract paragraphs and list items of a Markdown text, without code, tables, headings and directives."""
    blocks: list[list[str]] = [[]]
    for line in _drop_fences(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)):
        bare = re.sub(r"^\s*>\s?", "", line)
        if not bare.strip() or _SKIPPED_LINE.match(bare):
            blocks.append([])
        elif _LIST_ITEM.match(bare):
            blocks.append([_LIST_ITEM.sub("", bare)])
        else:
            blocks[-1].append(bare.strip())
    return [simplify_inline(" ".join(block)) for block in blocks if block]


def _drop_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        mark = re.match(r"^[\s>]*(`{3,}|~{3,}|\$\$)", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            closed = mark[1] == "$$" and line.rstrip().endswith("$$") and len(line.strip()) > 2
            fence = "" if closed else mark[1]
            yield ""
        else:
            yield line


def simplify_inline(text: str) -> str:
    """Replace links by their text, and code and formulas by one word each."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"`+[^`]*`+|\$[^$]+\$", "code", text)
    return re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)


def split_sentences(block: str) -> list[str]:
    """Split a block into sentences, without labels of a few words and a rest that does not end like a sentence."""
    block = _ABBREVIATION.sub(lambda match: match[0].replace(".", "\0"), block)
    parts = [part.replace("\0", ".").strip() for part in _SENTENCE_END.split(block)]
    ended = [part for part in parts if re.search(r"[.!?:][\"')\]*_]*$", part)]
    return [sentence for sentence in ended if count_words(sentence) >= MIN_WORDS_PER_SENTENCE]


def count_words(text: str) -> int:
    """Count words: runs without blanks that have a letter or digit."""
    return sum(bool(re.search(r"\w", part)) for part in text.split())


def list_pages(root: Path) -> dict[Path, str]:
    """Read README.md and the pages of docs that no command writes; of result tables only the prose."""
    pages = {}
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        name = page.relative_to(root).as_posix()
        if page.exists() and not any(fnmatch(name, pattern) for pattern in GENERATED):
            text = page.read_text(encoding="utf-8")
            pages[page] = "\n".join(extract_blocks(text)) if fnmatch(name, RESULTS) else text
    return pages


def measure_pages(root: Path) -> tuple[dict[str, float], list[str]]:
    """Measure sentences and words of README.md and docs, and list the longest sentences."""
    pages = list_pages(root)
    sentences = [
        (count_words(sentence), page.relative_to(root).as_posix(), sentence)
        for page, text in pages.items()
        for block in extract_blocks(text)
        for sentence in split_sentences(block)
    ]
    lengths = [length for length, *_ in sentences]
    words = {page: len(text.split()) for page, text in pages.items()}
    readme = words.pop(root / "README.md", 0)
    values = {
        "sentences": len(lengths),
        "median sentence length": statistics.median(lengths) if lengths else 0,
        "% of sentences above 30 words": _percent_above(lengths, 30),
        "% of sentences above 35 words": _percent_above(lengths, 35),
        "words of README.md": readme,
        "words of docs": sum(words.values()),
    }
    return values, [f"{file}: {length} words: {text}" for length, file, text in sorted(sentences, reverse=True)]


def list_generated(root: Path) -> dict[str, str]:
    """List the words of generated pages, which no other measure counts, with the command that writes them."""
    counts = {}
    for pattern, command in GENERATED.items():
        words = sum(len(page.read_text(encoding="utf-8").split()) for page in root.glob(pattern))
        counts[pattern] = f"{words:,} words, written by: {command}"
    rows = sum(len(page.read_text(encoding="utf-8").split()) for page in root.glob(RESULTS))
    return counts | {RESULTS: f"{rows:,} words, copied from output: prose counts, tables do not"}


def _percent_above(lengths: Sequence[int], limit: int) -> float:
    return round(100 * sum(length > limit for length in lengths) / len(lengths), 1) if lengths else 0.0


def count_vague_variables(tree: ast.AST) -> Counter[str]:
    """Count assignments, loops and comprehensions whose variable has a vague name."""
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return Counter(name for name in names if name in VAGUE_NAMES)


def list_verbless(tree: ast.AST) -> list[tuple[int, str]]:
    """List functions whose name is a participle or begins with a preposition or question word."""
    functions = (node for node in ast.walk(tree) if isinstance(node, _Function) and not _get_decorators(node) & _NOUNS)
    return [(node.lineno, node.name) for node in functions if _NO_VERB.match(split_identifier(node.name))]


def list_undocumented(tree: ast.Module) -> list[tuple[int, str]]:
    """List public functions and methods whose docstring or its first line is missing."""
    return [(node.lineno, name) for node, name in _iterate_public(tree, "") if not _has_first_line(node)]


_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Decorators of functions whose name is a noun, and of those whose docstring is elsewhere.
_NOUNS = {"property", "cached_property", "fixture", "setter"}
_VARIANTS = {"overload", "setter", "override"}


def _iterate_public(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[_Function, str]]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _iterate_public(node, f"{prefix}{node.name}.")
        elif isinstance(node, _Function) and not node.name.startswith("_") and not _get_decorators(node) & _VARIANTS:
            yield node, prefix + node.name


def _get_decorators(node: _Function) -> set[str]:
    return {ast.unparse(decorator).partition("(")[0].rpartition(".")[2] for decorator in node.decorator_list}


def _has_first_line(node: _Function) -> bool:
    docstring = ast.get_docstring(node, clean=False)
    return docstring is not None and bool(docstring.split("\n")[0].strip())


def list_identifiers(tree: ast.AST, module: str) -> list[tuple[str, str, int]]:
    """List the names that a module defines with kind and line, its own dotted name first."""
    identifiers = [(module, "module", 1)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            identifiers.append((node.name, "class", node.lineno))
        elif isinstance(node, _Function):
            identifiers.append((node.name, "function", node.lineno))
        elif isinstance(node, ast.arg):
            identifiers.append((node.arg, "argument", node.lineno))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            identifiers.append((node.id, "variable", node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            identifiers.append((node.attr, "attribute", node.lineno))
    return identifiers


def split_identifier(name: str) -> str:
    """Split an identifier into lower-case words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.sub(r"[_.]+", " ", spaced).strip().lower()


def list_code_prose(text: str) -> list[tuple[int, str]]:
    """List comments and strings of Python source."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    return [(t.start[0], t.string) for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type in kinds]


def read_documents(root: Path) -> list[Source]:
    """Read the documents that are searched for deny-listed words."""
    texts = list_pages(root)
    texts |= {root / name: (root / name).read_text(encoding="utf-8") for name in DOCUMENTS if (root / name).exists()}
    return [Source(page.relative_to(root).as_posix(), prose=[(1, text)]) for page, text in texts.items()]


def read_code(root: Path, packages: Sequence[str] = PACKAGES) -> list[Source]:
    """Read the names, comments and strings of Python files."""
    return [
        Source(path, list_identifiers(ast.parse(text), module), list_code_prose(text))
        for path, module, text in list_code(root, packages)
        if path != PLANTED
    ]


def find_denied(sources: Iterable[Source], entries: Sequence[Entry]) -> list[Occurrence]:
    """Find deny-listed words."""
    occurrences: set[Occurrence] = set()
    for source in sources:
        for entry in entries:
            if not any(fnmatch(source.file, pattern) for pattern in entry.files):
                if entry.scope != "prose":
                    occurrences.update(_find_in_identifiers(source, entry))
                if entry.scope != "identifiers":
                    occurrences.update(_find_in_prose(source, entry))
    return sorted(occurrences, key=lambda place: (place.file, place.line, place.text))


def _find_in_identifiers(source: Source, entry: Entry) -> Iterator[Occurrence]:
    for name, kind, line in source.identifiers:
        if (not entry.kinds or kind in entry.kinds) and _is_denied(entry, name):
            yield Occurrence(source.file, line, name, entry.replacement)


@cache
def _is_denied(entry: Entry, name: str) -> bool:
    """Names come back in many places, so each is searched once."""
    return bool(entry.find(split_identifier(name) if entry.flags else name))


def _find_in_prose(source: Source, entry: Entry) -> Iterator[Occurrence]:
    # One search of the whole file, because most entries do not occur in most files.
    if not re.search(entry.pattern, source.joined_prose, entry.flags):
        return
    for first, text in source.prose:
        for match in entry.find(_join_lines(text)):
            line = first + text.count("\n", 0, match.start())
            yield Occurrence(source.file, line, match[0], entry.replacement)


def _join_lines(text: str) -> str:
    """Phrases go on in the next line; a blank in place of the break keeps the positions."""
    return text.replace("\n", " ")


def measure_code(root: Path, packages: Sequence[str] = PACKAGES) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Measure variables, functions and docstrings of Python files."""
    details: dict[str, list[str]] = {"vague variables": [], "functions without a verb": []}
    details["public functions without docstring"] = []
    total = 0
    for path, _, text in list_code(root, packages):
        tree = ast.parse(text)
        vague = count_vague_variables(tree)
        total += vague.total()
        details["vague variables"] += [f"{path}: {name} {number}" for name, number in sorted(vague.items())]
        details["functions without a verb"] += [f"{path}:{line}: {name}" for line, name in list_verbless(tree)]
        bare = list_undocumented(tree)
        details["public functions without docstring"] += [f"{path}:{line}: {name}" for line, name in bare]
    return {name: total if name == "vague variables" else len(details[name]) for name in details}, details


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the measurements."""
    parser = make_parser("Measure sentences, names and deny-listed words.")
    parser.add_argument("--deny-list", type=Path, default=DENY_LIST, help="TOML file of deny-listed words")
    parser.add_argument("--longest", type=int, default=0, metavar="N", help="print the N longest sentences too")
    options = parser.parse_args(arguments)
    root, entries = options.root.resolve(), read_deny_list(options.deny_list)
    values, longest = measure_pages(root)
    code, details = measure_code(root)
    other, other_details = measure_code(root, OTHER_CODE)
    values |= code | {f"{name} elsewhere": other[name] for name in ELSEWHERE}
    details |= {f"{name} elsewhere": other_details[name] for name in ELSEWHERE}
    for name, sources in (
        ("deny-listed words", [*read_documents(root), *read_code(root)]),
        ("deny-listed words elsewhere", read_code(root, OTHER_CODE)),
    ):
        details[name] = [str(occurrence) for occurrence in find_denied(sources, entries)]
        values[name] = len(details[name])
    shown = details if options.details else {name: details[name] for name in SHOWN}
    shown |= {"generated pages": list_generated(root)}
    shown |= {"longest sentences": longest[: options.longest]} if options.longest else {}
    return print_report(values, TARGETS, shown, options)


#: Measures of names that are taken of tests, benchmarks, fuzz and tools, too.
ELSEWHERE = ("vague variables", "functions without a verb")
#: Details of the short report.
SHOWN = ("deny-listed words",)

if __name__ == "__main__":
    sys.exit(main())
