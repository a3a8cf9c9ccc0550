"""Planted trees whose numbers are known: both measuring tools count them rightly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import measure_code, measure_words
from tools._measures import list_missed


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


CODE = {
    "exml_sim/__init__.py": "",
    "exml_sim/__main__.py": """\
import sys
from exml_sim.runner import study
if sys.argv[1] == 'study':
    study()
elif sys.argv[1] == 'explore':
    import exml_sim.table
elif sys.argv[1] == 'fail':
    raise ValueError('planted failure')
""",
    "exml_sim/runner.py": """\
from exml_sim.arms import pull
def study():
    import theory.bound
    run_block()
def run_block():
    pull()
    pull()
""",
    "exml_sim/arms/__init__.py": "from .state import read\ndef pull():\n    read()\n",
    "exml_sim/arms/state.py": "import exml_sim.table\ndef read():\n    return exml_sim.table.get()\n",
    "exml_sim/table.py": """\
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from exml_sim import runner
LIMIT: int = 3
LOW, _HIGH = 1, 2
try:
    FAST = True
except ImportError:
    FAST = False
class Table:
    size = 1
class _Hidden:
    pass
def get():
    inner = 1
    return inner
""",
    "exml_sim/_internal/text.py": "def public_here():\n    pass\nclass Table:\n    pass\n",
    "theory/__init__.py": "",
    "theory/bound.py": "def _private():\n    pass\nasync def bound():\n    pass\n",
    "simulations/__init__.py": "",
    "simulations/table.py": "class Plot:\n    pass\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return plant(tmp_path, CODE)


def test_lines_names_and_duplicates(code: Path) -> None:
    modules = measure_code.read_modules(code)
    assert len(modules) == len(CODE)
    lines = measure_code.count_lines(modules)
    assert (lines["exml_sim.arms"], lines["exml_sim"], lines["theory"]) == (6, 8 + 7 + 16, 4)
    assert sum(lines.values()) == sum(text.count("\n") for text in CODE.values())
    names = {name: measure_code.list_public_names(module) for name, module in modules.items()}
    constants = {"FAST": "constant", "LIMIT": "constant", "LOW": "constant"}
    assert names["exml_sim.table"] == {**constants, "Table": "class", "get": "function"}
    assert names["theory.bound"] == {"bound": "function"}
    assert names["exml_sim._internal.text"] == {}
    assert names["exml_sim.arms"] == {"pull": "function"}, "an imported name is not defined here"
    twice = ["exml_sim/_internal/text.py", "exml_sim/table.py"]
    assert measure_code.find_duplicate_classes(modules) == {"Table": twice}
    assert measure_code.find_duplicate_modules(modules) == {"table": ["exml_sim/table.py", "simulations/table.py"]}


def test_longest_chain_ignores_lazy_and_type_only_imports(code: Path) -> None:
    graph = measure_code.build_import_graph(measure_code.read_modules(code))
    assert graph["exml_sim.runner"] == {"exml_sim.arms"}, "theory.bound is imported in a function"
    assert graph["exml_sim.table"] == set()
    chain = ["exml_sim.__main__", "exml_sim.runner", "exml_sim.arms", "exml_sim.arms.state", "exml_sim.table"]
    assert measure_code.find_longest_chain(graph) == chain


def test_cycle_is_reported(tmp_path: Path) -> None:
    plant(tmp_path, {"theory/a.py": "import theory.b\n", "theory/b.py": "import theory.a\n"})
    values, details = measure_code.measure_source(tmp_path)
    assert values["longest import chain"] is None
    assert "cycle" in str(details["longest import chain"])
    assert "longest import chain" in list_missed(values, measure_code.TARGETS)


def test_loaded_modules(code: Path) -> None:
    assert measure_code.list_loaded(code, "exml_sim") == ["exml_sim"]
    base = ["exml_sim", "exml_sim.arms", "exml_sim.arms.state", "exml_sim.runner", "exml_sim.table"]
    assert measure_code.list_loaded(code, "exml_sim", "explore") == base
    assert measure_code.list_loaded(code, "exml_sim", "study") == [*base, "theory", "theory.bound"]
    with pytest.raises(RuntimeError, match="planted failure"):
        measure_code.list_loaded(code, "exml_sim", "fail")
    assert list_missed({"modules of exml study": None}, measure_code.TARGETS) == ["modules of exml study"]


def test_trace_counts_files_and_crossings(code: Path) -> None:
    (calls,) = measure_code.trace_blocks(code, "run_block", "exml_sim", "study")
    once = ["exml_sim/arms/__init__.py", "exml_sim/arms/state.py", "exml_sim/table.py"]
    assert calls == ["exml_sim/runner.py", *once, *once]
    # runner > arms, arms > table, table > arms, arms > table
    assert measure_code.count_crossings(calls) == 4
    values, _ = measure_code.measure_trace(code, "run_block")
    assert values == {"files per trial block": 4, "crossings per trial block": 4}
    values, details = measure_code.measure_trace(code, "no_such_function")
    assert set(values.values()) == {None}
    assert "no_such_function" in str(details)


def test_code_report_and_exit_code(
    code: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--root", str(code), "--source-only"]
    assert measure_code.main([*arguments, "--strict", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"]["modules"] == len(CODE)
    monkeypatch.setitem(measure_code.TARGETS, "modules", len(CODE) - 1)
    assert measure_code.main(arguments) == 0
    assert measure_code.main([*arguments, "--strict"]) == 1
    assert "missed" in capsys.readouterr().out


PAGE = """# A heading of six words here.

