"""Discovery: how a new file becomes a metric, a format, or whatever else is found by name.

A decorator tags a function or class with a record (`tag`); `discover` imports every public module
of a package, and every entry point of the group ``openset.<package>``, and collects the tagged
objects. Two objects of one name are an error, a misspelt name gets a suggestion. There is no list
to edit: adding a file is all it takes.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

from openset.findings import OpenSetError, UsageError, refuse

T = TypeVar("T")
_ATTRIBUTE = "__openset__"
_LISTED = 200  # names that an error message lists; more would bury the suggestion


class DuplicateNameError(OpenSetError):
    """Two plug-ins claim one name."""


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


def _add(found: dict[str, Any], name: str, target: Any, kind: str) -> None:
    other = found.setdefault(name, target)
    if other is not target:
        where = f"{other.__module__} and {target.__module__}"
        raise DuplicateNameError(f"two plug-ins are called {kind} {name!r}: {where}")


def _modules(package: str) -> Iterable[ModuleType]:
    root = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(root.__path__), key=lambda info: info.name):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package}.{info.name}")
    yield from _entry_points(package)


def _entry_points(group: str) -> Iterable[ModuleType]:
    if not _advertised(group):
        return
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        yield importlib.import_module(entry.module)


def _advertised(group: str) -> bool:
    """Whether any installed package offers entry points of a group.

    A look at the files is ten times faster than `importlib.metadata`, whose import alone would
    show in the start-up time of every evaluation.
    """
    if "importlib.metadata" in sys.modules:
        return True
    import glob

    section = f"[{group}]".encode()
    for folder in sys.path:
        for path in glob.iglob(f"{glob.escape(folder or '.')}/*.*-info/entry_points.txt"):  # noqa: PTH207
            with open(path, "rb") as file:  # noqa: PTH123
                if section in file.read():
                    return True
    return False


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

    close = difflib.get_close_matches(str(name), table, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    known = f" Known: {', '.join(sorted(table))}" if len(table) <= _LISTED else ""
    raise UsageError(f"unknown {what} {name!r}.{hint}{known}")


def check_installed(what: str, packages: Sequence[str]) -> None:
    """Refuse what needs packages that are not there."""
    absent = [package for package in packages if find_spec(package) is None]
    if absent:
        message = f"{what} needs {', '.join(absent)}"
        raise refuse("OS601", message, count=len(absent), example=absent[0])
