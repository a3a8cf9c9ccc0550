"""``python -m exml_sim`` is ``exml``."""

import sys
from pathlib import Path

# Python puts the current folder first on the path. A file there, such as theory.py, must not run in place of ours.
_HOME = Path(__file__).absolute().parents[1]
if not sys.flags.safe_path and sys.path and Path(sys.path[0] or ".").absolute() != _HOME:
    del sys.path[0]

from exml_sim.cli import main  # noqa: E402 - after the path is clean

if __name__ == "__main__":
    main()
