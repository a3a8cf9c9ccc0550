"""Write the registry as a document: ``python -m theory.claims > docs/CLAIMS.md``."""

import sys

from theory.claims import all_claims
from theory.claims.document import markdown, run

sys.stdout.write(markdown(run(claim) for claim in all_claims()))
