"""docs/commands has one page per command, and each says what the command says."""

from __future__ import annotations

from pathlib import Path

import pytest

from exml_sim.cli import SUBCOMMANDS
from tools.command_pages import FOLDER, page

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_a_page_is_up_to_date(name):
    """If it is not: python -m tools.command_pages."""
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == page(name)


def test_every_page_has_a_command_and_a_place_in_the_navigation():
    assert {file.stem for file in FOLDER.glob("*.md")} == set(SUBCOMMANDS)
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [name for name in SUBCOMMANDS if f"commands/{name}.md" not in navigation] == []


def test_no_two_pages_have_one_title():
    titles = [file.read_text(encoding="utf-8").splitlines()[0] for file in (ROOT / "docs").rglob("*.md")]
    assert len(set(titles)) == len(titles)