A first sentence with `some inline code` has ten words, e.g. these. See [the other page](other.md) for more.
The third one goes
on in a second line.

**A label.** no end

```python
code = "not a sentence. Really not a sentence at all."
```

| table | not. A sentence in a table. |
|---|---|

- An item is a sentence.
- An item without end

$$
x = 1. Not prose at all.
$$
"""


def test_sentences_of_a_page() -> None:
    blocks = measure_words.extract_blocks(PAGE)
    sentences = [sentence for block in blocks for sentence in measure_words.split_sentences(block)]
    assert sentences == [
        "A first sentence with code has ten words, e.g. these.",
        "See the other page for more.",
        "The third one goes on in a second line.",
        "An item is a sentence.",
    ]
    assert [measure_words.count_words(sentence) for sentence in sentences] == [10, 6, 9, 5]


def test_measures_of_pages(tmp_path: Path) -> None:
    long_sentence = " ".join(["word"] * 31) + "."
    longer_sentence = " ".join(["word"] * 36) + "."
    files = {
        "README.md": "Four words are here.\n",
        "docs/guide.md": f"{long_sentence} W{longer_sentence[1:]} Five words are in here.\n",
        "docs/CLAIMS.md": "Generated pages do not count.\n",
        "docs/commands/study.md": "Generated pages do not count.\n",
        "docs/reference/study-file.md": "Generated pages do not count.\n",
        "docs/reference/results-x.md": "Of a result table the prose counts.\n\n| a | b c d |\n|---|---|\n",
    }
    # A capital letter starts a sentence.
    files["docs/guide.md"] = files["docs/guide.md"].replace("word", "Word", 1)
    values, longest = measure_words.measure_pages(plant(tmp_path, files))
    assert values == {
        "sentences": 5,
        "median sentence length": 7,
        "% of sentences above 30 words": 40.0,
        "% of sentences above 35 words": 20.0,
        "words of README.md": 4,
        "words of docs": 31 + 36 + 5 + 7,
    }
    assert longest[0].startswith("docs/guide.md: 36 words: Word")
    assert measure_words.list_generated(tmp_path)["docs/reference/study-file.md"].startswith("5 words, written by:")


def test_vague_variables_and_docstrings(tmp_path: Path) -> None:
    source = """\
def documented():
    \'\'\'Do something.\'\'\'
    found = [one for one in range(3)]
    for told in found:
        some = told
    return one_more(some)
def bare(one): pass
def late():
    \'\'\'
    First line is empty.
    \'\'\'
def _private(): pass
class Public:
    def method(self): pass
