"""Suspicion: what only matching can show of a file that is not what it seems.

Where boxes fit but labels do not, labels may be numbered otherwise; where wrong boxes score
highest, scores may be upside down, and so may unknownness that is lowest on unknown objects. Each
is said only where chance is no explanation, since a bad detector is no wrong file: labels that mean
another class stop an evaluation, the others are warnings. A bounded sample is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.evaluation._lost_annotations import lost_annotations
from openset.evaluation._suspicious_labels import suspicious_labels
from openset.evaluation._suspicious_names import suspicious_names
from openset.evaluation._suspicious_scores import suspicious_scores, suspicious_unknownness
from openset.findings import Finding
from openset.matching import Matches
from openset.tables import Annotations, Detections


def suspicions(
    matches: Matches,
    truth: Annotations | None = None,
    detections: Detections | None = None,
    called: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Findings about labels and scores that look exchanged.

    Args:
        matches: Everything that was matched.
        truth: The ground truth, to tell how it numbers categories; None for several of them.
        detections: What was matched with it, likewise: its labels that are unknown here.
        called: What its file calls labels that got names by an option.
    """
    if not len(matches) or not len(matches.objects):
        return []
    labels = suspicious_labels(matches, truth, detections, called or {})
    of_truth = [] if labels is not None else [suspicious_names(matches), lost_annotations(matches)]
    found = [labels, *of_truth, *suspicious_scores(matches), suspicious_unknownness(matches)]
    return [finding for finding in found if finding is not None]
