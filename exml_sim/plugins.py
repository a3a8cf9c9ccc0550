"""Names that become objects when they are used; a room below may so reach one above, by name and never by import.

A group is a package whose modules each bring one thing: `exml_sim.strategies` has a rule per file, `exml_sim.datasets`
a population per file. The group finds them here, so that a new file needs no list to be in. Whoever takes a name (a
pool that is told "median_elimination", a study file) asks the group's `by_name` through this module, and so needs no
import of a package that is above it.

A plug-in is a thing of somebody else's: "module:attribute" from a file beside the study, from an installed module, or
announced by an entry point of its group. Its identity is its name, its version and a digest of its source.
"""

from __future__ import annotations

import hashlib
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import Any

#: Groups of entry points by which a package announces its plug-ins.
GROUPS: Sequence[str] = ("exml_sim.strategies", "exml_sim.pools", "exml_sim.scores", "theory.bounds")
#: What one thing of a group is called.
WORDS: Mapping[str, str] = dict(zip(GROUPS, ("strategy", "pool", "score", "bound"), strict=True))
#: The group of files of data, which have a digest and nothing to load.
DATA = "data"
#: Characters of an error's text that fit into a message of one line.
_MOST = 300


def by_name(group: str, name: str, **options: Any) -> Any:
    """Build what a group calls `name`.

    Examples
    --------
    >>> by_name("exml_sim.strategies", "median_elimination", accumulate=False).accumulate
    False
    """
    return import_module(group).by_name(name, **options)


