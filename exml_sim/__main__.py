"""``python -m exml_sim`` is ``exml``."""

from exml_sim.cli import main

if __name__ == "__main__":
    main()
