"""The report: one HTML file that shows what unknown objects do to detectors.

It draws what `openset.diagnosis` finds, and finds nothing itself.
It opens from disk, loads nothing from the network, and is the same bytes for the same run.
`figures` writes its charts as PDF, SVG or PNG for a paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openset.late import late

if TYPE_CHECKING:
    from openset.report.page import write
    from openset.report.paper import figures

__all__ = ["figures", "write"]
__getattr__ = late(__name__, {"write": "page", "figures": "paper"})
