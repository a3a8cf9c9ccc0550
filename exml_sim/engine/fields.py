"""Parts of a study as tables: read with checks at the door, written as TOML, in one canonical form.

Two texts that mean the same study (an option left out or written at its default, 1 or 1.0 for a float) must give the
same identity. So every field has a reader that checks a value and turns it into its canonical form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from exml_sim.engine import limits
from exml_sim.money import exact, exact_cost, show
from exml_sim.validation import check_choice, shown

Reader = Callable[[Any, str], Any]


class Fields:
    """A frozen dataclass that is one table of a study; its fields are made by `entry`."""

    __slots__ = ()
    what: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        for one in _entries(self):
            read = one.metadata["read"](getattr(self, one.name), f"{one.name} of {self.what}")
            object.__setattr__(self, one.name, read)

    @classmethod
    def of(cls, table: Mapping[str, Any], **given: Any) -> Self:
        """Read a table, and take hidden fields as given; names that do not exist are refused."""
        allowed = tuple(one.name for one in _entries(cls))
        for name in table:
            check_choice(name, f"option of {cls.what}", allowed)
        missing = [one.name for one in _entries(cls) if required(one) and one.name not in table]
        if missing:
            raise ValueError(f"{cls.what} needs {', '.join(missing)}, got only {', '.join(table) or 'nothing'}")
        return cls(**table, **given)

    def table(self) -> dict[str, Any]:
        """All fields in canonical form, without those that are None."""
        pairs = ((one.name, getattr(self, one.name)) for one in _entries(self))
        return {name: plain(value) for name, value in pairs if value is not None}


def _entries(table: Any) -> list[Any]:
    return [one for one in fields(table) if "read" in one.metadata]


def required(one: Any) -> bool:
    """Whether a dataclass field has no default."""
    return type(one.default).__name__ == "_MISSING_TYPE" and type(one.default_factory).__name__ == "_MISSING_TYPE"


def entry(read: Reader, **options: Any) -> Any:
    """A field of a `Fields`: its reader, and `default=` if it has one."""
    return field(metadata={"read": read}, **options)


def plain(value: Any) -> Any:
    """Tuples as lists and mappings as dicts, for JSON and TOML."""
    if isinstance(value, Fields):
        return value.table()
    if isinstance(value, Mapping | Pairs):
        return {key: plain(part) for key, part in dict(value).items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def canonical(value: Any) -> str:
    """The one JSON text of a plain value."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def whole(least: int, most: int = limits.OPTION) -> Reader:
    """A whole number of at least `least`, and at most `most`."""

    def read(value: Any, what: str) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{what} must be a whole number of at least {least}, got {shown(value)}")
        if int(value) > most:
            raise ValueError(f"{what} must be at most {most}, got {shown(value)}")
        return int(value)

    return read


def number(value: Any, what: str) -> float:
    """A finite number within the limit."""
    # Not as a float yet: a whole number may be too large for one.
    size: Any = abs(value) if isinstance(value, Real) else math.inf
    if isinstance(value, bool) or not size <= limits.NUMBER:
        raise ValueError(f"{what} must be a finite number of at most {limits.NUMBER:g}, got {shown(value)}")
    return float(value)


def between(low: float, high: float) -> Reader:
    """A number strictly between two others."""

    def read(value: Any, what: str) -> float:
        found = number(value, what)
        if not low < found < high:
            raise ValueError(f"{what} must lie between {low:g} and {high:g}, got {shown(value)}")
        return found

    return read


def text(value: Any, what: str) -> str:
    """A text on one line, of characters that can be stored."""
    if not isinstance(value, str) or "\n" in value:
        raise ValueError(f"{what} must be a text on one line, got {shown(value)}")
    if len(value) > limits.NAME:
        raise ValueError(f"{what} must be a text of at most {limits.NAME} characters, got {len(value):,}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{what} must be a text without lone surrogates (halves of a character), got {value!r}")
    return value


