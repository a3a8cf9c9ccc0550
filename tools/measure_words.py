"""Measure sentences, names and deny-listed words of documents and code: ``python -m tools.measure_words``.

Nothing of the project is imported here. The list of words is tools/deny_list.toml.
"""

from __future__ import annotations

import ast
import io
import json
import re
import statistics
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tools._measures import format_report, list_code, list_missed, make_parser

DENY_LIST = Path(__file__).parent / "deny_list.toml"

#: Pages that a command of the repository writes from the code.
GENERATED = ("docs/CLAIMS.md", "docs/claims.md", "docs/commands/*", "docs/*/commands/*", "docs/*/claims.md")
#: A page with this mark in its first lines is generated, too.
GENERATED_MARK = "<!-- generated"
#: Documents beside docs/ in which deny-listed words are looked for.
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "mkdocs.yml")
#: Names of variables that do not say what the variable holds.
VAGUE_NAMES = ("one", "found", "some", "told")

#: Largest allowed values. Sentence lengths are those of the guides of comparable projects.
TARGETS: dict[str, float | None] = {
    "sentences": None,
    "median sentence length": 17,
    "% of sentences above 30 words": 8,
    "% of sentences above 35 words": None,
    "words of README.md": 900,
    "words of docs": 26_000,
    "vague variables": 20,
    "public functions without docstring": None,
    "deny-listed words": 0,
}

ABBREVIATIONS = (
    "e.g.",
    "i.e.",
    "cf.",
    "vs.",
    "etc.",
    "al.",
    "Eq.",
    "Eqs.",
    "Sec.",
    "Fig.",
    "Thm.",
    "No.",
    "pp.",
    "resp.",
)
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

    def find(self, text: str) -> list[re.Match[str]]:
        """Find matches of the pattern in a text, outside of allowed expressions."""
        matches = list(re.finditer(self.pattern, text, self.flags))
        if not matches:
            return []
        spans = [m.span() for allowed in self.allowed for m in re.finditer(allowed, text, re.IGNORECASE)]
        return [m for m in matches if not any(a <= m.start() and m.end() <= b for a, b in spans)]

    @property
    def is_case_sensitive(self) -> bool:
        """Tell whether the pattern has a capital letter."""
        return any(letter.isupper() for letter in self.pattern)

    @property
    def flags(self) -> re.RegexFlag:
        """Return the flags of the regular expression."""
        return re.RegexFlag(0) if self.is_case_sensitive else re.IGNORECASE


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Hold a deny-listed word and its place."""

    file: str
    line: int
    text: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}, use: {self.replacement}"


@dataclass(frozen=True, slots=True)
class Identifier:
    """Hold a name that code defines, its kind and its line."""

    name: str
    kind: str
    line: int


@dataclass(slots=True)
class Source:
    """Hold the text of one file that is searched for deny-listed words."""

    file: str
    identifiers: list[Identifier] = field(default_factory=list)
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
    for abbreviation in ABBREVIATIONS:
        block = re.sub(rf"(?<!\w){re.escape(abbreviation)}", abbreviation.replace(".", "\0"), block)
    parts = [part.replace("\0", ".").strip() for part in _SENTENCE_END.split(block)]
    ended = [part for part in parts if re.search(r"[.!?:][\"')\]*_]*$", part)]
    return [sentence for sentence in ended if count_words(sentence) >= MIN_WORDS_PER_SENTENCE]


def count_words(text: str) -> int:
    """Count words: runs without blanks that have a letter or digit."""
    return sum(bool(re.search(r"\w", part)) for part in text.split())


def list_pages(root: Path) -> list[Path]:
    """List README.md and the pages of docs that are not generated."""
    pages = [page for page in sorted((root / "docs").rglob("*.md")) if not _is_generated(page, root)]
    return [page for page in [root / "README.md", *pages] if page.exists()]


def _is_generated(page: Path, root: Path) -> bool:
    name = page.relative_to(root).as_posix()
    return any(fnmatch(name, pattern) for pattern in GENERATED) or GENERATED_MARK in page.read_text("utf-8")[:500]


def measure_pages(root: Path) -> dict[str, float]:
    """Measure sentences and words of README.md and docs."""
    texts = {page: page.read_text(encoding="utf-8") for page in list_pages(root)}
    sentences = [s for text in texts.values() for block in extract_blocks(text) for s in split_sentences(block)]
    lengths = [count_words(sentence) for sentence in sentences]
    words = {page: len(text.split()) for page, text in texts.items()}
    readme = words.pop(root / "README.md", 0)
    return {
        "sentences": len(lengths),
        "median sentence length": statistics.median(lengths) if lengths else 0,
        "% of sentences above 30 words": _percent_above(lengths, 30),
        "% of sentences above 35 words": _percent_above(lengths, 35),
        "words of README.md": readme,
        "words of docs": sum(words.values()),
    }


def _percent_above(lengths: Sequence[int], limit: int) -> float:
    return round(100 * sum(length > limit for length in lengths) / len(lengths), 1) if lengths else 0.0


def list_longest(root: Path, number: int) -> list[str]:
    """List the longest sentences of README.md and docs."""
    rows = [
        (count_words(sentence), page.relative_to(root).as_posix(), sentence)
        for page in list_pages(root)
        for block in extract_blocks(page.read_text(encoding="utf-8"))
        for sentence in split_sentences(block)
    ]
    return [f"{file}: {words} words: {sentence}" for words, file, sentence in sorted(rows, reverse=True)[:number]]


def count_vague_variables(tree: ast.AST) -> Counter[str]:
    """Count assignments, loops and comprehensions whose variable has a vague name."""
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return Counter(name for name in names if name in VAGUE_NAMES)


def list_undocumented(tree: ast.Module) -> list[tuple[int, str]]:
    """List public functions and methods whose docstring or its first line is missing."""
    return [(node.lineno, name) for node, name in _iterate_public(tree, "") if not _has_first_line(node)]


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _iterate_public(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[_Function, str]]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _iterate_public(node, f"{prefix}{node.name}.")
        elif isinstance(node, _Function) and not node.name.startswith("_") and not _is_variant(node):
            yield node, prefix + node.name


def _is_variant(node: _Function) -> bool:
    """Overloads, setters and inherited methods have the docstring elsewhere."""
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"overload", "setter", "override"})


def _has_first_line(node: _Function) -> bool:
    docstring = ast.get_docstring(node, clean=False)
    return docstring is not None and bool(docstring.split("\n")[0].strip())


def list_identifiers(tree: ast.AST, module: str) -> list[Identifier]:
    """List the names that a module defines, with its own dotted name first."""
    identifiers = [Identifier(module, "module", 1)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            identifiers.append(Identifier(node.name, "class", node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            identifiers.append(Identifier(node.name, "function", node.lineno))
        elif isinstance(node, ast.arg):
            identifiers.append(Identifier(node.arg, "argument", node.lineno))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            identifiers.append(Identifier(node.id, "variable", node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            identifiers.append(Identifier(node.attr, "attribute", node.lineno))
    return identifiers


def split_identifier(name: str) -> str:
    """Split an identifier into lower-case words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.sub(r"[_.]+", " ", spaced).strip().lower()


