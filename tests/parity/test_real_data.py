"""Real data, where there is any: set OPENSET_DATA to a folder with coco/ and voc2007/ inside.

Beside it, a folder `reference/` may hold more golden numbers, on real boxes.
"""

import contextlib
import gzip
import io
import json
import os

import numpy as np
import pytest

from openset.formats import read_annotations, read_detections
from openset.matching import match
from openset.tables import Vocabulary
from scenes.golden import DATA, REFERENCE_NUMBERS, assert_agrees, rules_of
from scenes.golden_coco import stats
from scenes.golden_excluded import excluded

REAL = pytest.mark.skipif("OPENSET_DATA" not in os.environ, reason="OPENSET_DATA is not set")


def unpacked(path):
    return json.loads(gzip.decompress(path.read_bytes()))


KEYS = [key for key in REFERENCE_NUMBERS if not excluded(key)]


@REAL
@pytest.mark.parametrize("key", KEYS or [None])
def test_reference(key):
    if key is None:
        pytest.skip("there is no reference folder")
    [(rule, groups)] = rules_of(key)
    here = {"size": "@" + groups["size"]} if "size" in groups else {}  # traps bring their inputs
    got = rule.compute(**groups | here)
    if rule.tolerance is not None:
        assert_agrees(got, REFERENCE_NUMBERS[key]["value"], rule.tolerance, key)


def official(truth, found):
    coco = pytest.importorskip("pycocotools.coco")
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        ground = coco.COCO()
        ground.dataset = truth
        ground.createIndex()
        run = COCOeval(ground, ground.loadRes(found), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    return run.stats


CASES = {
    "yolox_nano": ("coco/instances_val2017_4697", "coco/yolox_nano_bbox", "coco80"),
    "yolov4tiny": ("coco/instances_val2017_4697", "coco/yolov4tiny_bbox", "coco80"),
    "yolov2": ("voc2007/voc2007_test_coco", "voc2007/yolov2_bbox", "voc20"),
}


@REAL
@pytest.mark.parametrize("name", CASES)
def test_coco_statistics(name):
    truth_file, found_file, known = CASES[name]
    truth, found = (unpacked(DATA / f"{file}.json.gz") for file in (truth_file, found_file))
    vocabulary = Vocabulary.of(known)
    matches = match(read_annotations(truth), read_detections(found), vocabulary, "coco")
    np.testing.assert_allclose(stats(matches, "known"), official(truth, found), atol=1e-12, rtol=0)
