"""Finished work is there as a whole or not at all, belongs to its settings, and is never done twice."""

from __future__ import annotations

import sqlite3

import pytest

from exml_sim.engine.files import beside
from simulations.cache import APPLICATION, VERSION, Cache

SETTINGS = {"C": 0.15, "thetas": [0.1, 0.2]}


def test_only_missing_work_is_done_and_results_come_in_order(tmp_path):
    done, told = [], []

    def job(item):
        done.append(item)
        return {"square": item**2}

    with Cache(tmp_path / "a.sqlite", SETTINGS) as cache:
        assert cache.map(job, {"b": 2, "a": 1}) == [{"square": 4}, {"square": 1}]
    with Cache(tmp_path / "a.sqlite", SETTINGS) as cache:
        found = cache.map(job, {"a": 1, "c": 3, "b": 2}, n_jobs=2, done=lambda: told.append(1))
        assert found == [{"square": 1}, {"square": 9}, {"square": 4}]
        assert len(cache) == 3
    assert done == [2, 1, 3]
    assert len(told) == 1


def test_what_was_finished_before_a_failure_is_kept(tmp_path):
    def job(item):
        if item == 3:
            raise KeyboardInterrupt
        return item

    items = {str(item): item for item in range(6)}
    with Cache(tmp_path / "a.sqlite") as cache, pytest.raises(KeyboardInterrupt):
        cache.map(job, items)
    with Cache(tmp_path / "a.sqlite") as cache:
        assert [key in cache for key in items] == [True] * 3 + [False] * 3


def test_without_a_file_results_live_in_memory():
    with Cache() as cache:
        cache.put("x", [1.5, None])
        assert cache.get("x") == [1.5, None]
        with pytest.raises(ValueError, match="holds this result already"):
            cache.put("x", 2)


def test_other_settings_and_a_second_driver_are_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    with Cache(path, SETTINGS) as cache:
        cache.put("x", 1)
        with pytest.raises(ValueError, match="another run is writing"):
            Cache(path, SETTINGS)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"other settings \(C, thetas differ\); nothing was changed"):
        Cache(path, {"C": 1.0})
    assert path.read_bytes() == before
    assert not beside(path, "-driver").exists()


def test_a_later_layout_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    Cache(path, SETTINGS).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(ValueError, match="written by a later version"):
        Cache(path, SETTINGS)


def layout_1(path):
    """A file as the reproduction wrote it before there was one cache for all."""
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        old.execute("CREATE TABLE sessions (number INTEGER PRIMARY KEY, facts TEXT NOT NULL)")
        old.execute("CREATE TABLE configurations (number INTEGER PRIMARY KEY, results TEXT NOT NULL, finished TEXT)")
        old.execute(
            """INSERT INTO manifest VALUES ('hash', 'abc'), ('settings', '{"C": 0.15, "thetas": [0.1, 0.2]}')"""
        )
        old.execute("""INSERT INTO configurations VALUES (0, '{"number": 0}', 'then'), (7, '{"number": 7}', 'then')""")
        old.execute(f"PRAGMA application_id = {APPLICATION}")
        old.execute("PRAGMA user_version = 1")


def test_results_of_the_first_layout_are_read(tmp_path):
    path = tmp_path / "a.sqlite"
    layout_1(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="C differ"):
        Cache(path, {**SETTINGS, "C": 1.0})
    assert path.read_bytes() == before
    for _ in range(2):
        with Cache(path, SETTINGS) as cache:
            assert [cache.get(key) for key in ("0", "7")] == [{"number": 0}, {"number": 7}]
            assert len(cache) == 2


def test_a_file_that_is_no_cache_is_left_alone(tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_text("not a database, but long enough to be taken for one" * 20)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="damaged or no store"):
        Cache(path)
    assert path.read_bytes() == before
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(ValueError, match="not a file of finished work"):
        Cache(tmp_path / "other.sqlite")
    with pytest.raises(ValueError, match="no directory"):
        Cache(tmp_path / "missing" / "a.sqlite")


def test_results_of_the_second_layout_are_read_and_sealed(tmp_path):
    path = tmp_path / "a.sqlite"
    with Cache(path, SETTINGS) as cache:
        cache.put("x", 1)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE seals")
        connection.execute("PRAGMA user_version = 2")
    for _ in range(2):
        with Cache(path, SETTINGS) as cache:
            assert cache.get("x") == 1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE finished SET value = '2'",
        "UPDATE finished SET key = 'y'",
        "DELETE FROM finished",
        "UPDATE manifest SET value = ' ' || value",
        "UPDATE finished SET value = x'ff'",
        "ALTER TABLE sessions RENAME COLUMN facts TO fakts",
        "CREATE TABLE more (x)",
    ],
)
def test_a_changed_file_is_refused(tmp_path, damage):
    path = tmp_path / "a.sqlite"
    with Cache(path, SETTINGS) as cache:
        cache.put("x", 1)
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="damaged"):
        Cache(path, SETTINGS)
    assert path.read_bytes() == before
