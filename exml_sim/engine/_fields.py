"""Reading of study files: TOML, abbreviations, types of values with their limits; errors of one line.

Two texts that mean the same study (an option left out or written at its default, 1 or 1.0) must give the same identity.
So pydantic turns every value into one canonical form: numbers as floats, money as exact text, lists as tuples.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import wraps
from itertools import islice, product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import pydantic
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ArgsKwargs, core_schema

from exml_sim._internal.validation import shown
from exml_sim.money import exact, exact_cost, show

#: Bytes of a study file, characters of a name, entries of a list, rows of a pool, cells of a study.
MAX_FILE_BYTES, MAX_NAME, MAX_LIST, MAX_ROWS, MAX_CELLS = 10**7, 200, 10_000, 50_000, 100_000
#: Size of a number, and the range of money.
MAX_NUMBER = 1e15
MIN_MONEY, MAX_MONEY = Fraction(1, 10**12), 10**15
#: A root seed, a whole number among options, and trials per cell.
MAX_SEED, MAX_OPTION, MAX_TRIALS = 2**63 - 1, 10**9, 10**12

#: Words of pydantic's messages that this project says differently.
_PLAIN_WORDS = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "a whole number",
    "a valid string": "a text",
    "a valid tuple": "a list",
    "a valid number": "a number",
}
T = TypeVar("T")
_CONFIG = ConfigDict(extra="forbid", validate_default=True, arbitrary_types_allowed=True)


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def spec(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose values are checked, with errors of one line.

    The class has `what`, its name in messages. Fields that are not compared are no part of the study file.
    """
    made: Any = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(cls)
    validate = made.__init__

    @wraps(validate)
    def init(self: Any, *values: Any, **named: Any) -> None:
        try:
            validate(self, *values, **named)
        except ValidationError as error:
            raise _explain(error, made) from None

    made.__init__ = init
    return made  # type: ignore[no-any-return]


def name_values(cls: Any, given: Any) -> dict[str, Any]:
    """Return the arguments of a spec by name, for validators that run before the fields are checked."""
    if not isinstance(given, ArgsKwargs):
        return dict(given)
    names = [entry.name for entry in fields(cls) if not entry.kw_only]
    return dict(zip(names, given.args, strict=False)) | dict(given.kwargs or {})


def read_spec(cls: type[T], table: Any, what: str, **resolved: Any) -> T:
    """Read a table of a study file; an object of the class is returned as it is."""
    if isinstance(table, cls):
        return table
    if not isinstance(table, Mapping):
        raise ValueError(f"{what} must be a table, got {shown(table)}")
    return cls(**{str(name): value for name, value in table.items()}, **resolved)


def _explain(error: ValidationError, cls: Any) -> ValueError:
    """Say what was given and what is allowed, for the first error."""
    errors = error.errors(include_url=False)
    unknown = [entry for entry in errors if entry["type"].startswith("unexpected")]
    missing = [str(entry["loc"][0]) for entry in errors if entry["type"] == "missing" and len(entry["loc"]) == 1]
    first = errors[0]
    if unknown:
        allowed = ", ".join(entry.name for entry in fields(cls) if entry.compare)
        return ValueError(f"unknown option of {cls.what} {shown(unknown[0]['loc'][0])}: allowed are {allowed}")
    if missing:
        return ValueError(f"{cls.what} needs {', '.join(missing)}")
    place = " of ".join(str(part) for part in (*first["loc"][:1], cls.what) if part)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ValueError):
        # Errors of plug-ins keep their type; texts that begin with "must" are about one field.
        text = str(cause)
        return type(cause)(f"{place} {text}" if text.startswith("must ") else text)
    text = re.sub(r"^\w+ should", "must", first["msg"])
    for formal, plain in _PLAIN_WORDS.items():
        text = text.replace(formal, plain)
    return ValueError(f"{place} {text}, got {shown(first['input'])}")


@dataclass(frozen=True)
class Choice:
    """One of some names, for `Annotated`."""

    allowed: Sequence[str]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.literal_schema(list(self.allowed))


def whole(least: int, most: int = MAX_OPTION) -> Any:
    """Return the limits of a whole number, for `Annotated`."""
    return Field(strict=True, ge=least, le=most)


def _check_text(value: str) -> str:
    if "\n" in value:
        raise ValueError(f"must be a text on one line, got {shown(value)}")
    if re.search("[\ud800-\udfff]", value):
        raise ValueError(f"must be a text without lone surrogates (halves of a character), got {value!r}")
    return value


