"""Claims of another paper: checked, searched and verified as those of this project.

A paper is a Python package, in a folder or installed. Its ``claims.toml`` states the claims. Its module holds any of

- ``CHECKS``: claim id -> `theory.claims.Check`, the sides of the statement and its cases;
- ``BOUNDS``: claim id -> `BoundClaim`, a bound on the failure probability of a strategy;
- ``SPACES``: claim id -> `box`, the instances that a search for a counterexample may visit.

Loading a paper executes its code. The user names it on the command line; files of studies never do.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import ParametricPool
from exml_sim.bandit.trial_batch import smallest_budget
from simulations.falsify._target import Box, Measured, Numbers, Target, axis, box, compare_sides, log, unmet
from simulations.testing import Assumes, Bound, BoundInstance, get_instances
from simulations.testing._bound_instances import exact_instance
from simulations.verification._cells import ALPHA, CellEvidence, ClaimCell
from simulations.verification._claim_trials import judge_between
from theory.claims import Check, Claim, Reading, Registry
from theory.claims.claim import Sides
from theory.verdicts import Verdict, judge, undecided

__all__ = ["BoundClaim", "Paper", "axis", "box", "load_paper"]

#: Fresh trials after a violation of a bound, and the false-alarm rate of each limit of them; see
#: `simulations.falsify.targets`.
CONFIRMATION_TRIALS, CONFIRMATION_ALPHA = 200_000, 5e-8
#: Bernoulli arms that a search visits: the first `arms` of the means, at any budget.
MOST_ARMS = 4
ARMS = box(
    arms=axis(2, MOST_ARMS),
    budget=axis(2, 240),
    **{f"mean{i}": axis(0, 1, grid=20) for i in range(1, MOST_ARMS + 1)},
)
EVENT = "the selected arm is not a best arm"


@dataclass(frozen=True)
class BoundClaim:
    """A claim that bounds the failure probability of a strategy; its check, search and trials follow from it.

    Attributes
    ----------
    bound : callable
        ``bound(budget, context)`` as printed; ``context`` is an `exml_sim.engine.BoundContext`.
    assumes : Assumes
        Strategy, options and distribution of the arms.
    mutant : callable
        The bound with a planted error, which the check must refute.
    corrected : callable, optional
        The bound as corrected.
    """

    bound: Bound
    assumes: Assumes
    mutant: Bound
    corrected: Bound | None = None

    def build_check(self) -> Check:
        """Build the check on all instances whose failure probability is known without trials."""
        known = [instance for instance in get_instances(self.assumes, ALPHA, 0) if instance.counts is None]
        instances = {(instance.name, instance.budget): instance for instance in known}

        def sides(bound: Bound) -> Sides:
            return (
                lambda pool, budget: instances[pool, budget].least,
                lambda pool, budget: _evaluate(bound, instances[pool, budget]),
            )

        return Check(
            cases=tuple({"pool": name, "budget": budget} for name, budget in instances),
            printed=sides(self.bound),
            corrected=None if self.corrected is None else sides(self.corrected),
            mutant=sides(self.mutant),
        )

    def versions(self, claim: Claim) -> Iterator[tuple[str, Bound, bool]]:
        """Yield (version, bound, whether it must hold) of the printed and the corrected statement."""
        yield "paper", self.bound, claim.expected != "refuted"
        if self.corrected is not None:
            yield "corrected", self.corrected, True


@dataclass(frozen=True)
class Paper:
    """A paper that was loaded.

    Attributes
    ----------
    name : str
        Name of its package.
    registry : Registry
        Its claims.
    bounds : mapping
        `BoundClaim` by claim id.
    spaces : mapping
        Spaces of counterexamples by claim id.
    """

    name: str
    registry: Registry
    bounds: Mapping[str, BoundClaim] = field(default_factory=dict)
    spaces: Mapping[str, Box] = field(default_factory=dict)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Everything that a search for counterexamples can try to violate."""
        targets = []
        for id, space in self.spaces.items():
            claim = self.registry.get(id)
            for name, reading, holds in (
                (id, claim.reading, claim.expected != "refuted"),
                (f"{id}/corrected", claim.repaired, True),
            ):
                if reading is not None:
                    targets.append(_build_sides_target(name, claim, reading, space, holds))
        for id, bounded in self.bounds.items():
            if bounded.assumes.distribution != "bernoulli":
                continue
            for version, bound, holds in bounded.versions(self.registry.get(id)):
                name = id if version == "paper" else f"{id}/{version}"
                targets.append(_build_bound_target(name, bound, bounded.assumes, holds))
        return tuple(targets)

    def test_claim(self, claim: Claim, seed: int) -> list[CellEvidence]:
        """Test a bound on all instances of `check_bound`; other claims have their checks only."""
        if claim.id not in self.bounds:
            return []
        bounded = self.bounds[claim.id]
        versions = list(bounded.versions(claim))
        instances = get_instances(bounded.assumes, ALPHA, seed)
        alpha = ALPHA / max(1, len(versions) * sum(instance.counts is not None for instance in instances))
        return [
            _test_instance(claim, version, bound, holds, instance, alpha)
            for version, bound, holds in versions
            for instance in instances
        ]


