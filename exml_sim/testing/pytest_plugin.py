"""The false-alarm book as a pytest plugin: ``pytest_plugins = ["exml_sim.testing.pytest_plugin"]`` in conftest.py.

A statistical test says what it spends, ``@pytest.mark.alarm(1e-7, verdicts=3)``, and takes it from the fixture
`alarms`: ``alarms.alarm()``. The book is summed before the first test runs; with more than ``false_alarms`` of the
configuration (1e-4 unless it says otherwise) nothing runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from exml_sim.testing.alarms import Book, Item, Purse

TOTAL = 1e-4
_BOOK = pytest.StashKey[Book]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The size of the book."""
    parser.addini("false_alarms", "most that all statistical tests together may spend", default=str(TOTAL))


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker."""
    config.addinivalue_line("markers", "alarm(each, verdicts=1): false-alarm probability of the test's verdicts")


def _item(item: pytest.Item) -> Item | None:
    mark = item.get_closest_marker("alarm")
    if mark is None:
        return None
    return Item(float(mark.args[0]), int(mark.kwargs.get("verdicts", mark.args[1] if len(mark.args) > 1 else 1)))


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Sum up the plans of all collected tests."""
    drawn = {item.nodeid: plan for item in items if (plan := _item(item)) is not None}
    book = Book(float(config.getini("false_alarms")), drawn)
    config.stash[_BOOK] = book
    try:
        book.check()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was planned."""
    book = config.stash.get(_BOOK, None)
    if book is not None and book.drawn:
        terminalreporter.write_line(
            f"false alarms: {len(book.drawn)} statistical tests plan {book.sum:.3g} of {book.total:.3g}"
        )


@pytest.fixture
def alarms(request: pytest.FixtureRequest) -> Purse:
    """The purse of a test."""
    plan = _item(request.node)
    if plan is None:
        raise pytest.UsageError(f"{request.node.nodeid} draws alarms and has no mark alarm(each, verdicts)")
    return Purse(request.node.nodeid, plan)