"""
    values, details = measure_words.measure_code(plant(tmp_path, {"theory/a.py": source}))
    assert values["vague variables"] == 4, "the argument of `bare` is no assignment"
    assert details["vague variables"] == [f"theory/a.py: {name} 1" for name in ("found", "one", "some", "told")]
    names = [place.rpartition(" ")[2] for place in details["public functions without docstring"]]
    assert names == ["bare", "late", "Public.method"]
    verbless, verbs = ["measured", "at_end", "why", "shown_text"], ["fit", "measure", "feed", "is_known", "to_table"]
    functions = "".join(f"def {name}(): pass\n" for name in [*verbless, *verbs])
    _, details = measure_words.measure_code(plant(tmp_path, {"tests/a.py": functions}), ["tests"])
    assert [place.rpartition(" ")[2] for place in details["functions without a verb"]] == verbless


def find(root: Path, files: dict[str, str]) -> list[tuple[str, int, str]]:
    plant(root, files)
    sources = [*measure_words.read_documents(root), *measure_words.read_code(root)]
    occurrences = measure_words.find_denied(sources, measure_words.read_deny_list())
    return [(occurrence.file, occurrence.line, occurrence.text) for occurrence in occurrences]


def test_denied_words_are_found_with_their_place(tmp_path: Path) -> None:
    files = {
        "README.md": "Fine.\n\nWe mend it before it is too\ndear, and claims of the\nledger.\n",
        "docs/CLAIMS.md": "A generated page with the law of a cell.\n",
        "theory/a.py": (
            '"""Find\n\nthe best_set of a pool."""\n'
            "class BestSet: pass\n"
            "def f(indifference): pass\n"
            "x = 1  # the exact law\n"
            "print(f'{x} is not sure')\n"
        ),
    }
    assert find(tmp_path, files) == [
        ("README.md", 3, "mend"),
        ("README.md", 4, "claims of the ledger"),
        ("README.md", 4, "dear"),
        ("theory/a.py", 3, "best_set"),
        ("theory/a.py", 4, "BestSet"),
        ("theory/a.py", 5, "indifference"),
        ("theory/a.py", 6, "law"),
        ("theory/a.py", 7, "not sure"),
    ]


def test_ordinary_uses_are_not_denied(tmp_path: Path) -> None:
    page = """
By the law of large numbers and the law of total variance it converges. Look at the figure; every look at it helps.
A false alarm has a small probability; state the false-alarm rate. Make sure that the file exists. Be sure to read it.
The indifference-zone formulation of ranking and selection. Logic gates of a circuit are not meant.
The count of trials is known, and rare events are held out. The ledger records what was paid. There are so many rows
that the file does not fit. A race condition; a spreadsheet; wait until it ends. Rows are known and redrawn in every
trial. What is proved is true. Atoms of a distribution; versions of a package; the layout of a figure.
"""
    source = """
from matplotlib.figure import Figure
def lookup(key, count, navigate=0): pass
def make_sure(known): pass
false_alarm_rate = held_out = softmax = opening_time = flaw = sealevel = outdoor = 1
"""
    assert find(tmp_path, {"README.md": page, "exml_sim/a.py": source}) == []


def test_kinds_and_files_limit_an_entry(tmp_path: Path) -> None:
    entry = "[[entry]]\npattern = '^keep$'\nreplacement = 'keep_best'\nscope = 'identifiers'\n"
    source = "def keep(): pass\nkeep = 1\n"
    files = {"list.toml": f"{entry}kinds = ['function']\nfiles = ['theory/*']\n"}
    plant(tmp_path, {**files, "theory/a.py": source, "exml_sim/a.py": source})
    entries = measure_words.read_deny_list(tmp_path / "list.toml")
    occurrences = measure_words.find_denied(measure_words.read_code(tmp_path), entries)
    assert [(place.file, place.line) for place in occurrences] == [("exml_sim/a.py", 1)]
    plant(tmp_path, {"list.toml": entry.replace("identifiers", "code")})
    with pytest.raises(ValueError, match="'code'"):
        measure_words.read_deny_list(tmp_path / "list.toml")


def test_words_report_and_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, {"README.md": "This page is quite plain.\n"})
    arguments = ["--root", str(tmp_path), "--strict"]
    assert measure_words.main(arguments) == 0
    plant(tmp_path, {"README.md": "This page is too dear.\n"})
    assert measure_words.main([*arguments, "--details"]) == 1
    assert "README.md:1: 'dear'" in capsys.readouterr().out
    assert measure_words.main([*arguments, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["values"]["deny-listed words"] == 1
