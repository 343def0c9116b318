"""Large CSV files: the same boxes as the reader of the format, and errors that say where."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from openset.benchmarks.streaming import read_boxes
from openset.findings import InputError
from openset.formats import read_annotations
from openset.tables import Vocabulary

SPELLING = Vocabulary(tasks=())
HEADER = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsGroupOf\n"


@pytest.fixture
def boxes(tmp_path):
    rng = np.random.default_rng(0)
    lines = [HEADER]
    for n in range(300):
        x1, y1 = rng.random(2).round(4) / 2
        x2, y2 = (rng.random(2).round(4) + 1) / 2
        image, label = f"{n // 3:04x}", f"/m/{rng.integers(6)}"
        lines.append(f"{image},x,{label},1,{x1},{x2},{y1},{y2},0,{n % 2}\n")
    (tmp_path / "boxes.csv").write_text("".join(lines))
    names = "".join(
        f"/m/{n},{name}\n" for n, name in enumerate(("Ant", "Bee", "Cat", "Dog", "Elk"))
    )
    (tmp_path / "names.csv").write_text(names)
    sizes = "".join(f"{n:04x},{100 + n},{200 - n}\n" for n in range(100))
    (tmp_path / "sizes.csv").write_text("ImageID,width,height\n" + sizes)
    return tmp_path


def rows(table, wanted=None):
    images, labels = table.images.id.tolist(), table.labels
    return [
        (images[i], labels[k], [round(v, 9) for v in box], crowd)
        for i, k, box, crowd in zip(
            table.image.tolist(),
            table.label.tolist(),
            table.box.tolist(),
            table.crowd.tolist(),
            strict=True,
        )
        if wanted is None or labels[k] in wanted
    ]


@pytest.mark.parametrize("sized", [False, True])
def test_the_same_boxes_as_the_format(boxes, sized):
    options = {"descriptions": boxes / "names.csv"}
    options |= {"sizes": boxes / "sizes.csv"} if sized else {}
    wanted = ["bee", "Elk", "CAT"]
    whole = read_annotations(boxes / "boxes.csv", **options)
    some = read_boxes(boxes / "boxes.csv", wanted, SPELLING, **options)
    assert some.labels == ("Bee", "Cat", "Elk")
    assert rows(some) == rows(whole, {"Bee", "Cat", "Elk"})
    assert len(some) > 100
    assert len(some.images) == len({row[0] for row in rows(some)})


def test_all_boxes_of_listed_images(boxes):
    (boxes / "one.txt").write_text("0003\n0007\n")
    (boxes / "two.txt").write_text("0041\n")
    names = {"descriptions": boxes / "names.csv"}
    lists = [boxes / "one.txt", boxes / "two.txt"]
    some = read_boxes(boxes / "boxes.csv", ["Bee"], SPELLING, images=lists, **names)
    whole = rows(read_annotations(boxes / "boxes.csv", **names))
    named = {"Ant", "Bee", "Cat", "Dog", "Elk"}
    assert rows(some) == [r for r in whole if r[0] in ("0003", "0007", "0041") and r[1] in named]
    assert some.labels == ("Ant", "Bee", "Cat", "Dog", "Elk")


def test_compressed_files(boxes):
    packed = boxes / "boxes.csv.gz"
    packed.write_bytes(gzip.compress((boxes / "boxes.csv").read_bytes()))
    codes = ["/m/1", "/m/4"]
    assert rows(read_boxes(packed, codes, SPELLING)) == rows(
        read_boxes(boxes / "boxes.csv", codes, SPELLING)
    )


def test_labels_that_are_not_there(boxes):
    with pytest.raises(InputError, match=r"OS904(.|\n)*'Bee'"):
        read_boxes(boxes / "boxes.csv", ["Bea"], SPELLING, descriptions=boxes / "names.csv")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (HEADER.replace("XMax", "xmax") + "a,x,/m/1,1,0,1,0,1,0,0\n", "OS107"),
        (HEADER + "a,x,/m/1,1,zero,1,0,1,0,0\n", "OS102"),
        ("", "OS102"),
    ],
)
def test_files_that_are_not_right(text, code, tmp_path):
    (tmp_path / "boxes.csv").write_text(text)
    with pytest.raises(InputError, match=code):
        read_boxes(tmp_path / "boxes.csv", ["/m/1"], SPELLING)


def test_sizes_that_are_missing(boxes):
    (boxes / "sizes.csv").write_text("ImageID,width,height\n0000,10,10\n")
    with pytest.raises(InputError, match="OS110"):
        read_boxes(boxes / "boxes.csv", ["/m/1"], SPELLING, sizes=boxes / "sizes.csv")
