"""What a claim is: a statement of the paper that can be checked on instances.

A statement is a `Reading`: a left side, a relation and a right side, evaluated at every case. The same cases judge
three readings: the statement as printed, the corrected statement, and the statement with a planted error, which must
be refuted. A check that lets its planted error pass cannot fail and is a defect.

What a claim says is data (``data/*.toml``); its sides and cases are a `Check` in the module of its section.
:mod:`theory.claims.registry` joins the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, Literal, get_args

from theory import verdicts
from theory.verdicts import Outcome, Verdict

Printed = Literal["holds", "holds-corrected", "refuted", "definition", "vacuous"]
Matters = Literal["harmless", "constant", "conclusion"]
Kind = Literal["identity", "inequality", "exact-probability", "monte-carlo", "counterexample"]
Relation = Literal["==", "<=", "<", ">=", ">"]
Case = Mapping[str, Any]
Side = Callable[..., Any]
Sides = tuple[Side, Side]

PRINTED: tuple[Printed, ...] = get_args(Printed)
EXPECTED: dict[Printed, Outcome] = {
    "holds": "consistent",
    "definition": "consistent",
    "holds-corrected": "refuted",
    "refuted": "refuted",
    "vacuous": "vacuous",
}
# Relative rounding error granted to floats; fractions and integers are compared exactly.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the paper: section, label, line of the LaTeX source."""

    section: str
    label: str
    line: int

    def __str__(self) -> str:
        return f"{self.section}, {self.label} (L{self.line})"


@dataclass(frozen=True, slots=True)
class Assumption:
    """A named, executable premise: ``holds(**case)``.

    Attributes
    ----------
    name : str
    holds : callable
    instance : bool
        The premise describes the instances of the check; the statement itself does not need it.
    """

    name: str
    holds: Callable[..., bool]
    instance: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """``left(**case) relation right(**case)``.

    Attributes
    ----------
    vacuous_from : float, optional
        The right side bounds a probability: a value from here on (1, or 0 for logarithms), or ``nan``,
        says nothing about the case.
    log : bool
        Both sides are logarithms, because the numbers themselves underflow.
    """

    left: Side
    relation: Relation
    right: Side
    vacuous_from: float | None = None
    log: bool = False

    def show(self, value: Any) -> str:
        """Format a side for a sentence."""
        return f"exp({show(value)})" if self.log else show(value)

    def says_nothing(self, value: Any) -> bool:
        """Return whether the right side excludes nothing."""
        return self.vacuous_from is not None and not value < self.vacuous_from

    def holds(self, left: Any, right: Any) -> bool:
        """Compare exactly for exact numbers, up to rounding for floats."""
        slack = 0.0
        if isinstance(left, float) or isinstance(right, float):
            size = max(abs(float(left)), abs(float(right)))
            slack = ROUNDING * size if math.isfinite(size) else 0.0
        match self.relation:
            case "==":
                return bool(left == right or (slack and abs(left - right) <= slack))
            case "<=":
                return bool(left <= right + slack if slack else left <= right)
            case ">=":
                return bool(left >= right - slack if slack else left >= right)
            case "<":
                return bool(left < right)
            case ">":
                return bool(left > right)


