"""Made alike: two files of one detector whose unknownness, or boxes, were made in two ways.

Numbers of two scorers have nothing in common: pooled, they are told apart by the file that they are
in, and AUROC is that of the files. What a file does not state about itself accuses nobody.

Not the ledger, which says what was fitted on which data (`openset.scorers.ledger`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from openset.findings import refuse
from openset.tables.detections import Detections

SHOWN = ", in which are test images"  # of a split: what was fitted on is scored, too
_OF_THE_DATA = ("images", "detections", "split")  # that were scored; a fit is of its own


def refuse_made_otherwise(files: Mapping[str, Detections]) -> None:
    """Refuse files of one detector that were made in different ways, by what they are called."""
    full = [(name, found) for name, found in files.items() if len(found)]
    for name, other in full[1:]:
        for said in _apart(full[0], (name, other)):
            raise refuse("OS464", said, count=len(other), example=name)


def _apart(one: tuple[str, Detections], other: tuple[str, Detections]) -> Iterator[str]:
    """What two files have made in different ways, in words."""
    (here, a), (there, b) = one, other
    if (a.unknownness is None) != (b.unknownness is None):
        having, lacking = (here, there) if b.unknownness is None else (there, here)
        yield f"the detections of {having} have unknownness, those of {lacking} have none"
    weights = {str(found.provenance.get("weights") or "") for found in (a, b)}
    if len(weights) == 2 and all(weights):
        yield f"boxes of {here} and of {there} are of networks with other weights"
    steps = [_steps(found) for found in (a, b)]
    if all(steps) and steps[0] != steps[1]:
        scorers = [_scorer(found) for found in (a, b)]
        if scorers[0] != scorers[1]:
            yield f"unknownness of {here} is {scorers[0]}, that of {there} {scorers[1]}"
        else:
            yield f"unknownness of {here} and of {there} was made by {scorers[0]} in two ways"


def _entries(found: Detections) -> list[Mapping[str, Any]]:
    held = found.provenance.get("ledger", ())
    return [e for e in held if isinstance(e, Mapping)] if isinstance(held, (list, tuple)) else []


def _steps(found: Detections) -> list[str]:
    """Every step that led to unknownness or to labels, without what is of the scored data alone.

    A leak is of both: a threshold from the ID set leaks there, and the same one on the OOD set not.
    """
    steps = [e for e in _entries(found) if e.get("step", "taught") != "taught"]
    kept = [{k: v for k, v in e.items() if k not in _left_out(e)} for e in steps]
    return [_text(e | {"split": str(e.get("split", "")).removesuffix(SHOWN)}) for e in kept]


def _left_out(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return ("leaks", *_OF_THE_DATA) if entry["step"] == "score" else ("leaks",)


def _scorer(found: Detections) -> str:
    """The scorer of the last score; what made none has only a threshold."""
    names = [str(e.get("name", "")) for e in _entries(found) if e.get("step") == "score"]
    return names[-1] if names else "as the file has it"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
