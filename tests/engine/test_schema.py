"""A flipped bit in the schema of a store is reported in one clear line, by every command."""

from __future__ import annotations

import random
import sqlite3

import pytest

from exml_sim.engine import Store, StoreError, StudyResult, run
from exml_sim.engine._schema import TABLES, find_schema_damage, list_statements
from tests.cli.test_main import call
from tests.engine.studies import contents, known

STUDY = known(trials=6, budgets={"per_arm": [4]})


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "study.sqlite"
    run(STUDY, store=path, n_jobs=1).close()
    return path


def rewrite(path, old: bytes, new: bytes) -> None:
    """Change bytes of the file that are there once."""
    data = path.read_bytes()
    assert data.count(old) == 1
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new))


#: What the flips of the first attack did: a column that queries name, one that is no UTF-8, a type that is none.
FOUND = {
    "no such column": (b"selected INTEGER NOT NULL, success", b"selected INTEGER NOT NULL, succews"),
    "another name": (b"first INTEGER NOT NULL, trials", b"girst INTEGER NOT NULL, trials"),
    "no UTF-8": (b"budget TEXT NOT NULL, stream", b"budget TEXT NOT NULL, st\xf2eam"),
    "no type": (b"spent INTEGER NOT NULL, weight", b"spent INDEGER NOT NULL, weight"),
    "no constraint": (b"unit TEXT NOT NULL, arms", b"unit TEXT NOT NUDL, arms"),
}


@pytest.mark.parametrize("change", FOUND.values(), ids=FOUND)
def test_what_the_test_found_is_one_line(stored, change) -> None:
    rewrite(stored, *change)
    before = contents(stored.parent)
    for action in (
        lambda: StudyResult.open(stored),
        lambda: Store.read(stored, check=False),
        lambda: run(STUDY, store=stored),
    ):
        with pytest.raises(StoreError, match=r"damaged|cannot") as caught:
            action()
        assert "\n" not in str(caught.value)
    assert contents(stored.parent) == before


def test_every_command_says_so_in_one_line(capsys, stored, tmp_path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY.to_toml(), encoding="utf-8")
    rewrite(stored, *FOUND["no such column"])
    for arguments in (
        ("report", stored),
        ("plot", stored),
        ("merge", stored, "--out", tmp_path / "all.sqlite"),
        ("plan", "--store", stored),
        ("study", tmp_path / "mine.toml", "--store", stored, "--out", tmp_path / "out"),
    ):
        code, out, err = call(capsys, *map(str, arguments))
        assert (code, out) == (2, "")
        assert err.startswith("exml: ")
        assert err.count("\n") == 1
        assert "the table 'trials' of its schema is not of the schema" in err
    assert not (tmp_path / "all.sqlite").exists()


def test_no_flipped_bit_of_the_schema_is_accepted_as_another_schema(stored) -> None:
    """160 flips inside the texts of the schema, keywords included: all are refused."""
    whole = stored.read_bytes()
    places = [whole.index(statement.encode()) for statement in list_statements()]
    lengths = [len(statement) for statement in list_statements()]
    rng = random.Random(3)
    for _ in range(160):
        table = rng.randrange(len(places))
        data = bytearray(whole)
        data[places[table] + rng.randrange(lengths[table])] ^= 1 << rng.randrange(8)
        stored.write_bytes(data)
        with pytest.raises(StoreError, match=r"damaged|cannot"):
            StudyResult.open(stored)


def test_the_comparison_is_what_notices(stored, monkeypatch) -> None:
    """Without the comparison a type that is none comes through."""
    rewrite(stored, *FOUND["no type"])
    monkeypatch.setattr("exml_sim.engine.store.find_schema_damage", lambda connection: None)
    StudyResult.open(stored).close()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("DROP TABLE terms", "'terms' of its schema is missing"),
        ("CREATE TABLE more (x)", "'more' of its schema is not of the schema"),
        ("CREATE VIEW trials_too AS SELECT 1", "'trials_too'"),
        ("ALTER TABLE cells ADD COLUMN x", "'cells'"),
    ],
)
def test_what_is_missing_or_new(change, word) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    assert find_schema_damage(connection) is None
    connection.execute(change)
    assert word in str(find_schema_damage(connection))
    connection.close()


def test_a_query_that_fails_later_is_one_line_too(stored) -> None:
    with Store.read(stored) as store, pytest.raises(StoreError, match="no such table: letters; what was stored"):
        store.rows("SELECT * FROM letters")