@dataclass(frozen=True, slots=True)
class Check:
    """The executable part of a claim: cases, and (left, right) for each reading.

    Attributes
    ----------
    cases : the instances, as keyword arguments of the sides
    printed : (left, right)
        The statement as printed.
    corrected, mutant : (left, right), or right alone if the left side is that of ``printed``
        The statement as corrected, and with a planted error.
    assumptions : named predicates, all true at every case
    """

    cases: tuple[Case, ...]
    printed: Sides
    corrected: Sides | Side | None = None
    mutant: Sides | Side | None = None
    assumptions: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A Monte Carlo study of the claim, which the engine turns into cells.

    Attributes
    ----------
    pools : tuple of str
        Names in `theory.claims._instances.POOLS`.
    strategies : tuple of str
        "uniform", "median-fresh", "median-accumulated".
    budgets : tuple of int
    statistic : str
        What counts as a failure of one trial.
    bound : str
        Dotted name of the function in `theory` that gives the bound of a cell.
    """

    pools: tuple[str, ...]
    strategies: tuple[str, ...]
    budgets: tuple[int, ...]
    statistic: str
    bound: str


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """One statement of the paper.

    Attributes
    ----------
    id : str
        Kebab-case name such as ``lemma-1-i`` or ``a2-step-3``.
    where : Place
    statement, plain : str
        The statement in LaTeX and in words.
    printed : {"holds", "holds-corrected", "refuted", "definition", "vacuous"}
        The verdict on the statement as printed.  "holds-corrected": it fails on inputs the paper allows,
        and a constant, a premise, an index or a rounding repairs it.  "refuted": the assertion itself is wrong.
    instead : str
        What the paper should say, in one sentence; empty for what holds and for definitions.
    matters : {"harmless", "constant", "conclusion"}, optional
        Whether the correction changes nothing, a constant, or the conclusion.
    kind : how it is checked
    cases : the instances, as data
    reading, repaired, mutant : Reading
        As printed; corrected; with a planted error.
    corrected : str
        The corrected statement in LaTeX, empty when none is needed.
    assumptions : named predicates, all true at every case
    hypotheses : tuple of str
        What the statement needs beyond `theory.claims.document.SETTING` and beyond the assumptions, in words;
        of the corrected statement if there is one.
    errata : names of the errata the claim shows, such as "E7"
    experiment : Monte Carlo study, if the claim is one about probabilities of a whole trial
    inferred : bool
        The paper does not state this; it is our reading of a remark, or what a step or a setting needs.
        Such claims are counted apart.
    coq, corrected_coq : theorems of theory/coq that are the statement, as printed or as corrected
    proof, corrected_proof : headings of docs/theorems.md that prove it
    group : name of the data file that states the claim

    Examples
    --------
    >>> from theory.claims.registry import get
    >>> claim = get("lemma-1-i")
    >>> claim.printed, claim.matters
    ('holds-corrected', 'constant')
    """

    id: str
    where: Place
    statement: str
    plain: str
    printed: Printed
    kind: Kind
    cases: tuple[Case, ...]
    reading: Reading
    repaired: Reading | None = None
    mutant: Reading | None = None
    corrected: str = ""
    instead: str = ""
    matters: Matters | None = None
    assumptions: tuple[Assumption, ...] = ()
    hypotheses: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    experiment: Experiment | None = None
    inferred: bool = False
    coq: tuple[str, ...] = ()
    corrected_coq: tuple[str, ...] = ()
    proof: str = ""
    corrected_proof: str = ""
    group: str = ""

    @property
    def expected(self) -> Outcome:
        """Return the outcome that the registry records for the printed statement."""
        return EXPECTED[self.printed]

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the hypotheses of the statement: those that the check tests, and those in words."""
        return (*(premise.name for premise in self.assumptions if not premise.instance), *self.hypotheses)

    @property
    def checked_on(self) -> tuple[str, ...]:
        """Return what describes the instances of the check and is no hypothesis of the statement."""
        return tuple(premise.name for premise in self.assumptions if premise.instance)

    def check(self) -> Verdict:
        """Check the statement as printed."""
        return self.examine(self.reading)

    def check_corrected(self) -> Verdict:
        """Check the corrected statement on the same cases."""
        if self.repaired is None:
            raise ValueError(f"claim {self.id} has no corrected statement; its printed verdict is {self.printed}.")
        return self.examine(self.repaired)

    def check_mutant(self) -> Verdict:
        """Check the statement with the planted error on the same cases."""
        if self.mutant is None:
            raise ValueError(f"claim {self.id} has no planted error.")
        return self.examine(self.mutant)

    def examine(self, reading: Reading) -> Verdict:
        """Judge a reading at every case; the first violated case refutes it."""
        silent: list[Any] = []
        closest: tuple[float, Case, Any, Any] | None = None
        for case in self.cases:
            self.require_assumptions(case)
            try:
                left, right = reading.left(**case), reading.right(**case)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                raise ValueError(f"claim {self.id}: a side fails at {_words(case)}: {reason}") from error
            if reading.says_nothing(right):
                silent.append(right)
                continue
            if not reading.holds(left, right):
                return self._refuted(reading, case, left, right)
            distance = _distance(left, right)
            if closest is None or distance < closest[0]:
                closest = (distance, case, left, right)
        if closest is None:
            return self._vacuous(reading, silent)
        return self._consistent(reading, closest, len(silent))

    def require_assumptions(self, case: Case) -> None:
        """Refuse a case that breaks a premise of the claim."""
        for assumption in self.assumptions:
            if not assumption.holds(**case):
                raise ValueError(f"claim {self.id}: the case {_words(case)} breaks '{assumption.name}'.")

    def _refuted(self, reading: Reading, case: Case, left: Any, right: Any) -> Verdict:
        sentence = (
            f"Fails at {_words(case)}: the left side is {reading.show(left)}, "
            f"which is not {reading.relation} {reading.show(right)}."
        )
        return verdicts.refuted(sentence, **_numbers(case), left=_plain(left), right=_plain(right))

    def _vacuous(self, reading: Reading, silent: list[Any]) -> Verdict:
        smallest = min((value for value in silent if value == value), default=math.nan)
        sentence = (
            f"In all {len(silent)} cases the right-hand side excludes nothing; "
            f"the smallest is {reading.show(smallest)}."
        )
        return verdicts.vacuous(sentence, cases=len(silent), smallest=_plain(smallest))

    def _consistent(self, reading: Reading, closest: tuple[float, Case, Any, Any], silent: int) -> Verdict:
        _, case, left, right = closest
        informative = len(self.cases) - silent
        cases = "in the only case" if informative == 1 else f"in all {informative} cases"
        sides = f"{reading.show(left)} {reading.relation} {reading.show(right)}"
        rest = f" (in the other {silent} the right-hand side excludes nothing)" if silent else ""
        sentence = f"Holds {cases}{rest}; closest at {_words(case)}: {sides}."
        numbers = {**_numbers(case), "left": _plain(left), "right": _plain(right)}
        return verdicts.consistent(sentence, cases=len(self.cases), silent=silent, **numbers)


