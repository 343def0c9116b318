"""Plug-ins: how a new file becomes a metric, a format, a recipe, or whatever is found by name.

A decorator tags a function or class with a record (`tag`); `discover` imports every public module
of a package, and every entry point of the group ``openset.<package>``, and collects the tagged
objects. `documents` does the same for folders of TOML files, where an entry point names a package
whose folder holds them. `modules` only names the modules, for who imports them later.

Two of one name are an error that names both, what another package broke is an error that names it,
and a misspelt name gets a suggestion. There is no list to edit: adding a file is all it takes.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from openset.findings import OpenSetError, UsageError, refuse

T = TypeVar("T")
_ATTRIBUTE = "__openset__"
_LISTED = 200  # names that an error message lists; more would bury the suggestion
_SUFFIX = ".toml"
_EXTRAS = {"onnxruntime": "onnx"}  # that bring a package; torch is what the catalogue names


class DuplicateNameError(OpenSetError):
    """Two plug-ins claim one name."""


class PluginError(OpenSetError):
    """What was added, by a file or by another package, cannot be used."""


def tag(kind: str, record: Any) -> Callable[[T], T]:
    """Mark an object as a plug-in of `kind`; `record` must have a `name`."""

    def mark(target: T) -> T:
        setattr(target, _ATTRIBUTE, (kind, record))
        return target

    return mark


def record_of(target: object) -> Any:
    """The record an object was tagged with."""
    return getattr(target, _ATTRIBUTE)[1]


@cache
def discover(package: str, kind: str) -> Mapping[str, Any]:
    """All tagged objects of `kind` in the modules of `package` and in its entry points, by name."""
    found: dict[str, Any] = {}
    for module in _modules(package):
        for target in list(vars(module).values()):
            mark = getattr(target, _ATTRIBUTE, None)
            if isinstance(mark, tuple) and mark[0] == kind:
                _add(found, mark[1].name, target, kind)
    return found


def records(package: str, kind: str) -> Mapping[str, Any]:
    """What they were tagged with, by name, in the order of the files they live in."""
    return {name: record_of(target) for name, target in discover(package, kind).items()}


def _add(found: dict[str, Any], name: str, target: Any, kind: str) -> None:
    other = found.setdefault(name, target)
    if other is not target:
        only(kind, name, [other.__module__, target.__module__])


def only(kind: str, name: str, places: Sequence[T]) -> T:
    """The one place that claims a name, or an error that names all that do."""
    if len(places) > 1:
        raise DuplicateNameError(
            f"two plug-ins are called {kind} {name!r}: {' and '.join(map(str, places))}"
        )
    return places[0]


def modules(package: str) -> Mapping[str, Sequence[str]]:
    """The public modules of a package and of its entry points by name, none of them imported."""
    root = importlib.import_module(package)
    own = sorted(info.name for info in pkgutil.iter_modules(root.__path__))
    found = {name: [f"{package}.{name}"] for name in own if not name.startswith("_")}
    for name, module in _entry_points(package):
        found.setdefault(name, []).append(module)
    return found


def _modules(package: str) -> Iterable[ModuleType]:
    for name, places in modules(package).items():
        for place in places:
            if place.startswith(f"{package}."):
                yield importlib.import_module(place)
            else:
                yield _offered(package, name, place, importlib.import_module)


def _offered(group: str, name: str, module: str, use: Callable[[str], T]) -> T:
    """What `use` makes of the module of an entry point, whose mistakes are not ours."""
    try:
        return use(module)
    except Exception as error:
        where = f"the entry point {name!r} of the group {group!r}"
        raise PluginError(f"{where} names {module!r}, which cannot be used: {error}") from error


class Documents(Mapping[str, T]):
    """Files by name, each read when it is first asked for.

    One that is broken, or whose name is taken twice, is in the way of nobody who asks for another.
    """

    def __init__(self, paths: Mapping[str, Sequence[Path]], read: Callable[[Path], T]) -> None:
        self._paths, self._read = paths, read
        self._held: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._held:
            self._held[name] = self._from(only("file", name, self._paths[name]))
        return self._held[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def _from(self, path: Path) -> T:
        try:
            return self._read(path)
        except Exception as error:
            if str(path) in str(error):
                raise
            raise PluginError(f"{path} cannot be used: {error}") from error


def documents(package: str, read: Callable[[Path], T]) -> Documents[T]:
    """The TOML files of a folder and of its entry points by name, sorted, and what they hold.

    Args:
        package: The folder, as a package: ``openset.training.recipes``; also the group of entry
            points, each of which names a package whose folder holds such files.
        read: From a path to what is in the file.
    """
    folders = _locations(package)
    for name, module in _entry_points(package):
        folders += _offered(package, name, module, _locations)
    found: dict[str, list[Path]] = {}
    for folder in dict.fromkeys(folders):
        for path in folder.glob(f"*{_SUFFIX}"):
            found.setdefault(path.stem, []).append(path)
    return Documents(dict(sorted(found.items())), read)


def _locations(package: str) -> list[Path]:
    """The folders of a package; they must hold files, which packaging forgets easily."""
    spec = find_spec(package)
    if spec is None:
        raise UsageError("there is no such package")
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    if not any(path.suffix == _SUFFIX for folder in folders for path in folder.iterdir()):
        raise UsageError(f"its folder holds no {_SUFFIX} file; is it among the package's data?")
    return folders


def _entry_points(group: str) -> list[tuple[str, str]]:
    """Names and modules of the entry points of a group, sorted."""
    if not _advertised(group):
        return []
    from importlib.metadata import entry_points

    return sorted((entry.name, entry.module) for entry in entry_points(group=group))


def _advertised(group: str) -> bool:
    """Whether any installed package offers entry points of a group.

    A look at the files is ten times faster than `importlib.metadata`, whose import alone would
    show in the start-up time of every evaluation.
    """
    if "importlib.metadata" in sys.modules:
        return True
    return f"[{group}]".encode() in _advertisements(tuple(sys.path))


@cache
def _advertisements(folders: tuple[str, ...]) -> bytes:
    """All that installed packages say of their entry points, in one piece."""
    found = []
    for folder in folders:
        with suppress(OSError):  # not every place of the path is a folder that is there
            infos = [name for name in os.listdir(folder or ".") if name.endswith("-info")]  # noqa: PTH208
            for name in infos:
                with suppress(OSError), open(f"{folder or '.'}/{name}/entry_points.txt", "rb") as f:  # noqa: PTH123
                    found.append(f.read())
    return b"\n".join(found)


def lookup(table: Mapping[str, T], name: str, what: str) -> T:
    """`table[name]`, or an error that names the closest entries.

    >>> lookup({"coco": 1, "owod": 2}, "oword", "protocol")
    Traceback (most recent call last):
    ...
    openset.findings.UsageError: unknown protocol 'oword'. Did you mean 'owod'? ...
    """
    if isinstance(name, str) and name in table:
        return table[name]
    import difflib

    close = difflib.get_close_matches(str(name)[:200], table, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    known = f" Known: {', '.join(sorted(table))}" if len(table) <= _LISTED else ""
    raise UsageError(f"unknown {what} {name!r:.200}.{hint}{known}")


def check_installed(what: str, packages: Sequence[str], fix: str = "") -> None:
    """Refuse what needs packages that are not there."""
    absent = [package for package in packages if find_spec(package) is None]
    if absent:
        message = f"{what} needs {', '.join(absent)}"
        first, cause = absent[0], ""
        if first in _EXTRAS and not fix:
            cause = f"the core install has no {first}"
            fix = f"pip install 'openset[{_EXTRAS[first]}]'"
        raise refuse("OS601", message, count=len(absent), example=first, cause=cause, fix=fix)