def without_module(name: str) -> str:
    """Return the name of a component without the module of a plug-in."""
    return name.partition(":")[2] or name


def label_from(*names: str) -> AfterValidator:
    """Make the validator of a label that is by default the text of other fields, for `Annotated`."""
    return AfterValidator(
        lambda value, info: value or ", ".join(without_module(str(info.data.get(name))) for name in names)
    )


def _read_amount(value: Any) -> str:
    amount = exact_cost(value, "money")
    if not MIN_MONEY <= amount <= MAX_MONEY:
        least, most = float(MIN_MONEY), float(MAX_MONEY)
        raise ValueError(f"must be money between {least:g} and {most:g}, got {shown(value)}")
    return show(amount)


def _read_share(value: Any) -> str:
    share = exact(value, "ratio")
    if not 0 < share <= 1:
        raise ValueError(f"must be in (0, 1], got {shown(value)}")
    if share < MIN_MONEY:
        raise ValueError(f"must be at least {float(MIN_MONEY):g}, got {shown(value)}")
    return show(share)


def _check_gamma(value: Any) -> Any:
    if isinstance(value, str) and value != "median":
        raise ValueError(f"must be a number or 'median', got {shown(value)}")
    return value


class Pairs(tuple[tuple[str, Any], ...]):
    """A table of options that can be hashed: its entries, sorted."""

    __slots__ = ()


def read_pairs(value: Any, most: int = MAX_ROWS) -> Pairs:
    """Read a table of plain values: numbers, texts, and lists of them."""
    try:
        table = dict(value)
    except (TypeError, ValueError):
        raise ValueError(f"must be a table, got {shown(value)}") from None
    return Pairs(sorted((str(name), _freeze(part, str(name), most)) for name, part in table.items()))


def _freeze(value: Any, name: str, most: int, depth: int = 0) -> Any:
    """Check a plain value, and make it hashable; whole numbers are at most `most`."""
    if isinstance(value, list | tuple) and depth < 3 and len(value) <= MAX_LIST:
        return tuple(_freeze(part, name, most, depth + 1) for part in value)
    if isinstance(value, list | tuple):
        raise ValueError(f"{name} must have at most {MAX_LIST:,} entries, nested 3 times, got {shown(value)}")
    if isinstance(value, str):
        if len(value) > MAX_NAME:
            raise ValueError(f"{name} must be a text of at most {MAX_NAME} characters, got {len(value):,}")
        return _check_text(value)
    if not isinstance(value, int | float | Fraction):
        raise ValueError(f"{name} must be a number, a text or a list of them, got {shown(value)}")
    limit = most if isinstance(value, int) else MAX_NUMBER
    if not -limit <= value <= limit:
        raise ValueError(f"{name} must be a number of at most {limit}, got {shown(value)}")
    return value


Text = Annotated[str, Field(strict=True, max_length=MAX_NAME), AfterValidator(_check_text)]
Number = Annotated[float, Field(strict=True, ge=-MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False)]
Probability = Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)]
Seed = Annotated[int, whole(0, MAX_SEED)]
_MONEY = WithJsonSchema({"type": ["string", "number"]})
Amount = Annotated[str, PlainValidator(_read_amount), _MONEY]
Share = Annotated[str, PlainValidator(_read_share), _MONEY]
Gamma = Annotated[Number | Literal["median"], BeforeValidator(_check_gamma)]
Kernel = Literal["gaussian", "linear"]
Options = Annotated[Pairs, PlainValidator(read_pairs), WithJsonSchema({"type": "object"})]
_FILLED = Field(min_length=1, max_length=MAX_LIST)
Numbers = Annotated[tuple[Number, ...], _FILLED]
Texts = Annotated[tuple[Text, ...], _FILLED]
Amounts = Annotated[tuple[Amount, ...], _FILLED]


def to_plain(value: Any) -> Any:
    """Return specs and options as dicts and tuples as lists; fields that are None or not compared are left out."""
    if is_dataclass(value):
        pairs = ((entry.name, getattr(value, entry.name)) for entry in fields(value) if entry.compare)
        return {name: to_plain(part) for name, part in pairs if part is not None}
    if isinstance(value, Mapping | Pairs):
        return {key: to_plain(part) for key, part in dict(value).items()}
    return [to_plain(part) for part in value] if isinstance(value, tuple | list) else value


