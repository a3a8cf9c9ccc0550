"""The wheel holds everything that the program needs: unpacked far from the repository, a study runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from exml_sim._internal.compiled import forget_stale
from tests.engine.studies import features

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources (a build leaves traces), unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in filter(None, listed):
        source, target = ROOT / name, folder / "source" / name
        if source.exists() and not name.startswith("tests/"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), "."]
    subprocess.run(command, cwd=folder / "source", check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    _take_compiled_code(folder / "site" / "exml_sim")
    return folder / "site"


def _take_compiled_code(package: Path) -> None:
    """The sources are those of the repository: so is what numba made of them, once their times are the same."""
    for source in (ROOT / "exml_sim").rglob("*.py"):
        unpacked = package / source.relative_to(ROOT / "exml_sim")
        if unpacked.exists() and unpacked.read_bytes() == source.read_bytes():
            os.utime(unpacked, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
    forget_stale(package)
    for kind in ("*.nbc", "*.nbi"):
        for file in (ROOT / "exml_sim").rglob(kind):
            target = package / file.relative_to(ROOT / "exml_sim")
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, target)


def run(site: Path, where: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, *command], cwd=where, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_types_and_data_are_inside(unpacked: Path) -> None:
    for package in ("exml_sim", "theory", "simulations"):
        assert (unpacked / package / "py.typed").exists()
    assert (unpacked / "theory" / "coq" / "registry.v").exists()
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*.py")}
    here = {
        p.relative_to(ROOT).as_posix() for k in ("exml_sim", "theory", "simulations") for p in (ROOT / k).rglob("*.py")
    }
    assert here <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


def test_a_study_runs_outside_the_repository(unpacked: Path, tmp_path: Path) -> None:
    result = run(unpacked, tmp_path, "-c", "import exml_sim, theory, simulations; print(exml_sim.__file__)")
    assert Path(result.strip()).is_relative_to(unpacked)
    assert "study" in run(unpacked, tmp_path, "-m", "exml_sim", "--help")
    (tmp_path / "study.toml").write_text(features(trials=50).to_toml(), encoding="utf-8")
    out = run(unpacked, tmp_path, "-m", "exml_sim", "study", "study.toml", "--quiet", "--out", "out")
    assert "paper's bound" in out
    assert (tmp_path / "out" / "summary.csv").exists()
    digits = "from exml_sim.datasets import load_mfeat; print(len(load_mfeat().y))"
    assert run(unpacked, tmp_path, "-c", digits).strip() == "2000"
