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
    "exml_sim/__main__.py": (
        "import sys\n"
        "from exml_sim.runner import study\n"
        "if sys.argv[1] == 'study':\n"
        "    study()\n"
        "elif sys.argv[1] == 'explore':\n"
        "    import exml_sim.table\n"
        "elif sys.argv[1] == 'fail':\n"
        "    raise ValueError('planted failure')\n"
    ),
    "exml_sim/runner.py": (
        "from exml_sim.arms import pull\n"
        "def study():\n"
        "    import theory.bound\n"
        "    run_block()\n"
        "def run_block():\n"
        "    pull()\n"
        "    pull()\n"
    ),
    "exml_sim/arms/__init__.py": "from .state import read\ndef pull():\n    read()\n",
    "exml_sim/arms/state.py": "import exml_sim.table\ndef read():\n    return exml_sim.table.get()\n",
    "exml_sim/table.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from exml_sim import runner\n"
        "LIMIT: int = 3\n"
        "LOW, _HIGH = 1, 2\n"
        "try:\n"
        "    FAST = True\n"
        "except ImportError:\n"
        "    FAST = False\n"
        "class Table:\n"
        "    size = 1\n"
        "class _Hidden:\n"
        "    pass\n"
        "def get():\n"
        "    inner = 1\n"
        "    return inner\n"
    ),
    "exml_sim/_internal/text.py": "def public_here():\n    pass\nclass Table:\n    pass\n",
    "theory/__init__.py": "",
    "theory/bound.py": "def _private():\n    pass\nasync def bound():\n    pass\n",
    "simulations/__init__.py": "",
    "simulations/table.py": "class Plot:\n    pass\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return plant(tmp_path, CODE)


def test_lines_and_modules(code: Path) -> None:
    modules = measure_code.read_modules(code)
    assert len(modules) == len(CODE)
    lines = measure_code.count_lines(modules)
    assert lines["exml_sim.arms"] == 6
    assert lines["exml_sim"] == 8 + 7 + 16
    assert lines["theory"] == 4
    assert sum(lines.values()) == sum(text.count("\n") for text in CODE.values())


def test_public_names(code: Path) -> None:
    modules = measure_code.read_modules(code)
    names = measure_code.list_public_names
    assert names(modules["exml_sim.table"]) == {
        "FAST": "constant",
        "LIMIT": "constant",
        "LOW": "constant",
        "Table": "class",
        "get": "function",
    }
    assert names(modules["theory.bound"]) == {"bound": "function"}
    assert names(modules["exml_sim._internal.text"]) == {}
    assert names(modules["exml_sim.arms"]) == {"pull": "function"}, "an imported name is not defined here"


def test_duplicates(code: Path) -> None:
    modules = measure_code.read_modules(code)
    assert measure_code.find_duplicate_classes(modules) == {
        "Table": ["exml_sim/_internal/text.py", "exml_sim/table.py"],
    }
    assert measure_code.find_duplicate_modules(modules) == {"table": ["exml_sim/table.py", "simulations/table.py"]}


def test_longest_chain_ignores_lazy_and_type_only_imports(code: Path) -> None:
    graph = measure_code.build_import_graph(measure_code.read_modules(code))
    assert graph["exml_sim.runner"] == {"exml_sim.arms"}, "theory.bound is imported in a function"
    assert graph["exml_sim.table"] == set()
    chain = ["exml_sim.__main__", "exml_sim.runner", "exml_sim.arms", "exml_sim.arms.state", "exml_sim.table"]
    assert measure_code.find_longest_chain(graph) == chain


def test_import_of_a_submodule_is_an_edge_to_it(tmp_path: Path) -> None:
    plant(tmp_path, {"theory/__init__.py": "", "theory/a.py": "from theory import b, c\n", "theory/b.py": ""})
    graph = measure_code.build_import_graph(measure_code.read_modules(tmp_path))
    assert graph["theory.a"] == {"theory.b", "theory"}


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


