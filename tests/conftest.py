"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, settings

# In CI every example is the same on every machine; `make test-long` sweeps seeds.
settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile(
    "sweep", derandomize=False, deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
