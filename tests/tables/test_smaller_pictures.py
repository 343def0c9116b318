"""Objects that end where a smaller picture would: boxes were resized, stated sizes were not."""

import numpy as np
import pytest

from openset import check
from openset.tables import Annotations, Images, Vocabulary

SIZES = np.array([[500.0, 375], [375, 500], [500, 333]])


def annotated(by=None, inner=0.0, count=300, at_left=True):
    """Objects anywhere, cut by the borders; resized by a factor of their image."""
    rng = np.random.default_rng(4)
    image = np.arange(count) % 60
    size = SIZES[image % len(SIZES)]
    low = rng.uniform(-0.2 if at_left else 0.2, 1, (count, 2)) * size
    high = low + rng.uniform(0.05, 0.6, (count, 2)) * size
    low, high = (np.clip(x, inner * size, (1 - inner) * size) for x in (low, high))
    box = np.column_stack([low, high - low])[keep := ((high - low) > 4).all(axis=1)]
    box = box if by is None else box * by(size[keep])[:, None]
    width, height = SIZES[np.arange(60) % len(SIZES)].T
    images = Images(np.arange(60), None, width, height)
    return Annotations(images, ("dog", "unknown"), image[keep], image[keep] % 2, box)


def said(truth):
    return [one for one in check(truth, None, Vocabulary.of(["dog"])) if one.code == "OS241"]


@pytest.mark.parametrize(
    "by",
    [lambda s: 256 / s.max(axis=1), lambda s: np.full(len(s), 0.5), lambda s: 300 / s.min(axis=1)],
    ids=["longer side", "half", "shorter side"],
)
def test_boxes_that_were_resized_are_named_and_sizes_that_fit_are_right(by):
    wrong = annotated(by)
    (one,) = said(wrong)
    assert one.level == "warning" and "hardly any ends at the right or the bottom" in one.message
    images, sizes = wrong.images, SIZES[np.arange(60) % len(SIZES)]
    width, height = (sizes * by(sizes)[:, None]).T
    fixed = Images(images.id, None, width, height)
    assert not said(Annotations(fixed, wrong.labels, wrong.image, wrong.label, wrong.box))


@pytest.mark.parametrize(
    "honest",
    [
        {},
        {"inner": 0.1},  # cells in the middle, none at a border
        {"count": 12},
        {"by": lambda s: 1.1 * np.ones(len(s))},
        {"at_left": False},  # what stands at the right
    ],
    ids=["all borders", "the middle", "few", "larger", "from the right"],
)
def test_objects_that_reach_every_border_or_none_are_no_finding(honest):
    assert not said(annotated(**honest))
