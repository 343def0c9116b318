"""The oracle: a plain detector that is taught the unknown objects by their labels.

The upper bound of open-world tables (Joseph et al., CVPR 2021; Zhao et al., RE-OWOD, 2022): what is
unknown at test time is one more class, and its boxes in the training images are objects as all
others. It is told what every other method must find out, and the ledger of its detections says so.
"""

from __future__ import annotations

from openset.methods._auto_label import AutoLabel
from openset.methods._spec import method


@method(
    "oracle",
    title="Oracle",
    paper="Joseph et al., Towards Open World Object Detection, CVPR 2021",
    evidence='label "unknown", and its probability as unknownness',
    leaks="taught the labels of unknown objects",
)
class Oracle(AutoLabel):
    """Objects of no known class are taught as one class more: an upper bound, no method.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        truth: A ground truth of the training images that has the unknown objects, where the
            training file does not, as in the tasks of a benchmark.
    """

    top, unknown_objects = 0, True

    def __init__(self, classes: int, width: int, truth: str = "") -> None:
        super().__init__(classes, width)
        self.unknown_truth = truth