def _test_instance(
    claim: Claim, version: str, bound: Bound, holds: bool, instance: BoundInstance, alpha: float
) -> CellEvidence:
    value = _evaluate(bound, instance)
    where = (claim.id, version, instance.name, instance.context.strategy, instance.budget, EVENT, value)
    if instance.counts is None:
        cell = ClaimCell(*where, method="exact", must_hold=holds)
        return CellEvidence.of(cell, judge_between(instance.least, instance.most, value))
    return CellEvidence.of(ClaimCell(*where, must_hold=holds), judge(*instance.counts, value, alpha=alpha))


def _evaluate(bound: Bound, instance: BoundInstance) -> float:
    """Return the bound on an instance; its errors become one line."""
    try:
        return float(bound(instance.budget, instance.context))
    except Exception as error:
        name = getattr(bound, "__name__", "bound")
        where = f"{instance.name}, budget {instance.budget}"
        raise ValueError(f"{name} fails at {where}: {type(error).__name__}: {error}") from error


def _build_sides_target(id: str, claim: Claim, reading: Reading, space: Box, holds: bool) -> Target:
    """Search the sides of a check; the check itself confirms."""

    def measure(instance: Numbers, seed: int) -> Measured:
        values = dict(zip(instance.names, instance.values, strict=True))
        if not all(assumption.holds(**values) for assumption in claim.assumptions):
            return unmet(1.0)
        left, right = reading.left(**values), reading.right(**values)
        if reading.relation in (">", ">="):
            left, right = right, left
        if reading.says_nothing(right):
            return unmet(1.0)
        return Measured(float(left), float(right)) if reading.log else compare_sides(left, right)

    def confirm(instance: Numbers, seed: int) -> Verdict:
        values = dict(zip(instance.names, instance.values, strict=True))
        return replace(claim, cases=(values,)).examine(reading)

    if reading.relation not in ("<=", "<", ">", ">="):
        raise ValueError(f"claim {claim.id!r} has a search space, which goes with <=, <, >= and >, not with ==")
    return Target(id, claim.plain, space, measure, confirm, holds, probability=False)


