"""Options from a file: ``openset.toml``, or ``[tool.openset]`` in ``pyproject.toml``.

The nearest of them, from the working directory upwards, counts. A table per verb, keys as the flags
are written; what is given on the command line wins. A key that is no option is an error: a
misspelt setting must not be a setting that silently does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        return toml(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the settings in {path}: {error}") from error


def check(table: Mapping[str, Any], source: Path, verb: str, arguments: ArgumentCollection) -> None:
    """Refuse keys that mean nothing."""
    from openset.cli._app import verbs

    if not isinstance(table, Mapping):
        raise UsageError(f"[tool.openset] in {source} must be a table")
    for key, value in table.items():
        lookup(dict.fromkeys(verbs()), key, f"verb in {source}:")
        if not isinstance(value, dict):
            raise UsageError(f"{key!r} in {source} must be a table of options: [{key}]")
    options = {n.removeprefix("--"): n for one in arguments for n in one.names if n[:2] == "--"}
    for key in table.get(verb, {}):
        lookup(options, key, f"option of [{verb}] in {source}:")