def list_code_prose(text: str) -> list[tuple[int, str]]:
    """List comments and strings of Python source."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    return [(t.start[0], t.string) for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type in kinds]


def read_sources(root: Path) -> list[Source]:
    """Read everything that is searched for deny-listed words: documents and packages."""
    documents = [root / name for name in DOCUMENTS if name != "README.md"]
    sources = []
    for file in [*list_pages(root), *(document for document in documents if document.exists())]:
        sources.append(Source(file.relative_to(root).as_posix(), prose=[(1, file.read_text(encoding="utf-8"))]))
    for path, module, text in list_code(root):
        sources.append(Source(path, list_identifiers(ast.parse(text), module), list_code_prose(text)))
    return sources


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
    for identifier in source.identifiers:
        if (not entry.kinds or identifier.kind in entry.kinds) and _is_denied(entry, identifier.name):
            yield Occurrence(source.file, identifier.line, identifier.name, entry.replacement)


@cache
def _is_denied(entry: Entry, name: str) -> bool:
    """Names come back in many places, so each is searched once."""
    return bool(entry.find(name if entry.is_case_sensitive else split_identifier(name)))


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


def measure_code(root: Path) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Measure variables and docstrings of the packages."""
    vague: Counter[str] = Counter()
    undocumented = []
    for path, _, text in list_code(root):
        tree = ast.parse(text)
        vague += count_vague_variables(tree)
        undocumented += [f"{path}:{line}: {function}" for line, function in list_undocumented(tree)]
    values: dict[str, float] = {
        "vague variables": vague.total(),
        "public functions without docstring": len(undocumented),
    }
    return values, {
        "vague variables": [f"{name} {vague[name]}" for name in VAGUE_NAMES],
        "public functions without docstring": undocumented,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the measurements."""
    parser = make_parser("Measure sentences, names and deny-listed words.")
    parser.add_argument("--deny-list", type=Path, default=DENY_LIST, help="TOML file of deny-listed words")
    parser.add_argument("--longest", type=int, default=0, metavar="N", help="print the N longest sentences too")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    values, details = measure_code(root)
    denied = find_denied(read_sources(root), read_deny_list(options.deny_list))
    values = {**measure_pages(root), **values, "deny-listed words": len(denied)}
    if options.longest:
        details["longest sentences"] = list_longest(root, options.longest)
    if options.json:
        print(json.dumps({"values": values, "targets": TARGETS, "denied": [asdict(o) for o in denied], **details}))
    else:
        shown = {**details, "deny-listed words": [str(occurrence) for occurrence in denied]}
        kept = shown if options.details else {name: shown[name] for name in shown if name in SHOWN}
        print(format_report(values, TARGETS, kept))
    return int(options.strict and bool(list_missed(values, TARGETS)))


#: Details of the short report.
SHOWN = ("vague variables", "longest sentences")


if __name__ == "__main__":
    sys.exit(main())
