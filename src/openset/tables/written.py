"""Written: detections as their file has them, before options said how to read it.

What `check` needs to say that another reading fits better, or that an option was given wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Annotations
from openset.tables.boxes import in_pixels
from openset.tables.detections import Detections
from openset.tables.image_ids import with_image_ids
from openset.tables.join import Joined, join
from openset.tables.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Written:
    """Detections as written, and how they are to be read.

    Attributes:
        detections: The table as the file has it.
        boxes: Convention of its boxes (see `openset.tables.boxes`).
        image_ids: What its images are called by (see `openset.tables.image_ids`).
    """

    detections: Detections
    boxes: str = "xywh"
    image_ids: str = "id"

    def read(self, truth: Annotations, vocabulary: Vocabulary) -> tuple[Detections, Joined]:
        """Detections in our conventions, and where they belong."""
        detections = with_image_ids(self.detections, truth, self.image_ids)
        joined = join(truth, detections, vocabulary)
        return in_pixels(detections, joined.image, truth, self.boxes), joined

    def select(self, rows: NDArray[np.bool_]) -> Self:
        """Some of the detections."""
        return replace(self, detections=self.detections.select(rows))
