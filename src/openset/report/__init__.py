"""The report: one HTML file that shows what unknown objects do to detectors.

It draws what `openset.diagnosis` finds, and finds nothing itself.
It opens from disk, loads nothing from the network, and is the same bytes for the same run.
`figures` writes its charts as PDF, SVG or PNG for a paper.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openset.report.page import write
    from openset.report.paper import figures

__all__ = ["figures", "write"]
_WHERE = {"write": "page", "figures": "paper"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
