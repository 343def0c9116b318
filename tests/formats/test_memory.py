"""In-memory input: torchvision dictionaries, columns, decoded COCO; tensors by duck typing."""

import numpy as np
import pytest

import openset
from openset.formats import read_annotations, read_detections


class Tensor:
    """What a torch tensor on another device is to us."""

    def __init__(self, values, ready=False):
        self.values, self.ready = np.array(values), ready

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.values, ready=True)

    def numpy(self):
        assert self.ready
        return self.values


def test_torchvision():
    targets = [
        {"boxes": Tensor([[1, 2, 4, 6.0]]), "labels": Tensor([3]), "iscrowd": Tensor([1])},
        {"boxes": Tensor(np.zeros((0, 4))), "labels": Tensor([]), "iscrowd": Tensor([])},
        {"boxes": [[0, 0, 1, 1]], "labels": [5], "iscrowd": [0]},
    ]
    truth = read_annotations(targets)
    assert truth.box.tolist() == [[1, 2, 3, 4], [0, 0, 1, 1]]
    assert truth.category_id.tolist() == [3, 5]
    assert truth.image.tolist() == [0, 2]
    assert len(truth.images) == 3
    assert truth.crowd.tolist() == [True, False]
    named = read_annotations(targets, names={3: "cat", 5: "dog"})
    assert named.labels == ("cat", "dog")
    predictions = [
        {"boxes": Tensor([[1, 2, 4, 6.0]]), "labels": Tensor([3]), "scores": Tensor([0.5])},
        {"boxes": Tensor([]), "labels": Tensor([]), "scores": Tensor([])},
        {"boxes": [[0, 0, 1, 1]], "labels": [5], "scores": [1]},
    ]
    found = read_detections(predictions)
    assert found.label.tolist() == [3, 5]
    assert found.image.tolist() == [0, 2]
    named = read_detections(predictions, names=["a", "b", "c", "cat", "e", "dog"])
    assert np.array(named.labels)[named.label].tolist() == ["cat", "dog"]
    assert read_detections(predictions, box_format="cxcywh").box[0].tolist() == [-1, -1, 4, 6]


def test_logits_and_ids():
    item = {"boxes": [[0, 0, 1, 1]], "labels": [1], "scores": [1], "image_id": Tensor([42])}
    found = read_detections([item | {"logits": [[1.0, 2]], "unknownness": [3]}], layout="softmax")
    assert found.image.tolist() == [42]
    assert found.logits.tolist() == [[1, 2]]
    assert found.unknownness.tolist() == [3]
    assert read_detections([item | {"image_id": "a.jpg"}]).image.tolist() == ["a.jpg"]


def test_columns():
    columns = {"image": ["a", "b"], "label": ["dog", "cat"], "box": np.ones((2, 4))}
    truth = read_annotations(columns | {"images": ["a", "b", "c"], "site": [1, 2]})
    assert truth.labels == ("cat", "dog")
    assert len(truth.images) == 3
    assert truth.attributes["site"].tolist() == [1, 2]
    found = read_detections(columns | {"score": [0.5, 1]})
    assert found.labels == ("cat", "dog")
    assert found.box.tolist() == [[1, 1, 1, 1]] * 2


def test_nothing():
    assert len(read_detections([])) == len(read_annotations([])) == 0


BAD = {
    "number": (5, "OS104"),
    "numbers": ([1], "OS108"),
    "no boxes": ([{"labels": [1], "scores": [1]}], "OS107"),
    "no scores": ([{"labels": [1], "boxes": [[0, 0, 1, 1]]}], "OS107"),
    "scores too short": ([{"labels": [1], "boxes": [[0, 0, 1, 1]], "scores": []}], "OS108"),
    "column missing": ({"image": [1], "box": [[0, 0, 1, 1]], "score": [1]}, "OS107"),
    "no score column": ({"image": [1], "box": [[0, 0, 1, 1]], "label": [1]}, "OS106"),
    "ragged": ({"image": [1], "box": [[0, 0], [1]], "label": [1], "score": [1]}, "OS108"),
    "truth": ({"images": [], "annotations": []}, "OS106"),
    "boxes of three": ({"image": [1], "box": [[0, 0, 1]], "label": [1], "score": [1]}, "OS108"),
    "text": ({"image": [1], "box": [["a"] * 4], "label": [1], "score": [1]}, "OS108"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad(case):
    source, code = BAD[case]
    with pytest.raises(openset.InputError, match=code):
        read_detections(source)


def test_truth_with_scores():
    with pytest.raises(openset.InputError, match="OS105"):
        read_annotations([{"labels": [1], "boxes": [[0, 0, 1, 1]], "scores": [1]}])
    with pytest.raises(openset.InputError, match="OS112"):
        read_annotations([{"labels": [7], "boxes": [[0, 0, 1, 1]]}], names=["a"])
    with pytest.raises(openset.UsageError, match="box_format"):
        read_annotations([{"labels": [7], "boxes": [[0, 0, 1, 1]]}], box_format="xxyy")
