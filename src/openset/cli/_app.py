"""The app: every file of this package that is not private is a verb.

So is every entry point of the group ``openset.cli``, by its name. Verbs are registered by name,
without importing them: ``openset evaluate`` never imports ``draw``.
"""

from __future__ import annotations

import re
from inspect import cleandoc

from cyclopts import App, ArgumentCollection, Group, Parameter

from openset.cli import _config
from openset.cli._front import EXIT_CODES, PANELS, verbs
from openset.findings import OpenSetError, UsageError
from openset.options import is_of
from openset.plugins import PluginError, only
from openset.version import __version__

_GROUPS = {name: Group(name, sort_key=place) for place, name in enumerate(PANELS)}
_ARGUMENT = 4  # blanks before the name of an argument in a docstring


def verb(name: str, *, panel: str) -> App:
    """The app of a verb; its file decorates the function with ``@app.default``.

    Args:
        name: The verb, which is also the name of its file.
        panel: Where ``openset --help`` lists it, one of `PANELS`.
    """
    return App(name=name, group=_GROUPS[panel], help_flags=["--help", "-h"], version_flags=[])


def build() -> App:
    """The whole command line, with no verb imported yet."""
    app = App(
        name="openset",
        help_format="plaintext",
        help_epilogue=EXIT_CODES,
        version=__version__,
        version_flags=["--version"],
        help_flags=["--help", "-h"],
        group_commands=Group("Options", sort_key=99),
        default_parameter=Parameter(negative=()),
        config=(_config.apply, _refuse_fractions),
    )
    for name, homes in verbs().items():
        app.command(f"{homes[0]}:app", name=name)
    return app


def _refuse_fractions(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse a fraction where a whole number is meant; cyclopts would round it."""
    for argument in arguments:
        if is_of(0, argument.hint) and not is_of(0.5, argument.hint):
            for token in argument.tokens:
                if re.fullmatch(r"[-+]?\d*\.\d*|[-+]?[\d.]+[eE]-\d+", token.value):
                    raise UsageError(f"{argument.name} takes a whole number, not {token.value}")


def facts(name: str) -> tuple[str, str]:
    """The panel of a verb and what the verb is for, or what is wrong with it, once imported."""
    app = build()
    try:
        resolve(app, name)
    except OpenSetError as error:
        return PANELS[-1], str(error)
    groups = app[name].group
    groups = groups if isinstance(groups, tuple) else (groups,)
    panel = next(panel for panel in PANELS if _GROUPS[panel] in groups)
    return panel, (app[name].default_command.__doc__ or "").partition("\n")[0]


def resolve(app: App, name: str) -> None:
    """Import a verb; refuse one that two packages claim, or that another package has broken."""
    home = only("verb", name, verbs()[name])
    try:
        function = app[name].default_command
        if function is None:
            raise UsageError("it has no function under @app.default")
        function.__doc__ = _unwrapped(function.__doc__ or "")
    except Exception as error:
        if home == f"{__package__}.{name}":
            raise
        why = error.__cause__ or error
        raise PluginError(f"the verb {name!r} in {home} cannot be used: {why}") from error


def _unwrapped(doc: str) -> str:
    r"""A docstring with one line per paragraph and argument: help is as wide as its terminal.

    >>> print(_unwrapped("Do.\n\nA long\nstory.\n\nArgs:\n    a: One,\n        two."))
    Do.
    <BLANKLINE>
    A long story.
    <BLANKLINE>
    Args:
        a: One, two.
    """
    lines: list[str] = []
    for line in cleandoc(doc).splitlines():
        deep = len(line) - len(line.lstrip())
        if line and lines and lines[-1] and (deep == 0 or deep > _ARGUMENT):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)
