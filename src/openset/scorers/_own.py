"""Own: the unknownness that detections carry already, of a detector or an earlier scorer.

Nothing is computed; it takes the place of a scorer where only a threshold is wanted. Not a scorer
itself: what it says depends on the file, and no table of scorers could compare it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openset.findings import Finding, refuse
from openset.scorers import ledger
from openset.tables import Detections

NAME = "own"


@dataclass(frozen=True, slots=True)
class Own:
    """What detections carry, in the place of a fitted scorer.

    Attributes:
        by: Scorers that made it, in their order; none where a detector did.
    """

    by: tuple[str, ...] = ()

    @classmethod
    def of(cls, detections: Detections) -> Own:
        """What some detections carry; refused if they carry none."""
        if detections.unknownness is None:
            raise refuse(
                "OS501",
                "the detections carry no unknownness of their own",
                fix="name a scorer, --scorers energy; detectors trained by some methods say how "
                "unknown a box is (openset list methods)",
            )
        return cls(_made_by(detections))

    @property
    def name(self) -> str:
        """How it is asked for."""
        return NAME

    @property
    def about(self) -> Mapping[str, Any]:
        """What folders of parts say of it."""
        return {"scorer": NAME, "options": {}, "fitted": {"by": list(self.by)}}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Nothing is fitted."""
        return ()

    def scored(self, detections: Detections) -> Detections:
        """The detections as they are; refused if their unknownness is of something else."""
        theirs = Own.of(detections).by
        if theirs != self.by:
            said, ours = (_words(by) for by in (theirs, self.by))
            raise refuse(
                "OS503",
                "two files carry the unknownness of different scorers",
                example=f"{said}, and {ours}",
                cause="one of them was scored, the other was not, or by another scorer",
                fix="score both by one scorer: --scorers NAME with files of openset run",
            )
        return detections


def _made_by(detections: Detections) -> tuple[str, ...]:
    """Scorers by which the unknownness was made, as the ledger has them."""
    return tuple(entry.name for entry in ledger.entries(detections) if entry.step == "score")


def _words(by: tuple[str, ...]) -> str:
    return f"that of {', '.join(by)}" if by else "that of the detector"
