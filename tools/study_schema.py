"""Write the JSON schema of study files, by which editors check and complete them: python -m tools.study_schema."""

from __future__ import annotations

import json
from pathlib import Path

from exml_sim.engine import Study

FILE = Path(__file__).parents[1] / "docs" / "reference" / "study.schema.json"


def make_text() -> str:
    """Return the schema as text."""
    return (
        json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | Study.json_schema(), indent=1) + "\n"
    )


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(make_text(), encoding="utf-8")