def grid(**values: Iterable[Any]) -> tuple[dict[str, Any], ...]:
    """Return all combinations of the values as cases; the last name varies fastest."""
    return tuple(dict(zip(values, combination, strict=True)) for combination in product(*values.values()))


def cases(names: str, *rows: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """Return one case per row, with the names in one string."""
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


def cross(*parts: Iterable[Case]) -> tuple[dict[str, Any], ...]:
    """Return all combinations of cases with different names; the last part varies fastest."""
    return tuple(
        {name: value for case in combination for name, value in case.items()} for combination in product(*parts)
    )


def show(value: Any) -> str:
    """Format a value: short integers and fractions exactly, the rest to five digits."""
    if isinstance(value, int | Fraction) and (value.denominator > 9999 or abs(value.numerator) >= 10**15):
        # Decimals have no largest number, floats do.
        return (
            f"{float(value):.5g}"
            if -(10**300) < value < 10**300
            else f"{Decimal(value.numerator) / value.denominator:.4e}"
        )
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, tuple):
        return "(" + ", ".join(show(entry) for entry in value) + ")"
    return str(value)


def _words(case: Case) -> str:
    return ", ".join(f"{name} = {show(value)}" for name, value in case.items()) or "the instance"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value)
    return value if isinstance(value, int | Fraction | str) else show(value)


def _numbers(case: Case) -> dict[str, Any]:
    return {name: _plain(value) for name, value in case.items()}


def _distance(left: Any, right: Any) -> float:
    """Return how close a case comes to a violation; rounding counts as zero, so that reports are stable."""
    if isinstance(left, int | float | Fraction) and isinstance(right, int | float | Fraction):
        if not (math.isfinite(left) and math.isfinite(right)):
            return math.inf
        distance = abs(float(left) - float(right)) / max(abs(float(right)), 1e-300)
        return distance if distance > 10 * ROUNDING else 0.0
    return 0.0
