"""Statements of the Coq library and formulas of the registry have the same values at random rational points.

The statements are those that Coq prints for the compiled library. A small evaluator reads them; it shares no code with
the formulas of the registry.
"""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

from theory.claims import get
from theory.evidence.coq import read_library

SOURCES = Path(__file__).parents[3] / "theory" / "coq"
POINTS, COMPARED = 200, 15
TOKEN = re.compile(r"\s*(\d+|[A-Za-z_][\w.]*\w|[A-Za-z_]|\.\+1|<=|>=|/\\|\\/|->|[-+*/^()=<>])")
LEVELS = [("->",), ("\\/",), ("/\\",), ("=", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/")]

# Claim, printed or corrected statement, theorem. Both sides of the conclusion are compared.
PAIRS = [
    ("eq-2-upper-bound", "printed", "registry.eq_2_upper_bound"),
    ("eq-2", "corrected", "registry.eq_2_upper_bound"),
    ("surrogate-affine", "printed", "registry.surrogate_affine"),
    ("sl-rate", "printed", "registry.sl_rate"),
    ("remark-6-sqrt-k", "printed", "registry.remark_6_sqrt_k"),
    ("thm-1-delta-order", "corrected", "registry.thm_1_delta_order"),
    ("thm-2-delta-order", "corrected", "registry.thm_2_delta_order"),
    ("a2-sum", "printed", "registry.a2_sum"),
    ("a2-order", "corrected", "registry.a2_order"),
    ("a2-quarter", "printed", "registry.a2_quarter"),
    ("a2-delta-line-1", "corrected", "registry.a2_delta_line_1"),
    ("a2-delta-line-2", "corrected", "registry.thm_1_delta_order"),
    ("a2-delta-line-3", "printed", "registry.a2_delta_line_3"),
    ("a2-delta-line-4", "corrected", "registry.a2_delta_line_4"),
    ("a3-delta", "printed", "registry.a3_delta"),
    ("a3-numerator", "printed", "registry.a3_numerator"),
    ("a3-denominator-1", "printed", "registry.a3_denominator_1"),
    ("a3-denominator-2", "printed", "registry.a3_denominator_2"),
    ("a3-absolute-constant", "printed", "registry.a3_absolute_constant"),
    ("a3-order", "corrected", "registry.thm_2_delta_order"),
    ("a4-sum", "printed", "registry.a4_sum"),
    ("a5-series-1", "printed", "registry.a5_series_1"),
    ("a5-series-2", "printed", "registry.a5_series_2"),
    ("a6-conclusion", "printed", "registry.a6_conclusion"),
]


def tokenize(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        assert match, text[at : at + 20]
        tokens.append(match.group(1).rpartition(".")[2] if match.group(1)[0].isalpha() else match.group(1))
        at = match.end()
    return tokens


class Parser:
    """Read an expression of Coq's real numbers into nested tuples."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, token: str = "") -> str:
        assert not token or self.peek() == token, (token, self.tokens[:5])
        return self.tokens.pop(0)

    def parse(self, level: int = 0):
        if level == len(LEVELS):
            return self.parse_unary()
        left = self.parse(level + 1)
        while self.peek() in LEVELS[level]:
            symbol = self.take()
            right = self.parse(level if level < 3 else level + 1)
            if level == 3 and left[0] in LEVELS[3]:  # a < b < c
                left = ("/\\", left, (symbol, left[2], right))
            else:
                left = (symbol, left, right)
        return left

    def parse_unary(self):
        if self.peek() in ("-", "/"):
            return ("negate" if self.take() == "-" else "invert", self.parse_unary())
        base = self.parse_application()
        if self.peek() == "^":
            self.take()
            return ("^", base, self.parse_application())
        return base

    def parse_application(self):
        if self.peek() == "if":
            self.take("if")
            test = self.parse_application()
            self.take("then")
            yes = self.parse(4)
            self.take("else")
            return ("if", test, yes, self.parse(4))
        parts = [self.parse_atom()]
        while self.peek() and (
            self.peek() == "(" or (self.peek()[0].isalnum() and self.peek() not in ("then", "else"))
        ):
            parts.append(self.parse_atom())
        if self.peek() == ".+1":
            self.take()
            return ("+", parts[0], ("number", 1))
        return parts[0] if len(parts) == 1 else ("call", *parts)

    def parse_atom(self):
        token = self.take()
        if token == "(":
            inside = self.parse()
            self.take(")")
            return inside
        return ("number", int(token)) if token[0].isdigit() else ("name", token)


def read_definitions() -> dict[str, tuple[list[str], object]]:
    definitions = {}
    for name in ("arm.v", "uniform_allocation.v", "registry.v"):
        text = re.sub(r"\(\*.*?\*\)", "", (SOURCES / name).read_text(encoding="utf-8"), flags=re.DOTALL)
        pattern = r"^Definition (\w+) ((?:\([^()]* : R\) ?|theta t s : R|\w+ )*)(?:: (?:R|Prop) )?:=\s*([^.]*?)\.\s*$"
        for found in re.finditer(pattern, text, flags=re.MULTILINE):
            arguments = re.findall(r"\w+", re.sub(r": R", "", found.group(2)))
            try:
                definitions[found.group(1)] = (arguments, Parser(found.group(3)).parse())
            except AssertionError:
                continue  # not about real numbers
    return definitions


DEFINITIONS = read_definitions()
FUNCTIONS = {
    "exp": math.exp,
    "ln": math.log,
    "sqrt": math.sqrt,
    "Rabs": abs,
    "Rmax": max,
    "Rmin": min,
    "Rle_dec": lambda a, b: a <= b,
    "powers": lambda q, count: sum(q**t for t in range(1, count + 1)),
    "doubled": lambda q, count: sum(q ** (2**t) for t in range(count)),
}
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "=": lambda a, b: math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12),
    "<=": lambda a, b: a <= b + 1e-12,
    ">=": lambda a, b: a >= b - 1e-12,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "/\\": lambda a, b: a and b,
    "\\/": lambda a, b: a or b,
    "->": lambda a, b: not a or b,
}


def evaluate(tree, point):
    kind, *rest = tree
    if kind == "number":
        return rest[0]
    if kind == "name":
        return point[rest[0]]
    if kind == "negate":
        return -evaluate(rest[0], point)
    if kind == "invert":
        return 1 / Fraction(evaluate(rest[0], point))
    if kind == "if":
        return evaluate(rest[1] if evaluate(rest[0], point) else rest[2], point)
    values = [evaluate(part, point) for part in rest[kind == "call" :]]
    if kind != "call":
        return OPERATIONS[kind](*values)
    name = rest[0][1]
    if name in FUNCTIONS:
        return FUNCTIONS[name](*values)
    arguments, body = DEFINITIONS[name]
    return evaluate(body, dict(zip(arguments, values, strict=True)))


def read_statement(text: str):
    """Return the hypotheses and the conclusion."""
    tree = Parser(re.sub(r"^forall .*?, ", "", text)).parse()
    hypotheses = []
    while tree[0] == "->":
        hypotheses.append(tree[1])
        tree = tree[2]
    return hypotheses, tree


def draw_point(rng: random.Random) -> dict[str, object]:
    """Draw rational numbers that meet the premises of the claims."""
    theta, r = Fraction(rng.randint(1, 48), 100), Fraction(rng.randint(20, 200), 100)
    gap = min(r, 1 - 2 * theta) * Fraction(rng.randint(10, 90), 100)
    n = math.floor(64 * ((1 - theta) * r) ** 2 / ((1 - 2 * theta) * gap) ** 2) + rng.randint(1, 50)
    width = 1 - 2 * theta
    return {
        "theta": theta,
        "r": r,
        "gap": gap,
        "n": n,
        "m": n + rng.randint(0, 1000),
        "K": 2 ** rng.randint(1, 4),
        "B": 16 * n,
        "delta": Fraction(rng.randint(1, 99), 100),
        "h": width * Fraction(2 * rng.randint(-50, 49) + 1, 100),
        "g": width * Fraction(rng.randint(-100, 100), 100),
        "y": rng.choice([-1, 1]),
        "T": rng.randint(1, 8),
        "q": Fraction(rng.randint(1, 99), 100),
    }


def compare(claim_id: str, which: str, statement: str) -> None:
    """Assert that the theorem is true at the points and that its two sides are those of the claim."""
    claim = get(claim_id)
    reading = claim.reading if which == "printed" else claim.repaired
    hypotheses, conclusion = read_statement(statement)
    rng = random.Random(claim_id)
    compared = 0
    for _ in range(POINTS):
        point = draw_point(rng)
        if claim_id == "a4-sum":  # the claim is stated for the radius of the random walk
            point["r"] = 1 - 2 * point["theta"]
        point["x"] = evaluate(Parser("margin n gap theta r").parse(), point)
        if not all(evaluate(hypothesis, point) for hypothesis in hypotheses):
            continue
        case = {name: point[name] for name in claim.cases[0]}
        if not all(premise.holds(**case) for premise in claim.assumptions):
            continue
        floats = {name: float(value) if isinstance(value, Fraction) else value for name, value in case.items()}
        assert evaluate(conclusion, point), (claim_id, point)
        ours = [float(evaluate(side, point)) for side in conclusion[1:]]
        theirs = [float(side(**floats)) for side in (reading.left, reading.right)]
        if reading.log:
            ours = [math.log(value) for value in ours]
        assert sorted(ours) == pytest.approx(sorted(theirs), rel=1e-7, abs=1e-9), (claim_id, point, ours, theirs)
        compared += 1
        if compared == COMPARED:
            return
    raise AssertionError(f"{claim_id}: only {compared} points meet the premises")


@pytest.mark.parametrize(("claim_id", "which", "theorem"), PAIRS, ids=lambda value: value)
def test_the_theorem_has_the_sides_of_the_claim(claim_id, which, theorem):
    names = get(claim_id).coq if which == "printed" else get(claim_id).corrected_coq
    assert theorem in names
    compare(claim_id, which, read_library()[theorem]["statement"])


def test_planted_errors_are_caught():
    """Planted: every number in every conclusion raised by one, and two exchanged arguments."""
    planted = 0
    for claim_id, which, theorem in PAIRS:
        text = read_library()[theorem]["statement"]
        head, arrow, conclusion = text.rpartition(" -> ")
        if not arrow:
            head, arrow, conclusion = text.partition(", ")
        for number in re.finditer(r"(?<![\w.])\d+", conclusion):
            wrong = conclusion[: number.start()] + str(int(number.group()) + 1) + conclusion[number.end() :]
            with pytest.raises(AssertionError):
                compare(claim_id, which, head + arrow + wrong)
            planted += 1
    assert planted >= 130
    good = read_library()["registry.eq_2_upper_bound"]["statement"]
    with pytest.raises(AssertionError):
        compare("eq-2-upper-bound", "printed", good.replace("loss_0_1 theta h g y", "loss_0_1 theta g h y"))