def test_failed_command_is_a_missed_target(code: Path) -> None:
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
    source = (
        "def documented():\n"
        '    """Do something."""\n'
        "    found = [one for one in range(3)]\n"
        "    for told in found:\n"
        "        some = told\n"
        "    return one_more(some)\n"
        "def bare(one): pass\n"
        "def late():\n"
        '    """\n    First line is empty.\n    """\n'
        "def _private(): pass\n"
        "class Public:\n"
        "    def method(self): pass\n"
        "    @property\n"
        "    def x(self):\n"
        '        """Return x."""\n'
        "    @x.setter\n"
        "    def x(self, value): pass\n"
    )
    values, details = measure_words.measure_code(plant(tmp_path, {"theory/a.py": source}))
    assert values["vague variables"] == 4, "the argument of `bare` is no assignment"
    assert details["vague variables"] == [f"theory/a.py: {name} 1" for name in ("found", "one", "some", "told")]
    names = [place.rpartition(" ")[2] for place in details["public functions without docstring"]]
    assert names == ["bare", "late", "Public.method"]


def test_functions_without_a_verb(tmp_path: Path) -> None:
    names = ["measured", "_drawn", "at_end", "why", "needed", "shown_text"]
    names += ["fit", "measure", "feed", "is_known", "from_file", "squared_distance", "proceed", "to_table"]
    source = "".join(f"def {name}(): pass\n" for name in names) + "class A:\n    @property\n    def found(self): pass\n"
    _, details = measure_words.measure_code(plant(tmp_path, {"tests/a.py": source}), ["tests"])
    assert [place.rpartition(" ")[2] for place in details["functions without a verb"]] == names[:6]


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


@pytest.mark.parametrize(
    "text",
    [
        "By the law of large numbers and the law of total variance it converges.",
        "Look at the figure; it looks like the first one. Every look at it helps.",
        "A false alarm has a small probability; state the false-alarm rate.",
        "Make sure that the file exists. Convergence is almost sure. Be sure to read it.",
        "The indifference-zone formulation of ranking and selection.",
        "Logic gates of a circuit are not meant.",
        "The count of trials is known, and rare events are held out.",
        "The launch budget of the paper; the ledger records what was paid.",
        "There are so many rows that the file does not fit.",
        "A race condition; a spreadsheet; a style sheet; wait until it ends.",
        "Rows are known and redrawn in every trial. What is proved is true.",
        "Atoms of a distribution; versions of a package; the layout of a figure.",
    ],
)
def test_ordinary_uses_are_not_denied(tmp_path: Path, text: str) -> None:
    assert find(tmp_path, {"README.md": text + "\n"}) == []


def test_ordinary_identifiers_are_not_denied(tmp_path: Path) -> None:
    source = (
        "from matplotlib.figure import Figure\n"
        "def lookup(key, count, navigate=0): pass\n"
        "def look_up(key): pass\n"
        "def make_sure(known): pass\n"
        "false_alarm_rate = held_out = softmax = opening_time = 1\n"
        "flaw = sealevel = outdoor = 2\n"
    )
    assert find(tmp_path, {"exml_sim/a.py": source}) == []


def test_fresh_is_a_parameter_of_pulls_and_no_option_of_strategies(tmp_path: Path) -> None:
    source = "class Halving:\n    fresh: bool = True\ndef pull(fresh): pass\n"
    files = {"exml_sim/strategies/a.py": source, "exml_sim/bandit/a.py": source}
    place = "exml_sim/strategies/a.py"
    assert find(tmp_path, files) == [(place, 2, "fresh"), (place, 3, "fresh")]


def test_kinds_and_files_limit_an_entry(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "list.toml": (
                "[[entry]]\npattern = '^keep$'\nreplacement = 'keep_best'\nscope = 'identifiers'\n"
                "kinds = ['function']\nfiles = ['theory/*']\n"
            )
        },
    )
    source = "def keep(): pass\nkeep = 1\n"
    plant(tmp_path, {"theory/a.py": source, "exml_sim/a.py": source})
    entries = measure_words.read_deny_list(tmp_path / "list.toml")
    occurrences = measure_words.find_denied(measure_words.read_code(tmp_path), entries)
    assert [(place.file, place.line) for place in occurrences] == [("exml_sim/a.py", 1)]


def test_unknown_scope_is_an_error(tmp_path: Path) -> None:
    plant(tmp_path, {"list.toml": "[[entry]]\npattern = 'a'\nreplacement = 'b'\nscope = 'code'\n"})
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
