"""The app: every file of this package that is not private is a verb.

Verbs are registered by the names of their files, without importing them: ``openset evaluate`` never
imports ``draw``. Only the list of all verbs (``openset --help``) imports all, which is why their
files import nothing heavy at the top.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from cyclopts import App, Group, Parameter

from openset.cli import _config
from openset.findings import UsageError
from openset.version import __version__

EXIT_CODES = "Exit codes: 0 computed, 1 computed and the answer is no, 2 could not compute."
PANELS = {
    name: Group(name, sort_key=place)
    for place, name in enumerate(("Measure", "Understand", "Data", "Models", "Other"))
}
_HELP = """What does an object detector do with objects it was never taught?

Start with: openset demo
Options may also be given in openset.toml, or under [tool.openset] in pyproject.toml."""


def verb(name: str, *, panel: str) -> App:
    """The app of a verb; its file decorates the function with ``@app.default``.

    Args:
        name: The verb, which is also the name of its file.
        panel: Where ``openset --help`` lists it, one of `PANELS`.
    """
    return App(name=name, group=PANELS[panel], help_flags=["--help", "-h"], version_flags=[])


@cache
def verbs() -> tuple[str, ...]:
    """Names of all verbs."""
    here = import_module(__package__).__path__
    return tuple(sorted(m.name for m in pkgutil.iter_modules(here) if not m.name.startswith("_")))


def build() -> App:
    """The whole command line, with no verb imported yet."""
    app = App(
        name="openset",
        help=_HELP,
        help_format="plaintext",
        help_epilogue=EXIT_CODES,
        version=__version__,
        version_flags=["--version"],
        help_flags=["--help", "-h"],
        group_commands=Group("Options", sort_key=99),
        default_parameter=Parameter(negative=()),
        config=_config.apply,
    )
    for name in verbs():
        app.command(f"{__package__}.{name}:app", name=name)
    return app


def complete_help(app: App) -> None:
    """Import every verb, so that the list of all can say what each is for."""
    for name in verbs():
        if app[name].default_command is None:
            raise UsageError(f"the verb {name!r} has no function")
