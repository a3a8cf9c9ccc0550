"""The repository itself keeps to the limits of the measuring tools and of the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import measure_code, measure_words
from tools._measures import list_missed

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
MAX_TERMS = 45


def read_terms(glossary: str) -> list[str]:
    """List the terms of the table: the first cell of every row below the head."""
    rows = re.findall(r"^\| *(.+?) *\|", glossary, flags=re.MULTILINE)
    return [term for term in rows if term != "term" and set(term) - set("-|: ")]


def is_used(term: str, text: str) -> bool:
    """Tell whether a text has the term, in any case, with blanks, breaks, hyphens or underscores, or in the plural."""
    stem = term.removesuffix("y")
    words = r"[\s_-]+".join(re.escape(word) for word in stem.split())
    ending = "(y|ies)" if stem != term else "(e?s)?"
    return re.search(rf"(?<![a-z]){words}{ending}(?![a-z])", text, re.IGNORECASE) is not None


@pytest.fixture(scope="module")
def terms() -> list[str]:
    return read_terms(GLOSSARY.read_text(encoding="utf-8"))


def test_no_denied_word() -> None:
    sources = [*measure_words.read_documents(ROOT), *measure_words.read_code(ROOT)]
    denied = measure_words.find_denied(sources, measure_words.read_deny_list())
    assert [str(occurrence) for occurrence in denied] == []


def test_few_vague_variables() -> None:
    values, details = measure_words.measure_code(ROOT)
    assert values["vague variables"] <= 20, details["vague variables"]
    assert details["public functions without docstring"] == []


def test_the_glossary_is_short_and_sorted(terms: list[str]) -> None:
    assert 0 < len(terms) <= MAX_TERMS
    assert terms == sorted({term.lower(): term for term in terms}.values(), key=str.lower), "every term is defined once"
    meanings = re.findall(r"^\| [^|]+ \| (.+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)[1:]
    assert [meaning for meaning in meanings if not meaning.endswith(".")] == []


def test_sizes_of_documents() -> None:
    values, _ = measure_words.measure_pages(ROOT)
    assert values["words of README.md"] <= 900
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split()) <= 600


def test_every_term_is_used_outside_the_glossary(terms: list[str]) -> None:
    text = "\n".join(text for page, text in measure_words.list_pages(ROOT).items() if page != GLOSSARY)
    assert [term for term in terms if not is_used(term, text)] == []


def test_unused_terms_are_found() -> None:
    text = "A failure\nprobability, two oracles and best_arms; populations."
    glossary = "| term | meaning |\n|---|---|\n| best arms | x |\n| e-value | y |\n| arm | z |\n"
    assert read_terms(glossary) == ["best arms", "e-value", "arm"]
    assert [term for term in ("failure probability", "oracle", "best arms") if not is_used(term, text)] == []
    assert is_used("strategy", "All strategies.")
    assert not is_used("arm", "A charm, and harm."), "a part of a word is not a use"
    assert not is_used("pop", text)


def test_size_of_the_interface() -> None:
    values, details = measure_code.measure_source(ROOT)
    for name in ("public names", "duplicate class names", "duplicate module names", "longest import chain"):
        value, limit = values[name], measure_code.TARGETS[name]
        assert value is not None
        assert value <= limit, (name, details.get(name))


def test_a_trial_passes_few_files_and_borders() -> None:
    values, details = measure_code.measure_trace(ROOT, "run_block")
    assert list_missed(values, measure_code.TARGETS) == [], details