def above(reference: str) -> Any:
    """A thing of the project's own by its place, "simulations.testing:check_bound"; for rooms that are below it."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def modules(group: str) -> Iterator[ModuleType]:
    """The modules of a package, by name."""
    for found in sorted(one.name for one in pkgutil.iter_modules(import_module(group).__path__)):
        yield import_module(f"{group}.{found}")


def classes(group: str, base: type) -> dict[str, type[Any]]:
    """The subclasses of `base` that the modules of a package define, each by its name in small letters: my_rule.

    Abstract ones are what others build on, not things to be had.
    """
    found = {
        _small(name): value
        for module in modules(group)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
        if value.__module__ == module.__name__ and not name.startswith("_") and not isabstract(value)
    }
    return dict(sorted(found.items()))


def _small(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class PluginError(ValueError):
    """What is wrong with a plug-in, in one line with its name."""


class MissingPackage(PluginError):
    """A plug-in imports something that is not installed where it is needed."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in that was found.

    Attributes
    ----------
    group, name
        Its group, and its name as a study has it.
    version
        That of the package that announces it, or `__version__` of its module; "none" without one.
    digest
        SHA-256 of its source: of the file, or of all Python files of its package.
    target
        "module:attribute" that is imported.
    source
        The text of a file that lies beside a study. It travels with the study to its workers.
    """

    group: str
    name: str
    version: str
    digest: str
    target: str
    source: str | None = field(default=None, compare=False, repr=False)

    def load(self) -> Any:
        """Import it.

        Raises
        ------
        PluginError
            If it cannot be imported here, has no such attribute, or is another version here than the study's.
        """
        module = self.target.partition(":")[0]
        if self.source is not None:
            return _attribute(self.name, _from_text(self.name, module, self.source, self.digest), self.target)
        found = _imported(self.name, module)
        if (module, self.digest) not in _CHECKED:
            here = _digest(found)
            if here != self.digest:
                words = f"is another version here ({here[:12]}, not {self.digest[:12]})"
                raise PluginError(f"plug-in {self.name!r} {words}")
            _CHECKED.add((module, self.digest))
        return _attribute(self.name, found, self.target)

    def facts(self) -> dict[str, str]:
        """What a store keeps of it."""
        return {"group": self.group, "name": self.name, "version": self.version, "digest": self.digest}


_FOLDERS: ContextVar[tuple[Path, ...]] = ContextVar("folders", default=())
_GIVEN: ContextVar[tuple[Plugin, ...]] = ContextVar("given", default=())
#: Modules whose source was compared in this process.
_CHECKED: set[tuple[str, str]] = set()
#: Every plug-in that this process has seen: a store that it wrote can be read without a search.
_SEEN: dict[tuple[str, str, str], Plugin] = {}


@contextmanager
def near(*folders: Path) -> Iterator[None]:
    """Look for plug-ins in these folders first (the study's own), then in the present one."""
    token = _FOLDERS.set(tuple(folders))
    try:
        yield
    finally:
        _FOLDERS.reset(token)


@contextmanager
def given(plugins: Sequence[Plugin]) -> Iterator[None]:
    """Use these plug-ins for their names; nothing is searched for them."""
    token = _GIVEN.set((*plugins, *_GIVEN.get()))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def is_plugin(group: str, name: object) -> bool:
    """Whether a name is that of a plug-in: "module:attribute", or announced by a package."""
    return isinstance(name, str) and (":" in name or name in installed(group))


def installed(group: str) -> dict[str, EntryPoint]:
    """What installed packages announce for a group, by name."""
    return {one.name: one for one in sorted(entry_points(group=group), key=lambda one: one.name)}


def find(group: str, name: str) -> Plugin:
    """The plug-in of a name: given, in a file beside the study, or installed.

    Raises
    ------
    PluginError
        If there is none, or it cannot be imported.
    """
    for one in _GIVEN.get():
        if (one.group, one.name) == (group, name):
            return one
    plugin = _found(group, name)
    plugin.load()
    _SEEN[plugin.group, plugin.name, plugin.digest] = plugin
    return plugin


def load(group: str, name: str) -> Any:
    """The object of a plug-in."""
    return find(group, name).load()


def reference(kind: type) -> str:
    """The name by which a class can be found again, "module:Class".

    Raises
    ------
    PluginError
        If it is defined inside of a function, or in a session without a file.
    """
    if "<locals>" in kind.__qualname__:
        raise PluginError(f"{kind.__qualname__} is defined inside of a function: workers cannot import it")
    module = kind.__module__
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        if file is None:
            raise PluginError(
                f"{kind.__qualname__} is defined in a session: put it into a file that workers can import"
            )
        module = Path(file).stem
    for plugin in _SEEN.values():
        if module == _place(plugin.target.partition(":")[0], plugin.digest):
            module = plugin.target.partition(":")[0]
    return f"{module}:{kind.__qualname__}"


def data(name: str) -> Plugin:
    """A file of data that a study names, by the digest of its contents; `target` is where it was found."""
    for one in _GIVEN.get():
        if (one.group, one.name) == (DATA, name):
            return one
    folders = (*_FOLDERS.get(), Path.cwd())
    file = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if file is None:
        places = ", ".join(dict.fromkeys(str(folder) for folder in folders))
        raise PluginError(f"there is no file {name!r} in {places}")
    plugin = Plugin(DATA, name, "none", hashlib.sha256(file.read_bytes()).hexdigest(), str(file.resolve()))
    _SEEN[DATA, name, plugin.digest] = plugin
    return plugin


def contents(name: str) -> bytes:
    """The bytes of a study's file of data, the same ones that the study was made with."""
    plugin = data(name)
    try:
        found = Path(plugin.target).read_bytes()
    except OSError:
        raise PluginError(f"the file {name!r} is not here: it was at {plugin.target}") from None
    if hashlib.sha256(found).hexdigest() != plugin.digest:
        raise PluginError(f"the file {name!r} has changed while the study uses it")
    return found


def again(facts: Mapping[str, str], *, strict: bool = True) -> Plugin:
    """The plug-in that a store was begun with; without `strict` as it is now.

    Raises
    ------
    PluginError
        If it is not here, or its source is another one.
    """
    key = (facts["group"], facts["name"], facts["digest"])
    if key in _SEEN:
        return _SEEN[key]
    here = data(facts["name"]) if facts["group"] == DATA else find(facts["group"], facts["name"])
    if strict and here.digest != facts["digest"]:
        raise PluginError(changed(facts, here.facts()))
    return here


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """That a plug-in is not what it was, in words."""
    what = "the file" if now["group"] == DATA else "plug-in"
    return (
        f"{what} {now['name']!r} has changed: begun with version {before['version']} ({before['digest'][:12]}), "
        f"now it is version {now['version']} ({now['digest'][:12]})"
    )


def explained(name: str, error: Exception, what: str = "raised") -> PluginError:
    """An error of somebody else's code in one line."""
    if isinstance(error, PluginError):
        return error
    text = " ".join(str(error).split())
    return PluginError(f"plug-in {name!r} {what} {type(error).__name__}: {text[:_MOST]}")


@contextmanager
def blamed(name: str) -> Iterator[None]:
    """Put the name of a plug-in before whatever goes wrong inside; names of ours are left alone."""
    try:
        yield
    except Exception as error:
        if ":" not in name and not any(one.name == name for one in _SEEN.values()):
            raise
        if isinstance(error, ValueError) and not isinstance(error, PluginError):
            # Refusals of the ledger and of the checks are sentences already.
            raise PluginError(f"plug-in {name!r}: {error}") from None
        raise explained(name, error) from None


def listing() -> list[dict[str, str]]:
    """What is installed, of all groups: group, name, version and target; a broken one says why."""
    lines = []
    for group in GROUPS:
        for name, entry in installed(group).items():
            try:
                plugin = find(group, name)
                lines.append({**plugin.facts(), "target": plugin.target})
            except PluginError as error:
                lines.append({"group": group, "name": name, "target": entry.value, "error": str(error)})
    return lines


def _found(group: str, name: str) -> Plugin:
    if ":" not in name:
        entry = installed(group).get(name)
        if entry is None:
            raise PluginError(f"there is no {WORDS[group]} {name!r}{_known(group)}")
        return _of_module(group, name, entry.value, entry.dist.version if entry.dist is not None else None)
    module, _, attribute = name.partition(":")
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", module) or not attribute.isidentifier():
        raise PluginError(f"plug-in {name!r} is no name: write it module:attribute")
    folders = (*_FOLDERS.get(), Path.cwd())
    for folder in folders:
        file = folder / f"{module}.py"
        if file.is_file():
            return _of_file(group, name, file)
    if not _exists(module):
        places = ", ".join(dict.fromkeys(str(folder) for folder in folders))
        raise PluginError(f"there is no plug-in {name!r}: no {module}.py in {places}, and no module {module}")
    return _of_module(group, name, name)


def _known(group: str) -> str:
    names = ", ".join(installed(group))
    return f": installed are {names}" if names else ", and no package announces one"


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _of_file(group: str, name: str, file: Path) -> Plugin:
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise explained(name, error, f"cannot be read from {file}:") from None
    digest = hashlib.sha256(source.encode()).hexdigest()
    module = _from_text(name, file.stem, source, digest)
    return Plugin(group, name, str(getattr(module, "__version__", "none")), digest, name, source)


def _of_module(group: str, name: str, target: str, known: str | None = None) -> Plugin:
    module = _imported(name, target.partition(":")[0])
    return Plugin(group, name, known or _version(module), _digest(module), target)


def _from_text(name: str, stem: str, source: str, digest: str) -> ModuleType:
    """The module of a text, once per content: two files of the same name in two folders are two modules."""
    place = _place(stem, digest)
    if place in sys.modules:
        return sys.modules[place]
    module = ModuleType(place)
    # Dataclasses look their module up while it is being made.
    sys.modules[place] = module
    try:
        exec(compile(source, f"{stem}.py", "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[place]
        if isinstance(error, Exception):
            raise _import_error(name, error) from None
        raise
    return module


def _place(stem: str, digest: str) -> str:
    """The name of the module of a text."""
    return f"exml_plugin_{digest[:16]}_{stem}"


def _imported(name: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except Exception as error:
        raise _import_error(name, error) from None


def _import_error(name: str, error: Exception) -> PluginError:
    if isinstance(error, ModuleNotFoundError):
        return MissingPackage(f"plug-in {name!r} needs the package {error.name!r}, which is not installed here")
    return explained(name, error, "cannot be imported:")


def _attribute(name: str, module: ModuleType, target: str) -> Any:
    found: Any = module
    for part in target.partition(":")[2].split("."):
        if not hasattr(found, part):
            public = [one for one, thing in vars(module).items() if _own(module, one, thing)]
            raise PluginError(f"plug-in {name!r} does not exist: its module has no {part}, only {', '.join(public)}")
        found = getattr(found, part)
    return found


def _own(module: ModuleType, name: str, thing: object) -> bool:
    """Whether a module offers a thing itself, and has not just imported it."""
    return not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__


def _version(module: ModuleType) -> str:
    top = module.__name__.partition(".")[0]
    if hasattr(sys.modules.get(top), "__version__"):
        return str(sys.modules[top].__version__)
    try:
        return version(top)
    except PackageNotFoundError:
        return "none"


def _digest(module: ModuleType) -> str:
    """SHA-256 of a module's file, or of all Python files of its package, each with its place."""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    file = getattr(top, "__file__", None)
    if file is None:
        return hashlib.sha256(f"{top.__name__} {_version(top)}".encode()).hexdigest()
    home = Path(file)
    if not hasattr(top, "__path__"):
        return hashlib.sha256(home.read_bytes()).hexdigest()
    total = hashlib.sha256()
    for one in sorted(home.parent.rglob("*.py")):
        total.update(f"{one.relative_to(home.parent).as_posix()} {one.stat().st_size}\n".encode() + one.read_bytes())
    return total.hexdigest()
