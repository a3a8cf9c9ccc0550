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

from exml_sim.money import exact, exact_cost, show
from exml_sim.validation import check_choice

Reader = Callable[[Any, str], Any]


class Fields:
    """A frozen dataclass that is one table of a study; its fields are made by `entry`."""

    __slots__ = ()
    what: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            read = one.metadata["read"](getattr(self, one.name), f"{one.name} of {self.what}")
            object.__setattr__(self, one.name, read)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Read a table; names that do not exist are refused."""
        allowed = tuple(one.name for one in fields(cls))  # type: ignore[arg-type]
        for name in table:
            check_choice(name, f"option of {cls.what}", allowed)
        missing = [one.name for one in fields(cls) if required(one) and one.name not in table]  # type: ignore[arg-type]
        if missing:
            raise ValueError(f"{cls.what} needs {', '.join(missing)}, got only {', '.join(table) or 'nothing'}")
        return cls(**table)

    def table(self) -> dict[str, Any]:
        """All fields in canonical form, without those that are None."""
        pairs = ((one.name, getattr(self, one.name)) for one in fields(self))  # type: ignore[arg-type]
        return {name: plain(value) for name, value in pairs if value is not None}


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


def whole(least: int, most: int | None = None) -> Reader:
    """A whole number of at least `least`, and at most `most` if there is a limit."""

    def read(value: Any, what: str) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{what} must be a whole number of at least {least}, got {value!r}")
        if most is not None and int(value) > most:
            raise ValueError(f"{what} must be at most {most}, got {value}")
        return int(value)

    return read


def number(value: Any, what: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {value!r}")
    return float(value)


def between(low: float, high: float) -> Reader:
    """A number strictly between two others."""

    def read(value: Any, what: str) -> float:
        found = number(value, what)
        if not low < found < high:
            raise ValueError(f"{what} must lie between {low:g} and {high:g}, got {value!r}")
        return found

    return read


def text(value: Any, what: str) -> str:
    """A text on one line, of characters that can be stored."""
    if not isinstance(value, str) or "\n" in value:
        raise ValueError(f"{what} must be a text on one line, got {value!r}")
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


def several(read: Reader, *, empty: bool = False) -> Reader:
    """A list of what `read` accepts."""

    def read_all(value: Any, what: str) -> tuple[Any, ...]:
        if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
            raise ValueError(f"{what} must be a list, got {value!r}")
        found = tuple(read(part, what) for part in value)
        if not found and not empty:
            raise ValueError(f"{what} must not be empty")
        return found

    return read_all


class Pairs(tuple[tuple[str, Any], ...]):
    """A table of options that can be hashed: its entries, sorted."""

    __slots__ = ()


def pairs(value: Any, what: str) -> Pairs:
    """A table of plain values: numbers, texts, and lists of them."""
    try:
        table = dict(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a table, got {value!r}") from None
    return Pairs(sorted((text(name, what), _frozen(part, f"{name} in {what}")) for name, part in table.items()))


def _frozen(value: Any, what: str) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_frozen(part, what) for part in value)
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"{what} must be a number, a text or a list of them, got {value!r}")


def amount(value: Any, what: str) -> str:
    """Money that is greater than 0, as exact text."""
    return show(exact_cost(value, what))


def share(value: Any, what: str) -> str:
    """An exact number in (0, 1], as text."""
    found = exact(value, what)
    if not 0 < found <= 1:
        raise ValueError(f"{what} must be in (0, 1], got {value}")
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
