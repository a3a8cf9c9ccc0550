"""Spaces whose instances are a few named numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Number = int | Fraction


def read_number(value: object, what: str) -> Number:
    """A whole number, a fraction or a decimal, exactly."""
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
        raise ValueError(f'{what} must be a whole number or a fraction in quotes such as "3/10", got {value!r}')
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f'{what} must be a whole number or a fraction in quotes such as "3/10", got {value!r}'
        ) from None
    return int(number) if number.denominator == 1 else number


def plain(value: Number) -> int | str:
    """A number for a TOML file."""
    return int(value) if Fraction(value).denominator == 1 else str(value)


def complexity(value: Number) -> float:
    """How long a number is to write; 0 and 1 are the simplest."""
    number = Fraction(value)
    return math.log2(1 + abs(number.numerator)) + math.log2(number.denominator)


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one number.

    Attributes
    ----------
    low, high
        Ends, both allowed.
    grid
        Values are multiples of 1/grid; None for numbers with two significant digits on a logarithmic scale.
    digits
        Significant digits on a logarithmic scale.
    """

    low: Fraction
    high: Fraction
    grid: int | None = 1
    digits: int = 2

    def settle(self, value: float | Number) -> Number:
        """The nearest allowed value."""
        inside = min(max(Fraction(value), self.low), self.high)
        if self.grid is not None:
            number = Fraction(round(inside * self.grid), self.grid)
        else:
            number = significant(inside, self.digits)
        number = min(max(number, self.low), self.high)
        return int(number) if number.denominator == 1 else number

    def sample(self, rng: np.random.Generator) -> Number:
        """A random value."""
        if self.grid is None:
            return self.settle(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        steps = int(rng.integers(math.ceil(self.low * self.grid), math.floor(self.high * self.grid) + 1))
        return self.settle(Fraction(steps, self.grid))

    def mutate(self, value: Number, rng: np.random.Generator) -> Number:
        """A value nearby, or now and then anywhere."""
        if rng.random() < 0.15:
            return self.sample(rng)
        if self.grid is None:
            return self.settle(float(value) * math.exp(rng.normal() * rng.choice([0.05, 0.3, 1.0])))
        width = float(self.high - self.low)
        step = max(abs(rng.normal()) * width * rng.choice([0.02, 0.1, 0.3]), 1 / self.grid)
        return self.settle(float(value) + step * rng.choice([-1, 1]))

    def simpler(self, value: Number) -> Iterator[Number]:
        """Shorter values, the shortest first."""
        number = Fraction(value)
        tried = [Fraction(0), Fraction(1), Fraction(2)]
        tried += [number.limit_denominator(bound) for bound in (1, 2, 5, 10, 20, 50)]
        tried += [significant(number, digits) for digits in range(1, self.digits)]
        tried += [Fraction(math.floor(number / 2)), Fraction(math.floor(number * 3 / 4)), number - 1]
        for one in sorted(set(tried), key=complexity):
            settled = self.settle(one)
            if settled == one and complexity(one) < complexity(value):
                yield settled


def significant(value: Fraction, digits: int) -> Fraction:
    """Round to significant decimal digits, exactly."""
    if value == 0:
        return Fraction(0)
    return Fraction(f"{float(value):.{digits - 1}e}")


def axis(low: Any, high: Any, grid: int | None = 1, digits: int = 2) -> Axis:
    """An axis from anything that `Fraction` reads."""
    ends = Fraction(low), Fraction(high)
    if not ends[0] < ends[1]:
        raise ValueError(f"an axis needs low < high, got {low} and {high}")
    if grid is None and ends[0] <= 0:
        raise ValueError(f"a logarithmic axis needs low > 0, got {low}")
    return Axis(*ends, grid, digits)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Named numbers."""

    names: tuple[str, ...]
    values: tuple[Number, ...]

    def __getitem__(self, name: str) -> Number:
        return self.values[self.names.index(name)]

    def integer(self, name: str) -> int:
        """A number that is whole."""
        return int(self[name])

    def fraction(self, name: str) -> Fraction:
        """A number as a fraction."""
        return Fraction(self[name])

    def table(self) -> dict[str, Any]:
        """As the table of a TOML file."""
        return {name: plain(value) for name, value in zip(self.names, self.values, strict=True)}

    def words(self) -> str:
        """For people."""
        return ", ".join(f"{name} = {value}" for name, value in zip(self.names, self.values, strict=True))

    def size(self) -> tuple[float, ...]:
        """Total length of the numbers."""
        return (sum(complexity(value) for value in self.values),)


@dataclass(frozen=True, slots=True)
class Box:
    """A space of named numbers, one axis each."""

    axes: tuple[tuple[str, Axis], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(name for name, _ in self.axes)

    def sample(self, rng: np.random.Generator) -> Numbers:
        """A random point."""
        return Numbers(self.names, tuple(one.sample(rng) for _, one in self.axes))

    def mutate(self, instance: Numbers, rng: np.random.Generator) -> Numbers:
        """Move along one to three axes."""
        values = list(instance.values)
        for at in rng.choice(len(values), size=min(len(values), int(rng.integers(1, 4))), replace=False):
            values[at] = self.axes[at][1].mutate(values[at], rng)
        return Numbers(instance.names, tuple(values))

    def simpler(self, instance: Numbers) -> Iterator[Numbers]:
        """Make one number shorter."""
        for at, (_, one) in enumerate(self.axes):
            for value in one.simpler(instance.values[at]):
                yield Numbers(instance.names, (*instance.values[:at], value, *instance.values[at + 1 :]))

    def read(self, table: Mapping[str, Any]) -> Numbers:
        """The point of a table; values outside the box are refused."""
        if set(table) != set(self.names):
            raise ValueError(f"an instance needs exactly {', '.join(self.names)}, got {', '.join(table) or 'nothing'}")
        values = []
        for name, one in self.axes:
            value = read_number(table[name], name)
            if not one.low <= value <= one.high:
                raise ValueError(f"{name} must lie between {one.low} and {one.high}, got {value}")
            values.append(value)
        return Numbers(self.names, tuple(values))


def box(**axes: Axis) -> Box:
    """A space from axes by name."""
    return Box(tuple(axes.items()))
