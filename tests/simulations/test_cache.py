"""Finished work is stored as a whole, belongs to its settings, and is not repeated; damage is noticed."""

from __future__ import annotations

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
    assert Cache(tmp_path / "cache", SETTINGS).map(job, {"b": 2, "a": 1}) == [{"square": 4}, {"square": 1}]
    again = Cache(tmp_path / "cache", SETTINGS)
    results = again.map(job, {"a": 1, "c": 3, "b": 2}, n_jobs=2, prefer=prefer, done=lambda: done.append(1))
    assert results == [{"square": 1}, {"square": 9}, {"square": 4}]
    assert log.read_text().split() == ["2", "1", "3"]
    assert len(done) == 1


@pytest.mark.parametrize("is_stored", [True, False])
def test_what_was_finished_before_a_failure_is_kept(tmp_path, is_stored):
    def job(item):
        if item == 3:
            raise KeyboardInterrupt
        return [item, None]

    folder, items = tmp_path / "cache" if is_stored else None, {str(item): item for item in range(6)}
    cache = Cache(folder)
    with pytest.raises(KeyboardInterrupt):
        cache.map(job, items)
    for kept in (cache, Cache(folder)) if is_stored else (cache,):
        assert [key in kept for key in items] == [True] * 3 + [False] * 3
        assert kept.map(job, {"2": 3}) == [[2, None]]


def store_result(folder):
    """Store the result 1 of x; return its file."""
    assert Cache(folder, SETTINGS).map(lambda _: 1, {"x": None}) == [1]
    (file,) = (file for file in folder.glob("*.json") if file.name != "settings.json")
    return file


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("settings.json", '{"C": 1.0}', r"other settings \(C, thetas differ\); nothing was changed"),
        ("settings.json", "{", r"settings\.json is damaged; nothing was changed"),
        ("settings.json", "7", r"settings\.json is damaged; nothing was changed"),
        ("file", "text", "not a folder of finished work"),
    ],
)
def test_other_settings_and_other_files_are_errors(tmp_path, name, content, message):
    store_result(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        Cache(tmp_path / name if name == "file" else tmp_path, SETTINGS)


@pytest.mark.parametrize("content", [b'{"key": "y", "value": 2}', b'{"key": "x"}', b"\x80\x04x", b"[1, 2]", b""])
def test_an_unreadable_result_is_computed_again(tmp_path, content):
    file = store_result(tmp_path)
    written = file.read_bytes()
    file.write_bytes(content)
    assert "x" not in Cache(tmp_path, SETTINGS)
    assert store_result(tmp_path).read_bytes() == written


def test_nothing_is_unpickled(tmp_path):
    """A pickle in the folder stays unread, whatever its name."""
    marker = tmp_path / "marker"

    class Evil:
        def __reduce__(self):
            return marker.touch, ()

    file = store_result(tmp_path / "cache")
    for place in (file, file.with_name("output.pkl")):
        place.write_bytes(pickle.dumps(Evil()))
    assert store_result(tmp_path / "cache") == file
    assert not marker.exists()
