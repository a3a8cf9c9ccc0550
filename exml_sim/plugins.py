"""Strategies, pools, scores and bounds that are not part of this package: resolve their names, and nothing else.

A plug-in announces itself: by an entry point of an installed package, or, in a file that the user names, by a base
class (`BaseStrategy`, `Pool`) or a decorator (`strategy`, `pool`, `score`, `bound`). No other name is imported or
called. The identity of a plug-in is its group, its name and a digest of its source.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from inspect import isabstract
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

import cloudpickle  # type: ignore[import-untyped]

from exml_sim._internal.determinism import DeterminismGuard

#: Groups of entry points by which a package announces its plug-ins.
GROUPS: Sequence[str] = ("exml_sim.strategies", "exml_sim.pools", "exml_sim.scores", "theory.bounds")
STRATEGIES, POOLS, SCORES, BOUNDS = GROUPS
#: The word for a member of each group.
WORDS: Mapping[str, str] = dict(zip(GROUPS, ("strategy", "kind of pool", "score", "bound"), strict=True))
#: The group of data files, which have a digest and contain no code.
DATA = "data"
#: Characters of an error's text that fit into a message of one line.
_MAX_ERROR_TEXT = 300
#: Start of the names of modules that were read from files.
_PREFIX = "exml_plugin_"
T = TypeVar("T")


def modules(group: str) -> Iterator[ModuleType]:
    """Import the modules of a package of this project, by name."""
    for name in sorted(module.name for module in pkgutil.iter_modules(import_module(group).__path__)):
        yield import_module(f"{group}.{name}")


def classes(group: str, base: type) -> dict[str, type[Any]]:
    """Collect the concrete subclasses of `base` in a package, by `registered_name` or by names like my_rule."""
    members = {
        vars(value).get("registered_name", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()): value
        for module in modules(group)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
        if value.__module__ == module.__name__ and not name.startswith("_") and not isabstract(value)
    }
    return dict(sorted(members.items()))


class PluginError(ValueError):
    """What is wrong with a plug-in, in one line with its name."""


class UnknownPlugin(PluginError):
    """A name by which no plug-in announces itself."""


class MissingPackage(PluginError):
    """A plug-in imports something that is not installed where it is needed."""


def announce(group: str) -> Callable[[T], T]:
    """Make a decorator that announces a class or function as a plug-in of a group."""

    def mark(thing: T) -> T:
        thing.plugin_group = group  # type: ignore[attr-defined]
        return thing

    return mark


#: Decorators for files of plug-ins; `exml_sim.engine.bound` is the one for bounds.
strategy, pool, score = (announce(group) for group in (STRATEGIES, POOLS, SCORES))


@dataclass(frozen=True)
class Plugin:
    """A plug-in by its identity, with its object if it was loaded.

    Attributes
    ----------
    group, name
        Its group, and its name in a study.
    version
        That of the package that announces it, or `__version__` of its file; "none" without one.
    digest
        SHA-256 of its source: of the file, or of all Python files of its package.
    thing
        The class or function; None if it was not loaded, and the path of a data file.
    source
        The text of the file that it was read from.
    payload
        The object as a worker received it.
    """

    group: str
    name: str
    version: str = "none"
    digest: str = ""
    thing: Any = field(default=None, compare=False, repr=False)
    source: str | None = field(default=None, compare=False, repr=False)
    payload: bytes = field(default=b"", compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        payload = self.payload or (b"" if self.thing is None else _pickled(self.thing))
        return Plugin, (self.group, self.name, self.version, self.digest, None, None, payload)

    @property
    def stem(self) -> str:
        """The name of its file without the suffix."""
        return str(getattr(self.thing, "__module__", "")).removeprefix(_PREFIX).partition("_")[2]

    @property
    def loaded(self) -> bool:
        """Whether there is an object."""
        return self.thing is not None or bool(self.payload)

    def load(self) -> Any:
        """Return the object.

        Raises
        ------
        PluginError
            If it was not loaded, lacks a package here, or is another version here than the study's.
        """
        if self.thing is not None:
            return self.thing
        if not self.payload:
            raise PluginError(f"plug-in {self.name!r} is not loaded: name its file by --plugins FILE")
        try:
            return _unpickled(self.payload, self.digest)
        except PluginError as error:
            raise type(error)(f"plug-in {self.name!r} {error}") from None
        except Exception as error:
            raise _import_error(self.name, error) from None

    def identity(self) -> dict[str, str]:
        """Return what a store keeps of it."""
        return {"group": self.group, "name": self.name, "version": self.version, "digest": self.digest}


@lru_cache(maxsize=64)
def _pickled(thing: Any) -> bytes:
    """Pickle an object; those of files by value, so that workers need no file."""
    return bytes(cloudpickle.dumps(thing))


@lru_cache(maxsize=64)
def _unpickled(payload: bytes, digest: str) -> Any:
    thing = pickle.loads(payload)
    home = sys.modules.get(getattr(thing, "__module__", ""))
    by_reference = home is not None and not home.__name__.startswith((_PREFIX, "__main__"))
    if by_reference and inspect.isroutine(thing) | isinstance(thing, type) and digest_of(thing) != digest:
        raise PluginError(f"is another version here ({digest_of(thing)[:12]}, not {digest[:12]})")
    return thing


def load_file(path: Path | str) -> tuple[Plugin, ...]:
    """Execute a file that the user named, and collect the plug-ins that it announces."""
    file = Path(path)
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _explain(str(file), error, "cannot be read:") from None
    digest = hashlib.sha256(source.encode()).hexdigest()
    module = _execute(file, source, digest)
    plugins = tuple(
        Plugin(getattr(value, "plugin_group", ""), f"{file.stem}:{name}", _version(module), digest, value, source)
        for name, value in vars(module).items()
        if isinstance(value, type) or inspect.isfunction(value)
        if value.__module__ == module.__name__ and getattr(value, "plugin_group", None) in GROUPS
        if not isabstract(value)
    )
    if not plugins:
        raise PluginError(
            f"{file} announces no plug-in: subclass BaseStrategy or Pool, "
            "or use the decorators strategy, pool, score, bound"
        )
    return plugins


def _execute(file: Path, source: str, digest: str) -> ModuleType:
    """Make the module of a text, once per content."""
    name = f"{_PREFIX}{digest[:16]}_{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    # Dataclasses look their module up while it is made.
    sys.modules[name] = module
    try:
        with DeterminismGuard([SimpleNamespace(__module__=name)]) as guard:
            exec(compile(source, f"{file.stem}.py", "exec"), module.__dict__)
        if guard.violation:
            raise PluginError(f"plug-in file {file.name!r} {guard.violation} while it was imported")
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _import_error(file.stem, error) from None
    module.__dict__["__exml_digest__"] = digest
    cloudpickle.register_pickle_by_value(module)
    return module


def of_object(thing: Any, group: str) -> Plugin:
    """Make the plug-in of a class or function that a study in Python was given."""
    module = thing.__module__ or "__main__"
    if module == "__main__":
        module = Path(getattr(sys.modules["__main__"], "__file__", None) or "session").stem
    elif module.startswith(_PREFIX):
        module = module.removeprefix(_PREFIX).partition("_")[2]
    home = sys.modules.get(thing.__module__)
    here = _version(home) if home is not None else "none"
    return Plugin(group, f"{module}:{thing.__qualname__}", here, digest_of(thing), thing)


def find_installed(group: str) -> dict[str, EntryPoint]:
    """Collect the entry points of a group by name; nothing is imported."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def load_entry(group: str, name: str, entry: EntryPoint) -> Plugin:
    """Import what an installed package announces, and check that it can be a member of the group."""
    try:
        thing = entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _import_error(name, error) from None
    missing = [part for part in ("PENALISED", "TOLERANCES", "score") if group == SCORES and not hasattr(thing, part)]
    if missing or (group != SCORES and not (isinstance(thing, type) or inspect.isroutine(thing))):
        lack = f"it has no {', '.join(missing)}" if missing else f"it is a {type(thing).__name__}"
        raise PluginError(f"plug-in {name!r} is no {WORDS[group]}: {lack}")
    known = entry.dist.version if entry.dist is not None else "none"
    return Plugin(group, name, known, digest_of(thing), thing)