def to_canonical(value: Any) -> str:
    """Return the canonical JSON text of a plain value."""
    return json.dumps(to_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def read_toml(source: str | Path) -> dict[str, Any]:
    """Read TOML from a path, or from text; a byte order mark is skipped.

    Raises
    ------
    ValueError
        If the file is too large or no TOML.
    """
    name = source if isinstance(source, Path) else "this"
    try:
        return tomllib.loads(_read_text(source) if isinstance(source, Path) else source.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(f"{name} is no study: its lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is no study: the TOML is wrong: {shown(str(error), 300)[1:-1]}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no study: it is not UTF-8 text") from None
    except ValueError as error:
        if "is no study" in str(error):
            raise
        raise ValueError(f"{name} is no study: a number in it has too many digits ({error})") from None


def _read_text(file: Path) -> str:
    with file.open("rb") as opened:
        data = opened.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"{file} is no study: it has more than {MAX_FILE_BYTES:,} bytes")
    return data.decode("utf-8-sig")


def expand(table: Mapping[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    """Write out the abbreviations of a table, and refuse keys that a study does not have."""
    if not isinstance(table, Mapping):
        raise ValueError(f"a study must be a table, like the content of a study file; got {shown(table)}")
    for key in table:
        if key not in (*allowed, "strategy"):
            raise ValueError(f"unknown part of a study {shown(key)}: allowed are {', '.join(allowed)}, strategy")
    expanded = dict(table)
    if "strategy" in expanded:
        if "strategies" in expanded:
            raise ValueError("give strategy or strategies, not both")
        expanded["strategies"] = [expanded.pop("strategy")]
    for part in ("strategies", "pools", "scores"):
        if isinstance(expanded.get(part), list | tuple):
            entries = (entry for given in expanded[part] for entry in _expand_sweep(given, part))
            # One more than allowed is enough to be refused.
            expanded[part] = list(islice(entries, MAX_LIST + 1))
    if isinstance(expanded.get("budgets"), Mapping):
        expanded["budgets"] = {key: _expand_range(key, value) for key, value in expanded["budgets"].items()}
    return expanded


def _expand_sweep(given: Any, part: str) -> Iterator[Any]:
    """Yield one strategy, pool or score for every combination of the options in its table `sweep`."""
    sweep = given.get("sweep") if isinstance(given, Mapping) else None
    if sweep is None:
        yield given
        return
    if not isinstance(sweep, Mapping) or not sweep:
        raise ValueError(f"sweep of {part} must be a table of lists, like {{rounds = [12, 48]}}, got {shown(sweep)}")
    number = 1
    for name, values in sweep.items():
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{name} of sweep must be a list that is not empty, got {shown(values)}")
        if name in given:
            raise ValueError(f"{name} is both in the sweep and beside it: leave one out")
        number *= len(values)
        if number > MAX_LIST:
            raise ValueError(f"sweep of {part} must have at most {MAX_LIST:,} combinations: shorten its lists")
    rest = {key: value for key, value in given.items() if key not in ("sweep", "label")}
    start = given.get("label") or (given.get("family") or given.get("kind") if part == "pools" else None)
    for values in product(*sweep.values()):
        point = dict(zip(sweep, values, strict=True))
        text = ", ".join(f"{name.replace('_', ' ')} = {value}" for name, value in point.items())
        yield {**rest, **point, **({"label": f"{start}, {text}"} if start else {})}


def _expand_range(key: str, value: Any) -> Any:
    """Replace {from, to, number} by whole budgets at equal ratios; other values stay."""
    if not isinstance(value, Mapping):
        return value
    ends: tuple[Any, Any, Any] = (value.get("from"), value.get("to"), value.get("number"))
    low, high, number = ends
    is_whole = all(isinstance(entry, int) and not isinstance(entry, bool) for entry in ends)
    if set(value) != {"from", "to", "number"} or not is_whole or not 1 <= low < high or not 2 <= number <= MAX_LIST:
        raise ValueError(
            f"{key} of budgets must be a list or {{from = 10, to = 1000, number = 7}} with whole numbers, "
            f"1 <= from < to and 2 <= number <= {MAX_LIST:,}; got {shown(value)}"
        )
    points = (low * (high / low) ** (step / (number - 1)) for step in range(number))
    return list(dict.fromkeys(round(point) for point in points))
