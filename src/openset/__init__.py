"""openset: what an object detector does with objects it was never taught.

Public names are imported on first use, so that `import openset` stays cheap.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openset.late import late
from openset.version import __version__

if TYPE_CHECKING:
    from openset.evaluation import Evaluation, Evaluator, compare, evaluate
    from openset.findings import Finding, InputError, OpenSetError, UsageError
    from openset.formats import read, write
    from openset.matching import Matches, Protocol, match
    from openset.tables import Annotations, Detections, Role, Vocabulary
    from openset.tables.check import check


# Once NumPy is imported, OpenBLAS's idle threads spin for a tenth of a second, on cores that our
# readers need just then: let them sleep after 2^20 cycles instead. Without effect later on.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")

_WHERE = {
    "evaluate": "evaluation",
    "compare": "evaluation",
    "Evaluator": "evaluation",
    "Evaluation": "evaluation",
    "read": "formats",
    "write": "formats",
    "check": "tables.check",
    "match": "matching",
    "Matches": "matching",
    "Protocol": "matching",
    "Annotations": "tables",
    "Detections": "tables",
    "Role": "tables",
    "Vocabulary": "tables",
    "Finding": "findings",
    "InputError": "findings",
    "OpenSetError": "findings",
    "UsageError": "findings",
}
__all__ = [*_WHERE, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = late(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted(__all__)