@dataclass(frozen=True)
class Plugins:
    """What names in a study may stand for.

    Attributes
    ----------
    offered
        Plug-ins of files that the user named, of Python objects, or of a store.
    installed
        Whether entry points of installed packages may be imported; never when results are only read.
    folders
        Where data files are, before the current folder. With them, names that lead out of a folder are refused.
    """

    offered: tuple[Plugin, ...] = ()
    installed: bool = True
    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, given: Plugins | Iterable[Plugin | Path | str], folders: Iterable[Path] = ()) -> Plugins:
        """Load files that the user named."""
        if isinstance(given, Plugins):
            return given
        parts = ((part,) if isinstance(part, Plugin) else load_file(part) for part in given)
        return cls(tuple(plugin for part in parts for plugin in part), folders=tuple(folders))

    def resolve(self, group: str, name: str, own: Iterable[str] = ()) -> Plugin:
        """Find the plug-in of a name; `own` are the names of this package, for the message.

        Raises
        ------
        UnknownPlugin
            If nothing of the group announces itself by that name.
        """
        offered = {plugin.name: plugin for plugin in self.offered if plugin.group == group}
        matches = [name] if name in offered else [full for full in offered if full.partition(":")[2] == name]
        if len(matches) > 1:
            raise PluginError(f"{WORDS[group]} {name!r} is in several files: {', '.join(matches)}")
        if matches:
            return replace(offered[matches[0]], name=name)
        entries = find_installed(group) if self.installed else {}
        if name in entries:
            return load_entry(group, name, entries[name])
        known = ", ".join(map(repr, [*own, *offered, *entries])) or "none here"
        raise UnknownPlugin(
            f"unknown {WORDS[group]} {name[:80]!r}: allowed are {known}, and what a file named by --plugins announces"
        )

    def find_data(self, name: str) -> Plugin:
        """Find a data file of a study, with the digest of its contents."""
        stored = next((plugin for plugin in self.offered if (plugin.group, plugin.name) == (DATA, name)), None)
        if stored is not None and stored.thing is not None:
            return stored
        folders = (*self.folders, Path.cwd())
        if self.folders and stored is None:
            # The study is a file, perhaps of somebody else: it must not read files from everywhere.
            _check_inside(name, folders)
        file = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if file is None and stored is not None:
            return stored
        if file is None:
            places = ", ".join(dict.fromkeys(map(str, folders)))
            raise PluginError(f"there is no file {name!r} in {places}")
        current = Plugin(DATA, name, "none", hashlib.sha256(file.read_bytes()).hexdigest(), str(file.resolve()))
        if stored is not None and stored.digest != current.digest:
            raise PluginError(describe_change(stored.identity(), current.identity()))
        return current


