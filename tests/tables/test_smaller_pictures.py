"""Objects that end where a smaller picture would: boxes were resized, stated sizes were not."""

import numpy as np
import pytest

from openset import check, evaluate
from openset.evaluation.run import evaluate_all
from openset.formats import write
from openset.tables import Annotations, Detections, Images, Vocabulary

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


@pytest.fixture
def resized():
    """A ground truth of pictures half as large, and detections in the sizes that it states."""
    whole = annotated()
    score = np.linspace(0.9, 0.1, len(whole))
    return annotated(lambda s: np.full(len(s), 0.5)), Detections(
        whole.images.id[whole.image], whole.label, whole.box + 0.4, score, labels=whole.labels
    )


def test_what_detections_say_better_is_said_once(resized, tmp_path, openset):
    truth, found = resized
    vocabulary = Vocabulary.of(["dog"])
    codes = {one.code for one in check(truth, found, vocabulary)}
    assert "OS430" in codes and "OS241" not in codes
    forced = evaluate(truth, found, known=["dog"], force=True, intervals=False)
    run = evaluate_all(truth, {"a": found}, known=["dog"], force=True, intervals=False)
    for said_of in (forced.findings, run.evaluations["a"].findings):
        assert "OS430" in {one.code for one in said_of}
        assert "OS241" not in {one.code for one in said_of}
    assert "OS241" not in {one.code for one in run.truth_findings}
    write(truth, tmp_path / "gt.json")
    write(found, tmp_path / "dt.parquet")
    assert "OS241" in openset("check", "gt.json", "--known", "dog").out
    both = openset("check", "gt.json", "dt.parquet", "--known", "dog")
    assert both.code == 1 and "OS430" in both.out and "OS241" not in both.out
