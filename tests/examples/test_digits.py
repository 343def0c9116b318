"""The embedded example: the digits world, whose images are drawn again from the seed."""

from openset.examples import DIGITS, DIGITS_TRUTH, DIGITS_WORLD
from openset.formats import read_annotations, read_detections
from openset.scorers import ledger
from openset.worlds.digits import DigitsWorld


def test_the_ground_truth_is_that_of_the_world():
    truth, world = read_annotations(DIGITS_TRUTH), DigitsWorld(**DIGITS_WORLD)
    for index in (0, 3, 200):
        boxes = truth.box[truth.image == index]
        drawn = [one.box for one in world.scene(index, "test").objects]
        assert sorted(map(tuple, boxes.tolist())) == sorted(tuple(map(float, b)) for b in drawn)


def test_detections_say_what_was_fitted_on_what():
    files = sorted(DIGITS.glob("*.parquet"))
    assert len(files) >= 4
    for path in files:
        found = read_detections(path)
        assert found.unknownness is not None
        assert len(found.attributes) >= 3  # scorers
        assert ledger.summary(found).endswith("no leak known")
    size = sum(path.stat().st_size for path in DIGITS.iterdir())
    assert size < 3e6
