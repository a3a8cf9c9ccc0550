"""All tests of the project."""

import os

# Workers share the cores already: threads of a linear algebra library would wait for each other, which costs ten times
# the work. This is read before numpy is loaded, and inherited by workers and by the processes that tests start.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
