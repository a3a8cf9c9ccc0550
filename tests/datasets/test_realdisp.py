"""The RealDisp reader on logs of the documented shape, and splits without leaks."""

import zipfile

import numpy as np
import pytest

from exml_sim.datasets.realdisp import CHANNELS, SENSORS, blocked_split, load_realdisp, read_realdisp


def write_log(path, labels, columns=120):
    """Cell (i, j) of the sensors is 1000 i + j, so that every number names its place."""
    lines = []
    for i, label in enumerate(labels):
        sensors = [f"{1000 * i + j}.5" for j in range(columns - 3)]
        lines.append("\t".join([str(100 + i // 50), str(20000 * (i % 50)), *sensors, str(label)]))
    path.write_text("\n".join(lines) + "\n")


def test_columns_go_to_their_sensors(tmp_path):
    write_log(tmp_path / "subject1_ideal.log", [0, 1, 33, 2, 3, 11, 1])
    data = read_realdisp(tmp_path)
    assert len(SENSORS) * len(CHANNELS) == 117
    assert data.y.tolist() == [1, 2, 3, 1]
    assert list(data.views) == list(SENSORS)
    np.testing.assert_allclose(data.views["RLA"][0], 1000 + np.arange(13) + 0.5)
    np.testing.assert_allclose(data.views["LC"][1], 3000 + 8 * 13 + np.arange(13) + 0.5)
    np.testing.assert_allclose(data.t, 100 + 0.02 * np.array([1, 3, 4, 6]))


def test_zip_directory_file_and_arrays_agree(tmp_path):
    log = tmp_path / "logs" / "deep" / "subject2_ideal.log"
    log.parent.mkdir(parents=True)
    write_log(log, [1, 2, 3])
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.write(log, "realistic/subject2_ideal.log")
    first = read_realdisp(tmp_path / "logs", subject=2)
    np.savez(tmp_path / "r.npz", y=first.y, t=first.t, **first.views)
    for other in (
        read_realdisp(log, subject=2),
        read_realdisp(tmp_path / "r.zip", subject=2),
        load_realdisp(tmp_path / "r.npz"),
    ):
        np.testing.assert_array_equal(first.y, other.y)
        np.testing.assert_array_equal(first.t, other.t)
        for sensor in SENSORS:
            np.testing.assert_array_equal(first.views[sensor], other.views[sensor])


def test_bad_downloads(tmp_path):
    with pytest.raises(ValueError, match="there is no file or directory"):
        read_realdisp(tmp_path / "no.zip")
    with pytest.raises(ValueError, match=r"holds no subject1_ideal\.log"):
        read_realdisp(tmp_path)
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(ValueError, match=r"holds no subject1_ideal\.log"):
        read_realdisp(tmp_path / "r.zip")
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(ValueError, match="neither a zip file nor a directory"):
        read_realdisp(tmp_path / "x.txt")
    log = tmp_path / "subject1_ideal.log"
    write_log(log, [1, 2], columns=119)
    with pytest.raises(ValueError, match="has 119 columns, expected 120"):
        read_realdisp(log)
    write_log(log, [0, 33])
    with pytest.raises(ValueError, match="no row of the activities 1, 2, 3"):
        read_realdisp(log)
    write_log(log, [1])
    log.write_text(log.read_text().replace("0.5", "nan", 1))
    with pytest.raises(ValueError, match="not a finite number"):
        read_realdisp(log)


@pytest.mark.parametrize("gap", [0, 10, 25])
@pytest.mark.parametrize("seed", range(5))
def test_blocked_splits_keep_neighbours_together(gap, seed):
    y = np.concatenate([np.repeat([1, 2, 3], [900, 700, 1100]), np.repeat([1], 333)])
    train, test = blocked_split(y, 0.3, block=100, gap=gap, rng=seed)
    assert np.intersect1d(train, test).size == 0
    assert np.abs(train[:, None] - test[None]).min() > gap
    for activity in (1, 2, 3):
        assert np.sum(y[train] == activity) > 0
        assert np.sum(y[test] == activity) > 0.5 * np.sum(y == activity)


def test_bad_splits():
    y = np.repeat([1, 2], 50)
    with pytest.raises(ValueError, match="too few for two blocks"):
        blocked_split(y, block=100)
    with pytest.raises(ValueError, match="share must be"):
        blocked_split(y, 1.0)
