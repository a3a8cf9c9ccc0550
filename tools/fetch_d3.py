"""Fetch the pinned build of D3 from the npm registry and put it among the report's files.

Run ``python -m tools.fetch_d3``. The archive is checked against the integrity that npm publishes for this
version before anything is written, so the vendored file is reproducible; a test compares its checksum.
"""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "7.9.0"
PACKAGE = f"d3@{VERSION}"
#: The registry's own checksum of the archive (npm view d3@7.9.0 dist.integrity).
INTEGRITY = "sha512-e1U46jVP+w7Iut8Jt8ri1YsPOvFpg46k+K8TpCb0P+zjCkjkPnV7WzfDJzMHy1LnA+wj5pLT1wjO901gLXeEhA=="
#: SHA-256 of dist/d3.min.js inside it.
CHECKSUM = "f2094bbf6141b359722c4fe454eb6c4b0f0e42cc10cc7af921fc158fceb86539"
ASSETS = Path(__file__).parents[1] / "simulations" / "report" / "assets"
FILES = {"package/dist/d3.min.js": "d3.min.js", "package/LICENSE": "d3.LICENSE.txt"}


def check(archive: bytes) -> None:
    """Refuse an archive that is not the published one."""
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != INTEGRITY:
        raise ValueError(f"{PACKAGE} has the checksum {found}, not {INTEGRITY}: nothing was written")


def unpack(archive: bytes, folder: Path) -> list[Path]:
    """Write the build and its licence; check the archive first."""
    check(archive)
    written = []
    with tarfile.open(fileobj=io.BytesIO(archive)) as package:
        for inside, name in FILES.items():
            member = package.extractfile(inside)
            assert member is not None
            target = folder / name
            target.write_bytes(member.read())
            written.append(target)
    return written


def main() -> None:
    """Download with npm, check, write."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (file,) = Path(folder).glob("*.tgz")
        archive = file.read_bytes()
    for file in unpack(archive, ASSETS):
        sys.stdout.write(f"{file}: SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}\n")


if __name__ == "__main__":
    main()
