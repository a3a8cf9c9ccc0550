"""The store: clear errors of one line, and nothing that was there is changed."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from functools import partial

import pytest

from exml_sim.engine import Store, StoreError, StudyResult, merge, run
from exml_sim.engine import store as store_module
from exml_sim.engine._files import explained, transaction
from exml_sim.engine._schema import TABLES, find_schema_damage, header_checksum, list_statements
from exml_sim.engine.modes import run_block
from exml_sim.engine.store import APPLICATION, VERSION
from tests.engine.starting import begin, store_five_blocks_and_die
from tests.engine.studies import contents, features, known


@pytest.fixture
def stored(tmp_path):
    """A finished store."""
    path = tmp_path / "study.sqlite"
    run(known(trials=20), store=path, n_jobs=1).close()
    return path


def expect_error(path, study, message):
    """Opening must fail with the message and leave every byte as it was."""
    before = contents(path.parent)
    with pytest.raises(StoreError, match=message):
        run(study, store=path)
    assert contents(path.parent) == before


@pytest.mark.parametrize(
    ("change", "study", "message"),
    [
        ("", {"trials": 21}, "belongs to another study"),
        (f"PRAGMA user_version = {VERSION + 1}", {}, r"written by a later version \(schema 5"),
        ("PRAGMA user_version = 1", {}, r"written by an earlier version \(schema 1, this version has schema 4"),
    ],
)
def test_another_study_or_version(stored, change, study, message):
    with sqlite3.connect(stored) as connection:
        connection.execute(change)
    connection.close()
    expect_error(stored, known(**{"trials": 20} | study), message)


def write_header(path, key, value):
    """Change an entry of the header, with the checksum that fits."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE manifest SET value = ? WHERE key = ?", (value, key))
        head = connection.execute("SELECT key, value FROM manifest").fetchall()
        cells = connection.execute("SELECT * FROM cells").fetchall()
        checksum = header_checksum(head, cells)
        connection.execute("UPDATE manifest SET value = ? WHERE key = 'checksum'", (checksum,))
    connection.close()


@pytest.mark.parametrize("key", ["metadata", "plugins"])
@pytest.mark.parametrize("value", ["[1, 2]", "{{", "7", '[{"costs": 3}]'])
def test_a_header_of_another_shape_is_one_line(stored, key, value):
    write_header(stored, key, value)
    with pytest.raises(StoreError, match=r"is damaged \(") as refusal, StudyResult.open(stored) as result:
        result.summary()
    assert "\n" not in str(refusal.value)


@pytest.fixture(scope="module")
def rare_study():
    """Ten tilted trials over two atoms."""
    pool = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [3, 1]}
    options = {"budgets": {"per_arm": [6]}, "strategies": ["uniform_allocation"], "mode": "importance_sampling"}
    return features(trials=10, pools=[pool], scores=[{"ball": 0.3}], **options)


@pytest.mark.parametrize(("draws", "words"), [(1, "an earlier version drew otherwise"), (3, "a later version drew")])
def test_trials_that_another_version_drew_otherwise(tmp_path, rare_study, draws, words):
    """Tilted trials have changed once: a store from before is not gone on with, merged, read or replayed."""
    whole, half = tmp_path / "study.sqlite", tmp_path / "half.sqlite"
    run(rare_study, store=whole, n_jobs=1, shard=(1, 2)).close()
    run(rare_study, store=half, n_jobs=1, shard=(2, 2)).close()
    write_header(whole, "draws", "2")
    StudyResult.open(whole).close()
    write_header(whole, "draws", str(draws))
    expect_error(
        whole,
        rare_study,
        rf"mode 'importance_sampling' that {words}.*; nothing was changed: run the study into another file$",
    )
    for attempt in (lambda: StudyResult.open(whole), lambda: merge([half, whole], tmp_path / "all.sqlite")):
        with pytest.raises(StoreError, match=words) as refusal:
            attempt()
        assert "\n" not in str(refusal.value)
    assert not (tmp_path / "all.sqlite").exists()