def _check_inside(name: str, folders: Iterable[Path]) -> None:
    """Refuse a name of a data file that leads out of the folder in which it is looked for."""
    given = Path(name)
    is_outside = given.is_absolute() or ".." in given.parts
    if is_outside or not all((folder / given).resolve().is_relative_to(folder.resolve()) for folder in folders):
        raise PluginError(f"the data file {name!r} lies outside of the study's folder: copy it there")


def files_beside(folder: Path, table: Any) -> tuple[Path, ...]:
    """List the files in a folder that texts like "my_rules:Final" in a table name."""
    if isinstance(table, str):
        stem = re.fullmatch(r"([A-Za-z_]\w*):[A-Za-z_]\w*", table)
        file = None if stem is None else folder / f"{stem[1]}.py"
        return (file,) if file is not None and file.is_file() else ()
    parts = table.values() if isinstance(table, Mapping) else table if isinstance(table, list | tuple) else ()
    return tuple(dict.fromkeys(file for part in parts for file in files_beside(folder, part)))


def read_data(plugin: Plugin) -> bytes:
    """Read a data file, the same bytes that the study was made with."""
    if not plugin.loaded:
        raise PluginError(f"the file {plugin.name!r} is not here")
    path = Path(plugin.load())
    try:
        contents = path.read_bytes()
    except OSError:
        raise PluginError(f"the file {plugin.name!r} is not here: it was at {path}") from None
    if hashlib.sha256(contents).hexdigest() != plugin.digest:
        raise PluginError(f"the file {plugin.name!r} has changed while the study uses it")
    return contents


