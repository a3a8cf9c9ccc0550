"""A reader and an evaluator of numeric terms as Coq prints them. It shares no code with the formulas of `theory`."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "theory" / "coq"
TOKEN = re.compile(
    r"\s*(\d+|[A-Za-z_][\w.]*\w|[A-Za-z_]|\.[+-]1|=>|<->|<>|<=|>=|/\\|\\/|->|%/|%\||\\sum_\(|[-+*/^()=<>:])"
)
LEVELS = [("<->", "->"), ("\\/",), ("/\\",), ("=", "<>", "<=", ">=", "<", ">", "%|"), ("+", "-"), ("*", "/", "%/")]
# Counts of arms, scopes and notations.
NAMES = [
    (r"%(?:N|R|coq_nat)\b", ""),
    (r"#\|~: [^|]*\|", "rivals"),
    (r"#\|\[pred i \| rival i\]\|", "rivals"),
    (r"#\|[^|]*S [^|]*\|", "best_count"),
    (r"#\|P\|", "candidates"),
    (r"#\|I\|", "K"),
    (r"\(N T\.-1\)", "(N I B (T I).-1)"),
    (r"\\big\[Rplus/0\]_\(", r"\\sum_("),
    (r"\bgap i\b", "Delta"),
    (r"\bcost\b", "training_cost"),
]
# Arguments of definitions inside of sections, as the compiled definition has them.
SECTIONS = {
    "M": "theta Lam kappa",
    "r": "Lam kappa",
    "q4": "theta Lam kappa Delta n",
    "dev": "theta Lam kappa n level",
    "regret_1": "theta Lam kappa n delta s",
    "regret_2": "theta Lam kappa n delta s",
    "bound_3": "theta Lam kappa m level",
    "training_cost": "theta Lam kappa m P delta",
    "bound_1": "theta Lam Gpsd y1 Gk x0 best P eps delta n tr",
    "bound_2": "theta Lam Gpsd y1 Gk x0 best P eps delta B tr",
}


def tokenize(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        assert match, text[at : at + 20]
        token = match.group(1)
        tokens.append(token.rpartition(".")[2] if token[0].isalpha() else token)
        at = match.end()
    return tokens


class Parser:
    """Read an expression of Coq about numbers into nested tuples."""

    def __init__(self, text: str) -> None:
        for pattern, name in NAMES:
            text = re.sub(pattern, name, text)
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
            self.peek() in ("(", "\\sum_(") or (self.peek()[0].isalnum() and self.peek() not in ("then", "else"))
        ):
            parts.append(self.parse_atom())
        return parts[0] if len(parts) == 1 else ("call", *parts)

    def parse_atom(self):
        atom = self.parse_simple()
        while self.peek() in (".+1", ".-1"):
            atom = ("+" if self.take() == ".+1" else "-", atom, ("number", 1))
        return atom

    def parse_sum(self):
        name = self.take()
        self.take("<")
        bound = self.parse(4)
        self.take(")")
        return ("sum", name, bound, self.parse(5))

    def parse_function(self):
        name = self.take() if self.peek() not in (":", "=>") else "_"
        while self.take() != "=>":
            pass
        return ("function", name, self.parse())

    def parse_simple(self):
        token = self.take()
        if token == "\\sum_(":
            return self.parse_sum()
        if token == "fun":
            return self.parse_function()
        if token == "(":
            inside = self.parse()
            self.take(")")
            return ("truth", inside) if inside[0] in LEVELS[3] else inside
        return ("number", int(token)) if token[0].isdigit() else ("name", token)


def read_definitions() -> dict[str, tuple[list[str], object]]:
    definitions = {}
    for name in ("arm", "uniform_allocation", "regret", "printed_form", "excess_risk", "registry", "registry_rows"):
        text = re.sub(r"\(\*.*?\*\)", "", (SOURCES / f"{name}.v").read_text(encoding="utf-8"), flags=re.DOTALL)
        pattern = (
            r"^Definition (\w+) ((?:\([^()]* : (?:R|nat)\) ?|theta t s : R|\w+ )*)(?:: (?:R|Prop) )?:=\s*(.*?)\.\s*$"
        )
        for match in re.finditer(pattern, text, flags=re.MULTILINE):
            arguments = SECTIONS.get(match.group(1), re.sub(r": (?:R|nat)", "", match.group(2)))
            arguments = re.findall(r"\w+", arguments)
            try:
                definitions[match.group(1)] = (arguments, Parser(match.group(3)).parse())
            except AssertionError:
                continue  # not about numbers
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
    "tails": lambda n, theta, r, gaps: sum(4 * evaluate(TAIL, {"n": n, "g": g, "theta": theta, "r": r}) for g in gaps),
    "spent": lambda rows, costs: sum(cost * rows(cost) for cost in costs),
    "total": sum,
    "length": len,
    "INR": lambda n: n,
    "IZR": lambda n: n,
    "Int_part": math.floor,
    "uphalf": lambda a: -(-a // 2),
    "up_log": lambda base, K: next(t for t in range(64) if base**t >= K),
    "iter": lambda times, step, a: iterate(times, step, a),
    "T": lambda K: FUNCTIONS["up_log"](2, K),
    "alive_count": lambda K, t: iterate(t, FUNCTIONS["uphalf"], K),
    "n": lambda K, B, t: B // (FUNCTIONS["T"](K) * FUNCTIONS["alive_count"](K, t)),
    "N": lambda K, B, t: sum(FUNCTIONS["n"](K, B, u) for u in range(t + 1)),
}


def iterate(times, step, value):
    for _ in range(times):
        value = step(value)
    return value


OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "%/": lambda a, b: a // b,
    "%|": lambda a, b: b % a == 0,
    "<->": lambda a, b: a == b,
    "=": lambda a, b: math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12),
    "<>": lambda a, b: a != b,
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
    if kind == "name" and rest[0] in point:
        return point[rest[0]]
    if kind == "name":
        return FUNCTIONS[rest[0]] if rest[0] in FUNCTIONS else evaluate(("call", tree), point)
    if kind == "sum":
        name, bound, body = rest
        return sum(evaluate(body, point | {name: t}) for t in range(evaluate(bound, point)))
    if kind == "function":
        return lambda value: evaluate(rest[1], point | {rest[0]: value})
    if kind == "negate":
        return -evaluate(rest[0], point)
    if kind == "invert":
        return 1 / Fraction(evaluate(rest[0], point))
    if kind == "truth":
        return evaluate(rest[0], point)
    if kind == "if":
        return evaluate(rest[1] if evaluate(rest[0], point) else rest[2], point)
    values = [evaluate(part, point) for part in rest[kind == "call" :]]
    if kind != "call":
        return OPERATIONS[kind](*values)
    name = rest[0][1]
    if name in FUNCTIONS:
        return FUNCTIONS[name](*values)
    arguments, body = DEFINITIONS[name]
    given = arguments[len(arguments) - len(values) :]  # in its own section a definition has fewer arguments
    return evaluate(body, point | dict(zip(given, values, strict=True)))


TAIL = Parser("tail n g theta r").parse()
