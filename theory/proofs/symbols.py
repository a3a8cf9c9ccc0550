"""Rational functions over Q whose variables are not negative, and the sign that can be read off from them.

A formula is written once, as a function of a backend ``m`` and its parameters. With `Symbols` as the backend it is
evaluated to a quotient of two polynomials with rational coefficients, exactly. Two such quotients are equal iff the
cross products are; a quotient is not negative if all coefficients above and below are not negative, for the variables
are not. Roots, logarithms and exponentials of what is no square are new variables ("atoms"), the same one for the
same argument.

Nothing is computed that is not defined on the whole region: a divisor must be seen to be positive or negative there,
the argument of a root not negative, that of a logarithm positive, before a common factor is cancelled.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mpoly_ctx, fmpz

__all__ = ["Ratio", "Symbols", "Unclear"]

_ATOMS = 12


class Unclear(Exception):
    """The sign of an expression cannot be read off, so that it may be undefined, or a maximum cannot be resolved."""


def _fmpq(value: int | Fraction) -> fmpq:
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


class Ratio:
    """num / den, two polynomials without a common factor."""

    __slots__ = ("den", "field", "num")

    def __init__(self, field: Symbols, num: Any, den: Any) -> None:
        if not den.is_constant():  # a constant has no factor in common with anything: most quotients are polynomials
            common = num.gcd(den) if not num.is_zero() else den
            num, den = num / common, den / common
        lead = den.leading_coefficient()
        self.field, self.num, self.den = field, num / lead, den / lead

    def _other(self, value: Any) -> Ratio:
        return value if isinstance(value, Ratio) else self.field.constant(value)

    def __add__(self, value: Any) -> Ratio:
        other = self._other(value)
        return Ratio(self.field, self.num * other.den + other.num * self.den, self.den * other.den)

    def __mul__(self, value: Any) -> Ratio:
        other = self._other(value)
        return Ratio(self.field, self.num * other.num, self.den * other.den)

    def __truediv__(self, value: Any) -> Ratio:
        other = self._other(value)
        if not (other.positive() or (-other).positive()):
            raise Unclear(f"the divisor {other} may be zero")
        return Ratio(self.field, self.num * other.den, self.den * other.num)

    def __neg__(self) -> Ratio:
        return Ratio(self.field, -self.num, self.den)

    def __sub__(self, value: Any) -> Ratio:
        return self + (-self._other(value))

    def __rsub__(self, value: Any) -> Ratio:
        return self._other(value) - self

    def __rtruediv__(self, value: Any) -> Ratio:
        return self._other(value) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Ratio:
        if not isinstance(exponent, int):
            raise Unclear(f"the power {exponent!r} is not a whole number")
        if exponent < 0:
            return 1 / self**-exponent
        return Ratio(self.field, self.num**exponent, self.den**exponent)

    def is_zero(self) -> bool:
        """Whether the expression is zero for all values of the variables."""
        return bool(self.num.is_zero())

    def whole(self) -> int | None:
        """The value, if the expression is a whole number that is written out."""
        if self.is_zero():
            return 0
        if not (self.num.is_constant() and self.den.is_constant()):
            return None
        value = self.num.leading_coefficient() / self.den.leading_coefficient()
        return int(value.p) if value.q == 1 else None

    def not_negative(self) -> bool:
        """Whether no coefficient is negative, above and below."""
        return self.field.signless(self.num) and self.field.signless(self.den)

    def positive(self) -> bool:
        """The same, with a term above that is positive even where the variables that may be zero are zero."""
        return self.not_negative() and self.field.survives(self.num)

    def __repr__(self) -> str:
        return f"({self.num})/({self.den})"


class Symbols:
    """The backend that computes with `Ratio`.

    Parameters
    ----------
    variables : names of numbers >= 0
    closed : those among them that may be 0; the others are > 0
    free : those among them that may have any sign
    """

    def __init__(
        self, variables: tuple[str, ...], closed: frozenset[str] = frozenset(), free: frozenset[str] = frozenset()
    ) -> None:
        names = [*variables, *(f"atom{i}" for i in range(_ATOMS))]
        self._ctx = fmpq_mpoly_ctx.get(names, "degrevlex")
        generators = self._ctx.gens()
        one = self._ctx.constant(1)
        self.variables = {
            name: Ratio(self, generator, one) for name, generator in zip(variables, generators, strict=False)
        }
        self._spare = [(len(variables) + i, generators[len(variables) + i]) for i in range(_ATOMS)]
        self._atoms: list[tuple[str, Ratio, Ratio]] = []
        self._may_vanish = {i for i, name in enumerate(variables) if name in closed}
        self._any_sign = {i for i, name in enumerate(variables) if name in free}
        self._settled = {i for i, name in enumerate(variables) if name not in closed | free}

    def settle(self, value: Ratio, *, positive: bool) -> bool:
        """Learn that a variable that may have any sign is not negative, or positive; False if it is no variable."""
        for index, name in enumerate(self.variables):
            if (value - self.variables[name]).is_zero():
                self._any_sign.discard(index)
                if positive:
                    self._may_vanish.discard(index)
                elif index not in self._settled:
                    self._may_vanish.add(index)
                self._settled |= {index} if positive else set()
                return True
        return False

    def constant(self, value: int | Fraction) -> Ratio:
        """A rational number."""
        if isinstance(value, float):
            raise TypeError(f"a formula with the float {value!r} is not exact; write a fraction")
        return Ratio(self, self._ctx.constant(_fmpq(value)), self._ctx.constant(1))

    def q(self, num: int, den: int = 1) -> Ratio:
        """num / den."""
        return self.constant(Fraction(num, den))

    def signless(self, polynomial: Any) -> bool:
        """No negative coefficient, and no odd power of a variable of unknown sign."""
        return all(
            coefficient > 0 and all(powers[i] % 2 == 0 for i in self._any_sign)
            for powers, coefficient in polynomial.to_dict().items()
        )

    def survives(self, polynomial: Any) -> bool:
        """Whether a term is left when all variables that may be zero, or have any sign, are zero."""
        drop = self._may_vanish | self._any_sign
        return any(all(powers[i] == 0 for i in drop) for powers in polynomial.to_dict())

    def _atom(self, kind: str, argument: Ratio, *, signed: bool, positive: bool = False) -> Ratio:
        for name, known, value in self._atoms:
            if name == kind and (known - argument).is_zero():
                return value
        if len(self._atoms) == _ATOMS:
            raise Unclear(f"there are more than {_ATOMS} roots, logarithms and exponentials")
        index, generator = self._spare[len(self._atoms)]
        value = Ratio(self, generator, self._ctx.constant(1))
        self._atoms.append((kind, argument, value))
        if signed:
            self._any_sign.add(index)
        elif not positive:
            self._may_vanish.add(index)
        return value

    def sqrt(self, x: Any) -> Ratio:
        """The root of a square of something positive, or an atom."""
        x = self.constant(x) if not isinstance(x, Ratio) else x
        try:
            root = Ratio(self, x.num.sqrt(), x.den.sqrt())
        except Exception:  # flint raises DomainError: no square
            if not x.not_negative():
                raise Unclear(f"the sign under the root of {x} is not clear") from None
            return self._atom("sqrt", x, signed=False, positive=x.positive())
        if root.not_negative():
            return root
        if (-root).not_negative():
            return -root
        raise Unclear(f"the sign of the root {root} is not clear")

    def log(self, x: Any) -> Ratio:
        """Sum of the logarithms of the positive factors; that of a number of at least 1 is not negative."""
        x = self.constant(x) if not isinstance(x, Ratio) else x
        if not x.positive():
            raise Unclear(f"the sign under the logarithm of {x} is not clear")
        total = self.constant(0)
        for polynomial, sign in ((x.num, 1), (x.den, -1)):
            content, factors = polynomial.factor()
            total += sign * self._log_number(content)
            for factor, power in factors:
                one = Ratio(self, factor, self._ctx.constant(1))
                if not self.signless(factor):
                    raise Unclear(f"the sign of the factor {factor} is not clear")
                above = one - 1
                total += (
                    sign * power * self._atom("log", one, signed=not above.not_negative(), positive=above.positive())
                )
        return total

    def _log_number(self, number: Any) -> Ratio:
        total = self.constant(0)
        exact = fmpq(number)
        for integer, sign in ((exact.p, 1), (exact.q, -1)):
            for prime, power in fmpz(integer).factor():
                total += sign * int(power) * self._atom("log", self.constant(int(prime)), signed=False, positive=True)
        return total

    def exp(self, x: Any) -> Ratio:
        """1 + E or 1 / (1 + E) with the atom E = exp(|x|) - 1, if the sign of x is clear; else an atom."""
        x = self.constant(x) if not isinstance(x, Ratio) else x
        for size, rises in ((x, True), (-x, False)):
            if size.not_negative():
                above = 1 + self._atom("expm1", size, signed=False, positive=size.positive())
                return above if rises else 1 / above
        return self._atom("exp", x, signed=False)

    def max(self, *values: Any) -> Ratio:
        """The largest, if the coefficients tell which one it is."""
        ratios = [value if isinstance(value, Ratio) else self.constant(value) for value in values]
        for one in ratios:
            if all((one - other).not_negative() for other in ratios):
                return one
        raise Unclear("which of the values is the largest is not clear on the whole region")

    def min(self, *values: Any) -> Ratio:
        """The smallest, if the coefficients tell which one it is."""
        return -self.max(*(-(value if isinstance(value, Ratio) else self.constant(value)) for value in values))