def _build_bound_target(id: str, bound: Bound, about: Assumes, holds: bool) -> Target:
    """Search pools of Bernoulli arms by exact failure probabilities; fresh trials confirm, or agree with them."""

    def find(instance: Numbers) -> BoundInstance | None:
        return exact_instance(about, _read_means(instance), instance.integer("budget"))

    def measure(instance: Numbers, seed: int) -> Measured:
        known = find(instance)
        # Bounds assume one best arm.
        if known is None or not known.context.ordered[0] > 0:
            return unmet(1.0)
        value = _evaluate(bound, known)
        return Measured(log(known.least), log(value)) if value < 1 else unmet(value if value < 1e6 else 1e6)

    def confirm(instance: Numbers, seed: int) -> Verdict:
        pool = ParametricPool.bernoulli(sorted(_read_means(instance), reverse=True), direction="minimise")
        rule, known = about.build(), find(instance)
        assert known is not None
        assert known.budget >= smallest_budget(rule, pool.prices)
        result = pool.explore_many(rule, known.budget, CONFIRMATION_TRIALS, seed=seed)
        failures = int(result.failures(pool.best_arms()).sum())
        value = _evaluate(bound, known)
        counted = judge(failures, CONFIRMATION_TRIALS, value, alpha=CONFIRMATION_ALPHA)
        exact = judge_between(known.least, known.most, value)
        if "refuted" in (counted.outcome, exact.outcome):
            low, high = clopper_pearson(failures, CONFIRMATION_TRIALS, 1 - 2 * CONFIRMATION_ALPHA)
            shown = f"{failures:,} failures in {CONFIRMATION_TRIALS:,} fresh trials"
            if not low <= known.least <= high:
                return undecided(f"The exact probability is {known.least:.4g}, which {shown} contradict.")
            if counted.outcome != "refuted":
                # Too rare for trials, which still agree with the enumeration.
                return replace(exact, sentence=f"{exact.sentence} By enumeration; {shown} agree.")
        return counted

    return Target(id, f"P({about.strategy} selects no best arm) <= the bound", ARMS, measure, confirm, holds)


def _read_means(instance: Numbers) -> list[float]:
    return [float(instance[f"mean{i}"]) for i in range(1, instance.integer("arms") + 1)]


def load_paper(place: str | Path) -> Paper:
    """Import a paper from a folder or by the name of an installed package; this executes its code.

    Parameters
    ----------
    place : str or Path
        Folder with ``__init__.py`` and ``claims.toml``, or a dotted name.

    Raises
    ------
    ValueError
        If there is no such package, its import fails, or its claims are incomplete.
    """
    module = _import(str(place))
    file = Path(module.__file__ or "").parent / "claims.toml"
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{place} has no claims.toml; `exml new paper NAME` writes a package that has one") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{file} is not a TOML file: {' '.join(str(error).split())}") from None
    name = module.__name__
    if not table.get("claim") or "title" not in table:
        raise ValueError(f"{file} needs a title and at least one [[claim]]")
    bounds, spaces = dict(getattr(module, "BOUNDS", {})), dict(getattr(module, "SPACES", {}))
    own: dict[str, Check] = dict(getattr(module, "CHECKS", {}))
    if twice := sorted(own.keys() & bounds.keys()):
        raise ValueError(f"{place}: {', '.join(twice)} is in CHECKS and in BOUNDS; one of them is allowed")
    checks = {**own, **{id: bounded.build_check() for id, bounded in bounds.items()}}
    registry = Registry({name: table}, checks, table.get("errata", {}))
    if unknown := sorted({*bounds, *spaces} - registry.claims.keys()):
        raise ValueError(f"{file} does not state the claims {', '.join(unknown)}, which the package tests")
    return Paper(name, registry, bounds, spaces)


def _import(place: str) -> ModuleType:
    """Import a package; what goes wrong is one line."""
    folder = Path(place)
    is_folder, file = folder.is_dir(), folder.resolve() / "__init__.py"
    name = folder.resolve().name if is_folder else place
    is_name = all(part.isidentifier() for part in name.split("."))
    if is_folder and not (is_name and file.is_file()):
        raise ValueError(f"{place} is no package: it needs __init__.py and a name of letters, digits and _")
    if not is_name:
        raise ValueError(f"there is no folder {place}, and it is no name of a package")
    path = list(sys.path)
    if is_folder:
        # Last, so that nothing beside the folder replaces an installed package.
        sys.path.append(str(file.parent.parent))
        invalidate_caches()
    try:
        module = import_module(name)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        if error.name == place:
            raise ValueError(f"there is no folder or package {place!r}; `exml new paper NAME` writes one") from None
        raise ValueError(f"{place} needs the package {error.name!r}, which is not installed here") from None
    except BaseException as error:
        text = " ".join(str(error).split())[:300]
        raise ValueError(f"{place} cannot be imported: {type(error).__name__}: {text}") from None
    finally:
        sys.path[:] = path
    if is_folder and Path(module.__file__ or "").resolve() != file:
        raise ValueError(f"another module is named {name!r}: rename the folder {place}")
    return module
