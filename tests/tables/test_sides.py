"""Width and height of images that are exchanged, and honest files that look a little like it."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from openset.findings import Level
from openset.formats import read_annotations
from openset.tables import Detections, Vocabulary
from openset.tables.check import check, check_truth
from scenes.film import truth
from scenes.golden import DATA, file_in

KNOWN = Vocabulary.of(["dog"])
REAL = ["coco/instances_val2017_4697.json", "voc2007/voc2007_test_coco.json"]


def turned(table, images=slice(None)):
    """The same objects, with the sides of some images exchanged."""
    width, height = table.images.width.copy(), table.images.height.copy()
    width[images], height[images] = height[images], width[images].copy()
    return replace(table, images=replace(table.images, width=width, height=height))


def ending(table, rows, x, y):
    """A table some of whose boxes end at shares of their image's sides."""
    box = table.box.copy()
    size = np.column_stack([table.images.width, table.images.height])[table.image[rows]]
    box[rows] = np.hstack([size * 0.2, size * (np.array([x, y]) - 0.2)])
    return replace(table, box=box)


def said(table):
    wanted = ("OS207", "OS219", "OS251")
    return [one for one in check_truth(table, KNOWN) if one.code in wanted]


def lying(table, upright):
    """The same objects, with the sides of all images of one orientation exchanged for boxes."""
    width, height = table.images.width, table.images.height
    these = (height > width if upright else width > height)[table.image]
    box = np.where(these[:, None], table.box[:, [1, 0, 3, 2]], table.box)
    return replace(table, box=box)


@pytest.mark.parametrize("upright", [True, False])
def test_pictures_of_one_orientation_that_were_annotated_on_their_side(upright):
    (finding,) = said(lying(truth(images=200), upright))
    assert (finding.code, finding.level) == ("OS251", Level.ERROR)
    assert ("higher than wide" if upright else "wider than high") in finding.message
    assert said(truth(images=200)) == []


def test_exchanged_sides_are_named_and_nothing_else():
    (finding,) = said(turned(truth()))
    assert (finding.code, finding.level) == ("OS219", Level.ERROR)
    assert "fit when width and height are exchanged" in finding.message
    assert "exchange width and height" in finding.fix
    oblong = np.count_nonzero(truth().images.width != truth().images.height)
    assert finding.count <= oblong
    assert f"of {oblong} images" in finding.message


def test_detections_are_not_blamed_for_it():
    table = turned(truth())
    names = tuple(table.labels)
    found = Detections(
        table.images.id[table.image], table.label, table.box, [0.5] * len(table), names
    )
    assert {one.code for one in check(table, found, KNOWN)} & {"OS204", "OS207", "OS219"} == {
        "OS219"
    }


def test_true_sides_say_nothing():
    assert said(truth()) == []


def test_square_images_say_nothing():
    table = truth()
    side = np.full(len(table.images), 700.0)
    assert said(replace(table, images=replace(table.images, width=side, height=side))) == []


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
def test_honest_files_with_boxes_beyond_their_image_are_not_taken_for_it(share):
    table = truth(images=200)
    rows = np.flatnonzero(np.random.default_rng(0).random(len(table)) < share)
    below = ending(table, rows, 0.6, 1.2)  # as bodies are annotated that the border cuts
    assert not {one.code for one in said(below)} & {"OS219", "OS251"}


def test_a_few_turned_images_are_not_all():
    found = {one.code for one in said(turned(truth(), slice(0, 20)))}
    assert not found & {"OS219", "OS251"}


def test_two_images_are_too_few():
    table = truth(images=2)
    assert "OS219" not in {one.code for one in said(turned(table))}


@pytest.mark.skipif("OPENSET_DATA" not in os.environ, reason="OPENSET_DATA is not set")
@pytest.mark.parametrize("name", REAL)
def test_photographs(name):
    table = read_annotations(file_in(DATA, name))
    assert said(table) == []
    assert [one.code for one in said(turned(table))] == ["OS219"]
