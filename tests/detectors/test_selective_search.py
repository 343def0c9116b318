"""Selective Search: the coarsest boxes first, whatever OpenCV's order; a stand-in for OpenCV."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from openset.detectors import ImageFiles, find, run
from openset.findings import InputError, UsageError

BOXES = [[5, 5, 30, 30], [0, 0, 60, 40], [5, 5, 30, 30], [1, 2, 8, 60], [0, 0, 64, 64]]


class Search:
    """What OpenCV gives: boxes in an order of chance, some of them twice."""

    def setBaseImage(self, image):
        assert image.flags.c_contiguous and image.shape == (64, 64, 3)
        self.red = image[0, 0, 2]  # OpenCV has blue first

    def switchToSingleStrategy(self):
        self.mode = "single"

    def switchToSelectiveSearchFast(self):
        self.mode = "fast"

    def process(self):
        assert self.red == 200 and self.mode in ("single", "fast")
        return np.array(BOXES, np.int32)


@pytest.fixture
def opencv(monkeypatch):
    part = SimpleNamespace(createSelectiveSearchSegmentation=Search)
    cv2 = SimpleNamespace(ximgproc=SimpleNamespace(segmentation=part), __spec__=object())
    monkeypatch.setitem(sys.modules, "cv2", cv2)
    return cv2


@pytest.fixture
def pictures(tmp_path):
    from PIL import Image

    pixels = np.full((64, 64, 3), (200, 20, 10), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "one.png")
    return ImageFiles.of(tmp_path)


@pytest.mark.parametrize("mode", ["single", "fast"])
def test_the_coarsest_boxes_come_first_and_each_once(opencv, pictures, mode):
    model = find("selective_search").build(("dog", "cat"), most=2, mode=mode)
    found = run(model, pictures, keep=())
    assert found.labels == ("object",)
    assert found.box.tolist() == [[0, 0, 64, 64], [0, 0, 60, 40]]
    assert found.score[0] > found.score[1] > 0
    every = run(find("selective_search").build(("dog",)), pictures, keep=())
    assert len(every) == 3  # one is twice there, one is too narrow


def test_by_command_it_needs_neither_weights_nor_labels(opencv, pictures, tmp_path):
    from openset.cli.run import run as verb
    from openset.formats import read_detections

    out = tmp_path / "boxes.parquet"
    answer = verb("selective_search", [pictures.path[0].parent], out=out, option=["most=1"])
    assert (
        f"next: openset train RECIPE DATA --method pad --method-option advisor={out}" in answer.text
    )
    found = read_detections(out)
    assert found.image.tolist() == ["one"] and found.box.tolist() == [[0, 0, 64, 64]]


def test_what_is_not_there_is_said(opencv, pictures):
    del opencv.ximgproc
    with pytest.raises(InputError, match=r"OS601[\s\S]*opencv-contrib"):
        run(find("selective_search").build(("dog",)), pictures, keep=())
    with pytest.raises(UsageError, match="most=0"):
        find("selective_search").build(("dog",), most=0)
