"""What a detector has seen of what it is tested on is said of the whole, whatever a batch says."""

from __future__ import annotations

from dataclasses import replace

from openset.evaluation import Evaluator, evaluate
from openset.scorers.ledger import LedgerEntry, recorded
from openset.tables import Annotations, Detections, Images

FIT = LedgerEntry("fit", "knn", "train", 9, 50)
LABELS = ("dog", "cat", "unknown")
BOXES = [[0, 0, 50, 50], [100, 0, 50, 50]]


def batch(image, label):
    """A dog and an unknown object; a detector that calls the second by a label."""
    truth = Annotations(Images([image]), LABELS, [0, 0], [0, 2], BOXES)
    found = Detections([image] * 2, [0, LABELS.index(label)], BOXES, [0.9, 0.8], LABELS)
    return truth, recorded(replace(found, unknownness=[0.1, 0.9]), FIT)


def test_one_batch_acquits_no_other():
    stream = Evaluator(known=["dog"], intervals=False)
    stream.update(*batch(1, "unknown"))
    stream.update(*batch(2, "cat"))
    ledger = stream.compute().provenance.ledger
    assert ledger == (
        "knn fitted on train (9 images); "
        "LEAK: the detector was taught classes that are unknown here"
    )


def test_a_result_begins_with_it():
    taught = evaluate(*batch(1, "cat"), known=["dog"], intervals=False)
    assert repr(taught).startswith("This is not an open-set result: the detector was taught")
    honest = evaluate(*batch(1, "unknown"), known=["dog"], intervals=False)
    assert repr(honest).startswith("protocol default")
    assert honest.provenance.ledger.endswith("no leak known")
