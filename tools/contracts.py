"""Contracts of our own for import-linter: a module whose name begins with ``_`` is its package's.

``lint-imports`` reads this file by its name in ``pyproject.toml``.
"""

from __future__ import annotations

import grimp
from importlinter import Contract, ContractCheck, output


class PrivateContract(Contract):
    """No module imports a private module (``package._name``) of another package."""

    type_name = "private"

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every import of a private module."""
        broken = [
            (importer, module)
            for module in sorted(graph.modules)
            if (owner := owner_of(module)) is not None
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not f"{importer}.".startswith(f"{owner}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which import it is, and what to do."""
        for importer, module in check.metadata["broken"]:
            output.print_error(f"{importer} imports {module}, which is private to its package")
        output.print_error("Give what many need a public name in the layer where it belongs.")


def owner_of(module: str) -> str | None:
    """The package that a private module belongs to, None if no part of its name is private.

    >>> owner_of("openset.formats._coco"), owner_of("openset.formats.coco")
    ('openset.formats', None)
    """
    parts = module.split(".")
    private = (at for at, part in enumerate(parts) if part[0] == "_" and not part.startswith("__"))
    first = next(private, None)
    return None if first is None else ".".join(parts[:first])