def one_of(allowed: Sequence[str]) -> Reader:
    """One of some names."""

    def read(value: Any, what: str) -> str:
        return str(check_choice(value, what, allowed))

    return read


def optional(read: Reader) -> Reader:
    """None, or what `read` accepts."""
    return lambda value, what: None if value is None else read(value, what)


def several(read: Reader, *, empty: bool = False, most: int = limits.LIST) -> Reader:
    """A list of what `read` accepts, of at most `most` entries."""

    def read_all(value: Any, what: str) -> tuple[Any, ...]:
        if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
            raise ValueError(f"{what} must be a list, got {shown(value)}")
        if hasattr(value, "__len__") and len(value) > most:
            raise ValueError(f"{what} must have at most {most:,} entries, got {len(value):,}")
        found = tuple(read(part, what) for part in value)
        if not found and not empty:
            raise ValueError(f"{what} must not be empty")
        return found

    return read_all


def bandwidth(value: Any, what: str) -> float | str:
    """The gamma of a kernel: a number, or "median"."""
    return "median" if value == "median" else number(value, what)


def kernel_name(value: Any, what: str) -> str:
    """The kernel of a pool."""
    return str(one_of(("gaussian", "linear"))(value, what))


class Pairs(tuple[tuple[str, Any], ...]):
    """A table of options that can be hashed: its entries, sorted."""

    __slots__ = ()


def pairs(value: Any, what: str) -> Pairs:
    """A table of plain values: numbers, texts, and lists of them."""
    try:
        table = dict(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a table, got {shown(value)}") from None
    return Pairs(sorted((text(name, what), frozen(part, f"{name} in {what}")) for name, part in table.items()))


def frozen(value: Any, what: str, most: int = limits.ROWS, depth: int = 0) -> Any:
    """A number, a text, or a list of them that can be hashed; whole numbers of at most `most`."""
    if isinstance(value, list | tuple) and depth < 3:
        if len(value) > limits.LIST:
            raise ValueError(f"{what} must have at most {limits.LIST:,} entries, got {len(value):,}")
        return tuple(frozen(part, what, most, depth + 1) for part in value)
    if isinstance(value, str):
        return text(value, what)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return whole(-most, most)(value, what)
    if isinstance(value, float):
        return number(value, what)
    raise ValueError(f"{what} must be a number, a text or a list of them, got {shown(value)}")


def amount(value: Any, what: str) -> str:
    """Money within the limits, which is greater than 0, as exact text."""
    found = exact_cost(value, what)
    if not limits.LEAST_MONEY <= found <= limits.MOST_MONEY:
        least, most = float(limits.LEAST_MONEY), float(limits.MOST_MONEY)
        raise ValueError(f"{what} must be money between {least:g} and {most:g}, got {shown(value)}")
    return show(found)


def share(value: Any, what: str) -> str:
    """An exact number in (0, 1], as text."""
    found = exact(value, what)
    if not 0 < found <= 1:
        raise ValueError(f"{what} must be in (0, 1], got {shown(value)}")
    if found < limits.LEAST_MONEY:
        raise ValueError(f"{what} must be at least {float(limits.LEAST_MONEY):g}, got {shown(value)}")
    return show(found)


def to_toml(table: Mapping[str, Any]) -> str:
    """Write a plain table as TOML: plain values first, then tables, then lists of tables."""
    lines = [f"{_key(key)} = {_toml(value)}" for key, value in table.items() if not _is_table(value)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(key)}]", *(f"{_key(name)} = {_toml(part)}" for name, part in value.items())]
        elif _is_table(value):
            for part in value:
                lines += ["", f"[[{_key(key)}]]", *(f"{_key(name)} = {_toml(inner)}" for name, inner in part.items())]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _quoted(name)


def _quoted(value: str) -> str:
    """A basic string of TOML: as in JSON, but no character is cut into surrogates, and DEL is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(_toml(part) for part in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {_toml(part)}' for name, part in value.items())} }}"
    raise TypeError(f"{value!r} has no place in TOML")
