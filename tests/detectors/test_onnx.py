"""Exported YOLO models: two layouts, with a session that says what it is told."""

from __future__ import annotations

import numpy as np
import pytest

from openset.detectors import _yolo, find, onnx
from openset.detectors.onnx import OnnxModel, names_in, recognised
from openset.findings import InputError
from scenes.exported_models import CELLS, SIDE, Session, yolov8_output, yolox_output

FILTERS = {"score": 0.3, "nms": 0.5, "most": 10}
KEEP = frozenset({"logits", "objectness", "region"})


def model(layout, session, labels=("cat", "dog")):
    return OnnxModel(session, labels, layout, layout == "yolox", SIDE, FILTERS)


def test_yolox_boxes_are_decoded_on_their_grid_and_scaled_to_the_image():
    image = np.zeros((32, 16, 3), np.uint8)  # scaled by two, padded at the right
    (found,) = model("yolox", Session(yolox_output())).found([image], KEEP)
    assert np.allclose(found.box, [[2, 2, 10, 18]])
    assert found.label.tolist() == [1]
    assert found.score == pytest.approx(0.72)
    assert found.attributes["objectness"] == pytest.approx(0.8)
    assert found.attributes["region"].tolist() == [9]
    assert (1 / (1 + np.exp(-found.logits)))[0] == pytest.approx([0.1, 0.9], abs=1e-6)


def test_yolov8_boxes_are_in_pixels_and_overlapping_ones_are_dropped():
    image = np.zeros((64, 32, 3), np.uint8)  # padded by 16 on either side
    (found,) = model("yolov8", Session(yolov8_output())).found([image], KEEP)
    assert np.allclose(found.box, [[8, 16, 24, 48]])
    assert found.score == pytest.approx(0.9)
    assert "objectness" not in found.attributes


def test_regions_are_what_was_not_suppressed():
    image = np.zeros((64, 32, 3), np.uint8)
    exported = model("yolov8", Session(yolov8_output()))
    with exported.unsuppressed() as filters:
        (found,) = exported.found([image], KEEP)
    assert found.score == pytest.approx([0.9, 0.7])
    assert filters._asdict() == FILTERS == exported.filters


def test_colours_and_ranges_are_those_of_the_layout():
    image = np.full((64, 64, 3), (255, 0, 51), np.uint8)
    for layout, output in (("yolox", yolox_output()), ("yolov8", yolov8_output())):
        session = Session(output)
        model(layout, session).found([image], KEEP)
        expected = [51, 0, 255] if layout == "yolox" else [1, 0, 0.2]
        assert session.seen[0][0, :, 5, 5] == pytest.approx(expected)


def test_a_fixed_batch_is_filled_up_and_cut_off():
    session = Session(yolox_output(), (2, 3, SIDE, SIDE))
    found = model("yolox", session).found([np.zeros((64, 64, 3), np.uint8)] * 3, KEEP)
    assert len(found) == 3
    assert [len(pixels) for pixels in session.seen] == [2, 2]


@pytest.mark.parametrize(
    ("layout", "output", "labels", "code"),
    [
        ("yolox", yolov8_output(), ("cat", "dog"), "OS611"),
        ("yolov8", yolox_output(), ("cat", "dog"), "OS611"),
        ("yolox", yolox_output(), ("cat", "dog", "cow"), "OS605"),
    ],
)
def test_another_layout_or_number_of_classes_is_refused(layout, output, labels, code):
    with pytest.raises(InputError, match=code):
        model(layout, Session(output), labels).found([np.zeros((9, 9, 3), np.uint8)], KEEP)


@pytest.mark.parametrize(
    "shape", [("batch", 3, SIDE, SIDE), (2, 3, SIDE, SIDE), ("b", 3, "h", "w")]
)
def test_the_shape_of_the_output_tells_the_layout(shape):
    for layout, output in (("yolox", yolox_output()), ("yolov8", yolov8_output())):
        assert recognised(Session(output, shape), SIDE) == layout
    with pytest.raises(InputError, match=r"(?s)OS611.*suppression inside"):
        recognised(Session(np.zeros((300, 6), np.float32), shape), SIDE)


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ({"names": "{0: 'dog', 1: 'cat'}"}, ("dog", "cat")),
        ({"names": "{1: 'cat'}"}, None),
        ({"names": "__import__('os')"}, None),
        ({"stride": "32"}, None),
    ],
)
def test_exports_of_ultralytics_name_their_classes(told, names, monkeypatch, tmp_path):
    session = Session(yolov8_output())
    session.get_modelmeta = lambda: type("Meta", (), {"custom_metadata_map": told})()
    monkeypatch.setattr(onnx, "_session", lambda path, device: session)
    assert names_in(tmp_path / "yolo.onnx") == names


def test_the_grid_has_one_cell_per_location():
    origin, stride = _yolo.grid((SIDE, SIDE))
    assert len(origin) == CELLS
    assert (origin[64:66] * stride[64:66, None]).tolist() == [[0, 0], [16, 0]]


def test_files_that_are_missing_or_damaged_are_refused(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    with pytest.raises(InputError, match="OS101"):
        find("yolo_onnx").build(["a"], file=str(tmp_path / "no.onnx"))
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    with pytest.raises(InputError, match="OS604"):
        find("yolo_onnx").build(["a"], file=str(tmp_path / "bad.onnx"))