KILLED_WRITER = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("CREATE TABLE letters (text TEXT)")
connection.commit()
os._exit(9)
"""


def test_somebody_elses_database_whose_writer_was_killed(tmp_path):
    """A look through SQLite alone would move the log into the file: neither may change."""
    path = tmp_path / "letters.sqlite"
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(path)], check=False)
    before = contents(tmp_path)
    assert before["letters.sqlite-wal"]
    expect_error(path, known(), "not a study's store")
    with pytest.raises(StoreError, match="not a study's store"):
        Store.read(path)
    assert contents(tmp_path) == before


def test_side_files_without_their_database(tmp_path):
    """SQLite would take an orphaned log for that of the new database."""
    (tmp_path / "study.sqlite-wal").write_bytes(b"log")
    expect_error(tmp_path / "study.sqlite", known(), "side files")


def overwrite_pages(data):
    """Overwrite the beginning of every page but the first."""
    for start in range(4096, len(data), 4096):
        data[start : start + 64] = b"\xff" * 64
    return data


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"A text file: this is no database. " * 100, overwrite_pages, lambda data: data[: len(data) // 2]],
    ids=["no database", "pages", "cut off"],
)
def test_damaged_files(stored, damage):
    stored.write_bytes(damage(bytearray(stored.read_bytes())))
    expect_error(stored, known(trials=20), "damaged")


@pytest.mark.parametrize("mode", ["monte_carlo", "exact"])
def test_every_flipped_bit_is_noticed(tmp_path, mode):
    """One bit of the file is flipped, 120 times: the store is refused, or what it says is what it said before."""
    study, path = known(trials=150, mode=mode, budgets={"per_arm": [4, 6]}), tmp_path / "study.sqlite"
    with run(study, store=path, n_jobs=1) as result:
        truth = result.store.digest(), result.summary()
    whole = path.read_bytes()
    moments, refusals = random.Random(1), []
    for _ in range(120):
        data = bytearray(whole)
        data[moments.randrange(len(data))] ^= 1 << moments.randrange(8)
        path.write_bytes(data)
        try:
            with StudyResult.open(path) as result:
                assert (result.store.digest(), result.summary()) == truth
        except StoreError as error:
            refusals.append(str(error))
        for side in ("-wal", "-shm"):
            (tmp_path / f"study.sqlite{side}").unlink(missing_ok=True)
    assert len(refusals) > 5
    assert not any("\n" in refusal for refusal in refusals)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE trials SET regret = regret + 1e-9 WHERE cell = 1 AND trial = 7",
        "UPDATE trials SET selected = 1 - selected WHERE cell = 0 AND trial = 3",
        "UPDATE blocks SET pulls = '[1, 2, 3]'",
        "UPDATE blocks SET trials = trials + 1",
        "DELETE FROM trials WHERE cell = 0 AND trial = 19",
        "INSERT INTO trials SELECT cell, 99, selected, success, regret, spent, weight FROM trials WHERE trial = 1",
        "UPDATE cells SET strategy = 'guessing' WHERE cell = 0",
        "UPDATE cells SET arms = 'no JSON'",
        "UPDATE manifest SET value = replace(value, 'trials = 20', 'trials = 30') WHERE key = 'study'",
        "UPDATE manifest SET value = 'no TOML' WHERE key = 'study'",
        "UPDATE sessions SET environment = json_set(environment, '$.numpy', '1.0')",
        "UPDATE trials SET regret = 'much' WHERE cell = 1 AND trial = 7",
    ],
)
def test_changed_values_are_noticed(stored, damage):
    with sqlite3.connect(stored) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(StoreError, match="damaged"):
        Store.read(stored)
    expect_error(stored, known(trials=20), "damaged")


def test_the_comparison_of_schemas_is_what_notices_a_type_that_is_none(stored, monkeypatch) -> None:
    data, good = stored.read_bytes(), b"spent INTEGER NOT NULL, weight"
    assert data.count(good) == 1
    stored.write_bytes(data.replace(good, b"spent INDEGER NOT NULL, weight"))
    expect_error(stored, known(trials=20), "damaged")
    monkeypatch.setattr("exml_sim.engine.store.find_schema_damage", lambda connection: None)
    StudyResult.open(stored).close()


def test_no_flipped_bit_of_the_schema_is_accepted_as_another_schema(stored) -> None:
    """160 flips inside the texts of the schema, keywords included: all are refused."""
    whole, statements, moments = stored.read_bytes(), list_statements(), random.Random(3)
    for _ in range(160):
        statement = moments.choice(statements)
        data = bytearray(whole)
        data[whole.index(statement.encode()) + moments.randrange(len(statement))] ^= 1 << moments.randrange(8)
        stored.write_bytes(data)
        for read in (StudyResult.open, partial(Store.read, check=False)):
            with pytest.raises(StoreError, match=r"damaged|cannot") as caught:
                read(stored)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("DROP TABLE terms", "'terms' of its schema is missing"),
        ("CREATE TABLE more (x)", "'more' of its schema is not of the schema"),
        ("CREATE VIEW trials_too AS SELECT 1", "'trials_too'"),
        ("ALTER TABLE cells ADD COLUMN x", "'cells'"),
    ],
)
def test_what_is_missing_or_new_in_a_schema(change, word) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    assert find_schema_damage(connection) is None
    connection.execute(change)
    assert word in str(find_schema_damage(connection))
    connection.close()


def test_a_query_that_fails_later_is_one_line_too(stored) -> None:
    with Store.read(stored) as store, pytest.raises(StoreError, match="no such table: letters; what was stored"):
        store.rows("SELECT * FROM letters")


def test_places_where_no_store_can_be(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    places = {"nowhere/study.sqlite": "there is no directory", ".": "it is a directory", "pipe": "no regular file"}
    if sys.platform.startswith("linux"):
        places["/proc/study.sqlite"] = "cannot write a store at /proc"
    for place, message in places.items():
        with pytest.raises(StoreError, match=message):
            run(known(), store=tmp_path / place)
    with pytest.raises(StoreError, match="there is no store"):
        Store.read(tmp_path / "study.sqlite")


def test_two_drivers(tmp_path):
    """Also by a second name that leads through a link to the folder; a link to the store itself is refused."""
    study, path = known(), tmp_path / "home" / "study.sqlite"
    path.parent.mkdir()
    folder, link = tmp_path / "folder", tmp_path / "link.sqlite"
    folder.symlink_to(path.parent)
    link.symlink_to(path)
    with Store.create_or_open(path, study, study.cells()):
        for name, message in ((path, "another run"), (folder / path.name, "another run"), (link, "a symbolic link")):
            with pytest.raises(ValueError, match=message):
                run(study, store=name)
    run(study, store=path, n_jobs=1).close()
    assert [file.name for file in path.parent.iterdir()] == ["study.sqlite"]


def test_a_trial_is_never_overwritten(tmp_path):
    study = known()
    with Store.create_or_open(tmp_path / "study.sqlite", study, study.cells()) as store:
        store.add(run_block(study, study.cells()[0], 0, 10))
        digest = store.digest()
        with pytest.raises(StoreError, match="holds a trial of this block already"):
            store.add(run_block(study, study.cells()[0], 9, 12))
        assert store.digest() == digest
        assert store.ranges(0) == [(0, 10)]


def test_manifest(stored):
    with Store.read(stored) as store:
        assert store.study == known(trials=20)
        (facts,) = store.sessions()
        assert {"numpy", "numba", "cpu", "blas", "commit", "exml_sim", "python", "started"} <= set(facts)
        assert all(facts.values())
        assert store.rows("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert store.rows("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_changed_version_is_said(stored, caplog, monkeypatch):
    facts = store_module.manifest()
    monkeypatch.setattr(store_module, "manifest", lambda: facts | {"numpy": "1.0"})
    run(known(trials=20), store=stored).close()
    assert "results of another numpy" in caplog.text


def test_reading_while_writing(tmp_path):
    study = features()
    path = tmp_path / "study.sqlite"
    with Store.create_or_open(path, study, study.cells()) as store:
        store.add(run_block(study, study.cells()[0], 0, 10))
        with Store.read(path) as other:
            assert other.counts(0)[0] == 10
            store.add(run_block(study, study.cells()[0], 10, 20))
            assert other.counts(0)[0] == 20


def test_a_killed_run_is_read_in_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    """Blocks that are in the log only must be seen; `access` says what it says to somebody without rights."""
    path = tmp_path / "study.sqlite"
    path.with_suffix(".toml").write_text(known(trials=400).to_toml(), encoding="utf-8")
    process = begin(store_five_blocks_and_die, path)
    process.join()
    assert process.exitcode == 9
    assert (tmp_path / "study.sqlite-wal").stat().st_size > 0
    before = {name: data for name, data in contents(tmp_path).items() if not name.endswith("-shm")}
    monkeypatch.setattr(os, "access", lambda *_: False)
    with Store.read(path) as store:
        assert store.counts(0)[0] == 100
    assert {name: data for name, data in contents(tmp_path).items() if not name.endswith("-shm")} == before


def test_messages_are_one_line_and_a_failed_rollback_hides_nothing(tmp_path):
    """A transaction that SQLite has rolled back by itself, as it does on a full disk."""
    study = known()
    with Store.create_or_open(tmp_path / "study.sqlite", study, study.cells()) as store:
        store.add(run_block(study, study.cells()[0], 0, 10))

        def fills_the_disk() -> None:
            with explained(store.path, "write to"), transaction(store._connection):
                store._connection.execute("ROLLBACK")
                raise sqlite3.OperationalError("the disk\n is full")

        with pytest.raises(StoreError, match="the disk is full") as caught:
            fills_the_disk()
        assert "what was stored before is kept" in str(caught.value)
        assert store.counts(0) == run(study, n_jobs=1, block=10).store.counts(0, 10)


@pytest.mark.parametrize("name", ["\U0001f680 rocket", "a\x7fb", 'Größe \t"x\\', "\x01\x1f", "\u2028"])
def test_any_text_is_stored_and_read_again(tmp_path, name):
    study = known(
        trials=5,
        name=name,
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.4, 0.5], "label": f"p{name}"}],
    )
    with run(study, store=tmp_path / "study.sqlite", n_jobs=1) as result:
        assert result.study == study
        assert result.study.name == name
        assert result.summary()[0].pool == f"p{name}"


def test_a_study_that_does_not_survive_its_text_is_not_stored(tmp_path, monkeypatch):
    study, other = known(), known(trials=7).to_toml()
    monkeypatch.setattr(type(study), "to_toml", lambda self: other)
    with pytest.raises(StoreError, match="cannot be written as TOML"):
        Store.create_or_open(tmp_path / "study.sqlite", study, study.cells())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["replace", "remove"])
def test_a_store_that_is_replaced_during_a_run_is_noticed(tmp_path, monkeypatch, change):
    """Another program puts another file in its place after the first block; without the check the run succeeds."""
    path, other = tmp_path / "study.sqlite", tmp_path / "other.sqlite"
    run(known(trials=5), store=other, n_jobs=1).close()

    def interfere(*_: object) -> None:
        if change == "remove":
            path.unlink(missing_ok=True)
        elif other.exists():
            os.replace(other, path)

    monkeypatch.setattr("exml_sim.engine.runner.BlockSizes.learn", interfere)
    with pytest.raises(StoreError, match="removed or replaced during the run"):
        run(known(trials=30), store=path, n_jobs=1, block=10)
