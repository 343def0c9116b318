"""openset: what an object detector does with objects it was never taught.

Public names are imported on first use, so that `import openset` stays cheap.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "evaluate": "openset.evaluation",
    "compare": "openset.evaluation",
    "Evaluator": "openset.evaluation",
    "Evaluation": "openset.evaluation",
    "read": "openset.formats",
    "write": "openset.formats",
    "check": "openset.tables.check",
    "match": "openset.matching",
    "Matches": "openset.matching",
    "Protocol": "openset.matching",
    "Annotations": "openset.tables",
    "Detections": "openset.tables",
    "Role": "openset.tables",
    "Vocabulary": "openset.tables",
    "Finding": "openset.findings",
    "InputError": "openset.findings",
    "OpenSetError": "openset.findings",
    "UsageError": "openset.findings",
}
__all__ = [*_WHERE, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'openset' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
