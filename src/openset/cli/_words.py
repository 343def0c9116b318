"""Words: what options mean, of verbs and of what plug-ins are called with.

Taken from where they are defined, the arguments of functions and their docstrings, so that
`openset explain` knows each as soon as it can be written on a command line or in a file.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from openset.cli._app import build, resolve
from openset.cli._front import verbs
from openset.findings import OpenSetError

Rows = Mapping[str, Mapping[str, Any]]
# Packages whose records have options, and what one of them is called.
_OPTIONED = {
    "scorers": "scorer",
    "detectors": "detector",
    "methods": "method",
    "worlds": "world",
    "recognition.methods": "classifier's method",
}


def verb_rows() -> Rows:
    """What each verb is for."""
    return {
        name: {"summary": inspect.cleandoc(function.__doc__ or "").partition("\n")[0]}
        for name, function in sorted(_functions())
    }


def option_rows() -> Rows:
    """What each option means, by what takes it; where several say the same, once."""
    said: dict[str, dict[str, list[str]]] = {}
    for name, owner, meaning in (*_of_verbs(), *_of_plugins()):
        if meaning:
            said.setdefault(name, {}).setdefault(meaning, []).append(owner)
    return {
        name: {"summary": "; ".join(f"{', '.join(of)}: {text}" for text, of in told.items())}
        for name, told in sorted(said.items())
    }


def _functions() -> Iterator[tuple[str, Any]]:
    app = build()
    for name in verbs():
        resolve(app, name)
        yield name, app[name].default_command


def _of_verbs() -> Iterator[tuple[str, str, str]]:
    from openset.explain import arguments_in

    for verb, function in _functions():
        for name, meaning in arguments_in(function.__doc__ or "").items():
            if inspect.signature(function).parameters[name].kind is inspect.Parameter.KEYWORD_ONLY:
                yield name.replace("_", "-"), f"openset {verb}", meaning.rstrip(".")


def _of_plugins() -> Iterator[tuple[str, str, str]]:
    from openset.explain import arguments_in

    for package, kind in _OPTIONED.items():
        try:
            table = import_module(f"openset.{package}").table()
        except (ImportError, OpenSetError):  # an extra is not installed
            continue
        for record in table.values():
            meant = arguments_in(getattr(record, "doc", ""))
            for name, usual in getattr(record, "options", {}).items():
                told = meant.get(name, "").rstrip(".")
                default = "" if usual is None else f"{usual!r} by default"
                yield name, f"{kind} {record.name}", ", ".join(filter(None, [told, default]))
