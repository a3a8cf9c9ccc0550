"""All checks of the registry, run once for all tests of this folder."""

import pytest

from theory.claims import all_claims
from theory.claims.document import run


@pytest.fixture(scope="session")
def entries():
    """The outcome of every check, by claim id."""
    return {claim.id: run(claim) for claim in all_claims()}
