"""What the measuring tools share: modules of the packages, and values beside their targets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("exml_sim", "theory", "simulations")
OTHER_CODE = ("tests", "benchmarks", "fuzz", "tools")


def list_code(root: Path, packages: Sequence[str] = PACKAGES) -> Iterator[tuple[str, str, str]]:
    """Yield path, dotted name and text of every module of the packages."""
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            yield path, name, file.read_text(encoding="utf-8")


def make_parser(description: str) -> argparse.ArgumentParser:
    """Make a parser with the options that the tools have in common."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the repository")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--details", action="store_true", help="print all details")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    return parser


def list_missed(values: Mapping[str, float | None], targets: Mapping[str, float | None]) -> list[str]:
    """List targets that are missed or could not be measured."""
    pairs = ((name, value, targets[name]) for name, value in values.items())
    return [name for name, value, target in pairs if target is not None and (value is None or value > target)]


def print_report(
    values: Mapping[str, float | None],
    targets: Mapping[str, float | None],
    details: Mapping[str, object],
    options: argparse.Namespace,
) -> int:
    """Print values and targets side by side, then the details, or JSON; return the exit code."""
    missed = set(list_missed(values, targets))
    if options.json:
        print(json.dumps({"values": values, "targets": targets, "details": details}, indent=2))
        return int(options.strict and bool(missed))
    print(f"{'measure':<38}{'value':>10}{'target':>10}")
    for name, value in values.items():
        target, shown = targets[name], "failed" if value is None else f"{value:,}"
        mark = "  missed" if name in missed else ""
        print(f"{name:<38}{shown:>10}{'-' if target is None else f'{target:,}':>10}{mark}")
    for name, detail in details.items():
        if detail:
            print("\n".join(["", f"{name}:", *_format_detail(detail)]))
    return int(options.strict and bool(missed))


def _format_detail(detail: object) -> list[str]:
    if isinstance(detail, Mapping):
        shown = {key: f"{value:,}" if isinstance(value, int) else value for key, value in detail.items()}
        return [f"  {key:<36} {', '.join(v) if isinstance(v, list) else v}" for key, v in shown.items()]
    return [f"  {entry}" for entry in detail] if isinstance(detail, list) else [f"  {detail}"]
