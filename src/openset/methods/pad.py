"""PAD: an advisor confirms which proposals are unknown objects, and guides the proposals.

Zhao et al., Revisiting Open World Object Detection (RE-OWOD), 2022, Section 4.1. Of the regions on
no object, those that look most like one are candidates; a candidate that a box of the advisor
overlaps is taught as unknown (confirming, Eq. 4). The best of those that are overlapped still more
counts as an object for the objectness of anchors (guiding, Eq. 5), never for their boxes. The
advisor is any table of boxes (`openset.training.advice`): Selective Search in the paper, which
``openset run selective_search`` makes, or with ``objectness`` the detector's own best proposals.
With CEC (``openset score --rule cec``) it is the paper's full method; it has no clusters.

Not as in the release: advised boxes are flipped with their image; candidates are regions on no
object; a candidate is confirmed whatever its logit (`sure=True`: only above 0, and ranked by it);
regions on objects keep their label (`overwrite=True`); what is called unknown does not teach boxes
(`unknown_boxes=True`); anchors are drawn by the same chance for boxes and objectness. Before the
start, the release teaches no unknown at all; nor does this.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from openset.detectors import BACKGROUND, Regions
from openset.findings import UsageError
from openset.methods._auto_label import AutoLabel, best
from openset.methods._spec import method
from openset.options import COUNT, SHARE, Range
from openset.training.advice import Advisor

OBJECTNESS = "objectness"
_PART = Range(most=1.0, open=True)
_ALIKE, _FIRST = 0.8, 100  # overlap with the pseudo object, and place, of what is unknown like it


@method(
    "pad",
    title="PAD",
    paper="Zhao et al., Revisiting Open World Object Detection (RE-OWOD), 2022",
    evidence='label "unknown", and its probability as unknownness; then the rule cec',
)
class Pad(AutoLabel):
    """An advisor confirms unknown regions, and guides what is proposed.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        advisor: A file of boxes, detections or a ground truth (an oracle); ``objectness`` is the
            detector's own best proposals.
        confirm: Whether unknowns need the advisor; if not, they are the `top` likeliest regions.
        guide: Whether the best confirmed region of an image counts as an object for anchors.
        most: Candidates of an image, and boxes of the advisor.
        overlap: A candidate is confirmed by an advised box that overlaps it as much.
        guide_overlap: The region that guides is overlapped as much.
        area: Advised boxes that cover this share of the image, or more, are left out.
        start: Share of the training from which on the advisor acts (50,000 of 90,000 steps).
        top: Regions of an image that are unknown where nothing is confirmed.
        without: Whether images without advice are refused, or accepted.
        sure: Confirm only what the detector takes for an object itself, as published.
        overwrite: Let the region that guides rename regions on objects, as published.
        unknown_boxes: Let unknowns teach boxes, as published.
    """

    ranges: ClassVar = {
        "most": COUNT,
        "overlap": _PART,
        "guide_overlap": _PART,
        "area": _PART,
        "start": SHARE,
        "top": COUNT,
    }

    def __init__(
        self,
        classes: int,
        width: int,
        advisor: str = OBJECTNESS,
        confirm: bool = True,
        guide: bool = True,
        most: int = 50,
        overlap: float = 0.7,
        guide_overlap: float = 0.9,
        area: float = 0.8,
        start: float = 50_000 / 90_000,
        top: int = 1,
        without: Literal["refuse", "accept"] = "refuse",
        sure: bool = False,
        overwrite: bool = False,
        unknown_boxes: bool = False,
    ) -> None:
        super().__init__(classes, width)
        if not advisor:
            raise UsageError(f"an advisor is a file of boxes, or {OBJECTNESS}")
        self.confirms, self.guides, self.own = confirm, guide, advisor == OBJECTNESS
        self.most, self.overlap, self.guide_overlap = most, overlap, guide_overlap
        self.start, self.top, self.sure, self.overwrite = start, top, sure, overwrite
        self.unknown_boxes = unknown_boxes
        if not self.own:
            self.advisor = Advisor(advisor, most, area, without)

    def relabel(self, regions: Regions, progress: float) -> Tensor:
        """Labels, with confirmed candidates unknown, and what is much like the one that guides."""
        if progress < self.start:
            return regions.label
        if not self.confirms:
            return super().relabel(regions, progress)
        unknown = self.confirmed(regions, self.overlap).isfinite()
        pseudo = self._pseudo(regions)
        alike = regions.overlaps(pseudo)[..., 0] >= _ALIKE
        alike &= regions.place < _FIRST
        if not self.overwrite:
            alike &= regions.label == BACKGROUND
        return self.named(regions, unknown | alike)

    def guide(self, regions: Regions, progress: float) -> Tensor | None:
        """The best confirmed region of each image."""
        return self._pseudo(regions) if self.guides and progress >= self.start else None

    def confirmed(self, regions: Regions, least: float) -> Tensor:
        """How good each candidate is that the advisor confirms; -inf for all others."""
        closest = regions.overlaps(self._advised(regions)).amax(-1)
        candidate = best(self.likely(regions), self.most)
        strength = regions.objectness if self.sure else regions.objectness.sigmoid()
        good = candidate & (closest >= least) & (strength > 0)
        return (strength * closest).masked_fill(~good, -torch.inf)

    def _advised(self, regions: Regions) -> Tensor:
        """Boxes of the advisor, one of them empty so that there is always one."""
        first = (regions.place < self.most)[..., None]
        given = torch.where(first, regions.box, 0.0) if self.own else regions.advised
        return torch.nn.functional.pad(given, (0, 0, 0, 1))

    def _pseudo(self, regions: Regions) -> Tensor:
        """The best confirmed region of each image, ``[images, 1, 4]``; without area if none is."""
        value, at = self.confirmed(regions, self.guide_overlap).max(1, keepdim=True)
        box = regions.box.gather(1, at[..., None].expand(-1, -1, 4))
        return torch.where(value.isfinite()[..., None], box, 0.0)
