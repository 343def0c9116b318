"""LeftOpen: what a file of detections leaves to the ground truth, and how it is filled in.

Text files of YOLO have numbers of classes without names, shares of images without sizes, and maybe
no confidences. Such a table says so in its provenance, so that no number is taken for what it is
not; what the numbers mean is then said by options, or else by the ground truth, with a finding.

Not a guess about files that leave nothing open: that is for `check`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Self

from openset.findings import Finding, Level, UsageError
from openset.options import check_options
from openset.refusals import needs_sizes, wrong_type
from openset.tables.annotations import Annotations
from openset.tables.boxes import Convention, in_pixels
from openset.tables.category_ids import Positions, classes_of, with_names
from openset.tables.detections import Detections
from openset.tables.join import join_images

NUMBERED = Positions(0, groups=False)  # what numbers without names are taken for
_KEY = "left_open"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """What is open.

    Attributes:
        boxes: Convention of the boxes, empty if they are ours.
        names: Whether labels are places in a list of classes that is not there.
        scores: Whether there are no scores; they are 1 then.
    """

    boxes: str = ""
    names: bool = False
    scores: bool = False

    @classmethod
    def of(cls, detections: Detections) -> Self:
        """What a table says that it leaves open; refused if a file says it in other words."""
        held = detections.provenance.get(_KEY)
        if held is None:
            return cls()
        try:
            said = cls(**held)
            check_options("what is left open", asdict(said), cls.__init__)
            Convention.of(said.boxes or "xywh")
        except (TypeError, ValueError) as error:
            expected = "boxes, names and scores"
            raise wrong_type("the provenance", _KEY, expected, [], held, 1) from error
        return said

    def marked(self, detections: Detections) -> Detections:
        """Detections that say it; nothing if nothing is open."""
        rest = {key: value for key, value in detections.provenance.items() if key != _KEY}
        held = rest if self == LeftOpen() else {**rest, _KEY: asdict(self)}
        return replace(detections, provenance=held)

    def finished(self, detections: Detections, truth: Annotations | None) -> Detections:
        """Detections as the ground truth completes them, for a format that leaves nothing open."""
        if truth is None and self.boxes:
            raise needs_sizes("the table", len(detections), detections.image[0].item())
        if truth is None and self.names and not detections.labels:
            raise UsageError("classes are numbered and not named: pass names=, or truth=")
        if truth is None:
            return detections
        if self.names and not detections.labels:
            detections = with_names(detections, truth, NUMBERED)
        image = join_images(truth, detections.image)
        boxes = self.boxes or "xywh"
        return LeftOpen().marked(in_pixels(detections, image, truth, boxes))

    def findings(
        self, detections: Detections, truth: Annotations, *, stated: bool = False
    ) -> list[Finding]:
        """What there is to say about it: that numbers get names, unless stated; and no scores."""
        said = []
        if self.names and not (stated or detections.labels) and len(detections):
            classes = classes_of(truth)
            first = ", ".join(f"{at} is {name}" for at, name in enumerate(classes[:_SHOWN]))
            message = "classes are numbered and not named: numbers are taken for places in the "
            message += f"{len(classes)} classes of the ground truth"
            said.append(Finding("OS340", Level.WARNING, message, len(detections), first))
        if self.scores and len(detections):
            message = "detections have no confidence, and all count as 1: metrics that rank them "
            message += "(AP, AUROC, WI) mean nothing"
            example = f"image {detections.image[0]}, detection 0"
            said.append(Finding("OS341", Level.WARNING, message, len(detections), example))
        return said
