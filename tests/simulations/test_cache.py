"""Finished work is stored as a whole, belongs to its settings, and is not repeated; damage is noticed."""

from __future__ import annotations

import json
import pickle

import pytest

from simulations._cache import Cache

SETTINGS = {"C": 0.15, "thetas": [0.1, 0.2]}


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_only_missing_work_is_done_and_results_come_in_order(tmp_path, prefer):
    log = tmp_path / "log"

    def job(item):
        with log.open("a") as stream:
            stream.write(f"{item} ")
        return {"square": item**2}

    done = []
    with Cache(tmp_path / "cache", SETTINGS) as cache:
        assert cache.map(job, {"b": 2, "a": 1}) == [{"square": 4}, {"square": 1}]
    with Cache(tmp_path / "cache", SETTINGS) as cache:
        results = cache.map(job, {"a": 1, "c": 3, "b": 2}, n_jobs=2, prefer=prefer, done=lambda: done.append(1))
        assert results == [{"square": 1}, {"square": 9}, {"square": 4}]
    assert log.read_text().split() == ["2", "1", "3"]
    assert len(done) == 1


def test_what_was_finished_before_a_failure_is_kept(tmp_path):
    def job(item):
        if item == 3:
            raise KeyboardInterrupt
        return item

    items = {str(item): item for item in range(6)}
    with Cache(tmp_path / "cache") as cache, pytest.raises(KeyboardInterrupt):
        cache.map(job, items)
    with Cache(tmp_path / "cache") as cache:
        assert [key in cache for key in items] == [True] * 3 + [False] * 3


def test_without_a_folder_results_live_in_memory():
    with Cache() as cache:
        assert cache.run("x", lambda _: [1.5, None], None) == [1.5, None]
        assert cache.run("x", lambda _: 2, None) == [1.5, None]


def test_other_settings_are_errors_that_name_them(tmp_path):
    with Cache(tmp_path / "cache", SETTINGS) as cache:
        cache.run("x", lambda _: 1, None)
    with pytest.raises(ValueError, match=r"other settings \(C, thetas differ\); nothing was changed"):
        Cache(tmp_path / "cache", {"C": 1.0})
    with Cache(tmp_path / "cache", SETTINGS) as cache:
        assert "x" in cache


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a").write_text("text")
    with pytest.raises(ValueError, match="not a folder of finished work"):
        Cache(tmp_path / "a")


def read_entry(folder):
    (file,) = (file for file in folder.glob("*.json") if file.name != "settings.json")
    return file, json.loads(file.read_text())


@pytest.mark.parametrize("change", [{"result": "2"}, {"checksum": "0"}, {"result": None}, b"\x80\x04x", b"[1, 2]", b""])
def test_a_changed_or_unreadable_result_is_computed_again(tmp_path, change):
    with Cache(tmp_path, SETTINGS) as cache:
        assert cache.run("x", lambda _: 1, None) == 1
        file, entry = read_entry(tmp_path)
        file.write_bytes(change if isinstance(change, bytes) else json.dumps(entry | change).encode())
        assert "x" not in cache
        assert cache.run("x", lambda _: 1, None) == 1
        assert read_entry(tmp_path)[1] == entry


@pytest.mark.parametrize("content", ["{", "7"])
def test_damaged_settings_are_one_line(tmp_path, content):
    with Cache(tmp_path, SETTINGS):
        (tmp_path / "settings.json").write_text(content)
    with pytest.raises(ValueError, match=r"settings\.json is damaged; nothing was changed"):
        Cache(tmp_path, SETTINGS)


def test_nothing_is_unpickled(tmp_path):
    """A pickle in the folder stays unread, whatever its name."""
    marker = tmp_path / "marker"

    class Evil:
        def __reduce__(self):
            return marker.touch, ()

    with Cache(tmp_path / "cache", SETTINGS) as cache:
        cache.run("x", lambda _: 1, None)
        file, _ = read_entry(tmp_path / "cache")
        file.write_bytes(pickle.dumps(Evil()))
        file.with_name("output.pkl").write_bytes(pickle.dumps(Evil()))
        assert cache.run("x", lambda _: 1, None) == 1
    assert not marker.exists()
