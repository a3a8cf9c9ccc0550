"""The journal: whole lines survive any end, a torn one is cut off, and another run's file is refused."""

import os

import pytest

from exml_sim.classifier import _journal as journals
from exml_sim.classifier._journal import Journal, digest

RUN = {"budget": "200", "table": "abc"}


def begin_journal(path):
    journal = Journal.open(RUN, path)
    journal.record("ct", [(3, (0.1 + 0.2, -1e-300)), (1, (5.0, 6.0))])
    journal.give_up("blood", [7])
    return journal


def test_what_was_recorded_is_read_back_to_the_last_bit(tmp_path):
    first = begin_journal(tmp_path / "folder" / "j")
    again = Journal.open(RUN, tmp_path / "folder" / "j")
    assert again.values == first.values == {("ct", 3): (0.1 + 0.2, -1e-300), ("ct", 1): (5.0, 6.0)}
    assert again.lost == {("blood", 7)}


def test_every_cut_of_the_file_leaves_the_whole_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(journals.os, "fsync", lambda handle: None)
    begin_journal(tmp_path / "j")
    data = (tmp_path / "j").read_bytes()
    for length in range(len(data) + 1):
        (tmp_path / "cut").write_bytes(data[:length])
        result = Journal.open(RUN, tmp_path / "cut")
        whole = max(data[:length].count(b"\n") - 1, 0)
        assert len(result.values) + len(result.lost) == whole
        # The next value stands on a line of its own.
        result.record("ct", [(9, (1.0,))])
        assert Journal.open(RUN, tmp_path / "cut").values["ct", 9] == (1.0,)


def test_a_value_is_on_the_disk_before_it_is_known(tmp_path, monkeypatch):
    """Planted error: a disk that fails must not leave a value in memory that is not in the file."""

    def broken(handle):
        raise OSError(28, "No space left on device")

    journal = begin_journal(tmp_path / "j")
    monkeypatch.setattr(journals.os, "fsync", broken)
    with pytest.raises(OSError, match="No space"):
        journal.record("ct", [(4, (1.0, 2.0))])
    assert ("ct", 4) not in journal.values


def test_the_file_is_forced_to_the_disk(tmp_path, monkeypatch):
    forced = []
    monkeypatch.setattr(journals.os, "fsync", lambda handle: forced.append(os.fstat(handle).st_size))
    journal = begin_journal(tmp_path / "j")
    assert (tmp_path / "j").stat().st_size in forced
    assert len(journal.values) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "is not a journal that exml wrote"),
        ("hello", "is not a journal that exml wrote"),
        ('{"format": "exml journal", "version": 3, "run": {"budget": "7', "is not a journal that exml wrote"),
        ("[1]\n", "is not a journal that exml wrote"),
        (
            '{"format": "exml journal", "version": 3, "run": {"budget": "100", "table": "abc"}}\n',
            'run with budget "100"',
        ),
        ('{"format": "exml journal", "version": 3, "run": {"budget": "200"}}\n', "run with table null, not"),
    ],
)
def test_files_of_others_are_refused(tmp_path, text, message):
    (tmp_path / "j").write_text(text)
    with pytest.raises(ValueError, match=message):
        Journal.open(RUN, tmp_path / "j")
    assert (tmp_path / "j").read_text() == text


@pytest.mark.parametrize("line", ["garbage", '{"candidate": "ct", "row": 3, "values": [1.5]}'])
def test_a_damaged_line_or_one_without_a_checksum_is_refused(tmp_path, line):
    begin_journal(tmp_path / "j")
    lines = (tmp_path / "j").read_text().splitlines()
    (tmp_path / "j").write_text("\n".join([lines[0], line, *lines[1:]]) + "\n")
    with pytest.raises(ValueError, match="line 2: this is no line of a journal"):
        Journal.open(RUN, tmp_path / "j")


def test_every_flipped_bit_is_refused_or_changes_nothing(tmp_path):
    begin_journal(tmp_path / "j")
    data = (tmp_path / "j").read_bytes()
    truth = Journal.open(RUN, tmp_path / "j")
    errors, every = 0, [*range(0, 8 * len(data) - 8, 5), *range(8 * len(data) - 8, 8 * len(data))]
    for bit in every:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / "f").write_bytes(flipped)
        try:
            result = Journal.open(RUN, tmp_path / "f")
            assert (result.values, result.lost) == (truth.values, truth.lost), bit
        except ValueError:
            errors += 1
        assert (tmp_path / "f").read_bytes() == flipped
    assert errors > 0.8 * len(every)


def test_after_a_full_disk_the_next_value_stands_on_its_own_line(tmp_path, monkeypatch):
    """Planted error: half of a line reaches the disk. It must not become the beginning of the next one."""
    journal = begin_journal(tmp_path / "j")
    data = (tmp_path / "j").read_bytes()

    def half(handle):
        os.ftruncate(handle, len(data) + 20)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(journals.os, "fsync", half)
        with pytest.raises(OSError, match="No space"):
            journal.record("ct", [(4, (1.0, 2.0))])
    assert (tmp_path / "j").read_bytes() == data
    journal.record("ct", [(4, (1.0, 2.0))])
    assert Journal.open(RUN, tmp_path / "j").values["ct", 4] == (1.0, 2.0)


def test_digests_notice_changes():
    assert digest([1.0, 2.0], ["a", "b"]) == digest([1, 2], ["a", "b"])
    assert len({digest(value) for value in ([1.0], [[1.0]], [2.0], ["1.0"], [1.0, 0.0])}) == 5
