"""Late names: what a package offers, imported when it is first asked for.

A package says where its names live, ``__getattr__ = late(__name__, {"write": "page"})``, and is
cheap to import: a reader of files waits for no chart, and a command line not for torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Args:
        package: Its name.
        where: Names, and the modules of the package that have them.
    """

    def attribute(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{where[name]}"), name)

    return attribute