def describe_change(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Say that a plug-in is not what it was."""
    what = "the file" if now["group"] == DATA else "plug-in"
    return (
        f"{what} {now['name']!r} has changed: begun with version {before['version']} ({before['digest'][:12]}), "
        f"now it is version {now['version']} ({now['digest'][:12]})"
    )


@contextmanager
def guard_calls(*plugins: Plugin) -> Iterator[None]:
    """Report errors of plug-ins in one line, and refuse clocks, entropy and hidden generators.

    `SystemExit` and other exceptions that would end the process are reported, too; `KeyboardInterrupt` is the user's.
    """
    if not plugins:
        yield
        return
    names = " or ".join(repr(plugin.name) for plugin in plugins)
    guard = DeterminismGuard([plugin.load() for plugin in plugins])
    try:
        with guard:
            yield
    except KeyboardInterrupt:
        raise
    except PluginError:
        # A forbidden call is the reason why results differ, so it is named instead.
        if not guard.violation:
            raise
    except ValueError as error:
        # Refusals of the ledger and of the checks are sentences already.
        raise PluginError(f"plug-in {names}: {_one_line(error)}") from None
    except BaseException as error:
        raise PluginError(f"plug-in {names} raised {type(error).__name__}: {_one_line(error)}") from None
    if guard.violation:
        raise PluginError(f"plug-in {names} {guard.violation}: draw from what the call is given")


def list_installed() -> list[dict[str, str]]:
    """List what installed packages announce: group, name and target; nothing is imported."""
    return [
        {"group": group, "name": name, "target": entry.value, "version": entry.dist.version if entry.dist else "none"}
        for group in GROUPS
        for name, entry in find_installed(group).items()
    ]


def digest_of(thing: Any) -> str:
    """Compute the SHA-256 of the source of a class or function: its file, or all files of its package."""
    module = thing if isinstance(thing, ModuleType) else sys.modules.get(getattr(thing, "__module__", ""))
    known = getattr(module, "__exml_digest__", None)
    if known is not None:
        return str(known)
    top = None if module is None else sys.modules.get(module.__name__.partition(".")[0], module)
    file = getattr(top, "__file__", None)
    if top is None or file is None:
        return _digest_without_file(thing)
    home = Path(file)
    if not hasattr(top, "__path__"):
        return hashlib.sha256(home.read_bytes()).hexdigest()
    total = hashlib.sha256()
    for part in sorted(home.parent.rglob("*.py")):
        total.update(f"{part.relative_to(home.parent).as_posix()} {part.stat().st_size}\n".encode() + part.read_bytes())
    return total.hexdigest()


def _digest_without_file(thing: Any) -> str:
    """Use the source of the class, or its pickle in a session that keeps no source."""
    try:
        return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    except (OSError, TypeError):
        return hashlib.sha256(_pickled(thing)).hexdigest()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MAX_ERROR_TEXT]


def _explain(name: str, error: BaseException, what: str) -> PluginError:
    return PluginError(f"plug-in {name!r} {what} {type(error).__name__}: {_one_line(error)}")


def _import_error(name: str, error: BaseException) -> PluginError:
    if isinstance(error, PluginError):
        return error
    if isinstance(error, ModuleNotFoundError):
        return MissingPackage(f"plug-in {name!r} needs the package {error.name!r}, which is not installed here")
    return _explain(name, error, "cannot be imported:")


def _version(module: ModuleType) -> str:
    top = module.__name__.partition(".")[0]
    own = getattr(sys.modules.get(top), "__version__", None)
    if own is not None:
        return str(own)
    try:
        return "none" if top.startswith(_PREFIX) else version(top)
    except PackageNotFoundError:
        return "none"
