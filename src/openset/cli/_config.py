"""Options from a file: ``openset.toml``, or ``[tool.openset]`` in ``pyproject.toml``.

The nearest of them, from the working directory upwards, counts. A table per verb, keys as the flags
are written; what is given on the command line wins. A key that is no option is an error: a
misspelt setting must not be a setting that silently does nothing. What a file changes is said: on
screen, in JSON, and in the command that a run keeps.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.files import toml
from openset.findings import UsageError
from openset.plugins import lookup

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection


def apply(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what the command line left open (the signature is that of cyclopts)."""
    from cyclopts.config import Dict

    source, table = find(Path.cwd())
    if source is None or not commands:
        return
    check(table, source, commands[0], arguments)
    Dict(dict(table), source=str(source))(app, commands, arguments)


@dataclass(frozen=True, slots=True)
class Used:
    """What a file adds to a command.

    Attributes:
        file: The file.
        options: The options of the verb that the command line left open.
    """

    file: Path
    options: Mapping[str, Any]

    def __str__(self) -> str:
        from openset.json_text import plain  # which imports NumPy

        pairs = (f"{key} = {json.dumps(plain(value))}" for key, value in self.options.items())
        return f"options from {self.file}: {', '.join(pairs)}"


def used(tokens: Sequence[str]) -> Used | None:
    """What the nearest file adds to a command line, if it adds anything."""
    source, table = find(Path.cwd())
    if source is None or not tokens:
        return None
    given = {token.partition("=")[0].removeprefix("--") for token in tokens}
    held = {key: value for key, value in table.get(tokens[0], {}).items() if key not in given}
    return Used(source, held) if held else None


def command_line() -> str:
    """The command as it was typed, and what a file of settings added to it, as a comment."""
    tokens = sys.argv[1:]
    added = used(tokens)
    return shlex.join(["openset", *tokens]) + ("" if added is None else f"  # {added}")


def find(folder: Path) -> tuple[Path | None, Mapping[str, Any]]:
    """The nearest file with settings, and these."""
    for parent in (folder, *folder.parents):
        own, shared = parent / "openset.toml", parent / "pyproject.toml"
        if own.is_file():
            return own, _read(own)
        if shared.is_file():
            tool = _read(shared).get("tool", {})
            if isinstance(tool, dict) and "openset" in tool:
                return shared, tool["openset"]
    return None, {}


def _read(path: Path) -> dict[str, Any]:
    try:
        return toml(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"the settings in {path} are no UTF-8, as of Out-File of PowerShell: save them so"
        raise UsageError(message) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the settings in {path}: {error}") from error


def check(table: Mapping[str, Any], source: Path, verb: str, arguments: ArgumentCollection) -> None:
    """Refuse keys that mean nothing."""
    from openset.cli._front import verbs

    if not isinstance(table, Mapping):
        raise UsageError(f"[tool.openset] in {source} must be a table")
    for key, value in table.items():
        lookup(dict.fromkeys(verbs()), key, f"verb in {source}:")
        if not isinstance(value, dict):
            raise UsageError(f"{key!r} in {source} must be a table of options: [{key}]")
    options = {n.removeprefix("--"): n for one in arguments for n in one.names if n[:2] == "--"}
    for key in table.get(verb, {}):
        lookup(options, key, f"option of [{verb}] in {source}:")
