"""Small files in official layouts, and a clean benchmark, for the tests of this folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

LABELS = ("cat", "dog", "zebra", "car", "tree")


def coco(images, labels=LABELS, *, first_id=1, supercategory=None, names=None):
    """A COCO document: `images` maps a name to the labels of its boxes."""
    records, objects = [], []
    for number, (name, held) in enumerate(images.items(), first_id):
        records.append({"id": number, "file_name": f"{name}.jpg", "width": 100, "height": 80})
        for label in held:
            box = [5.0 * len(objects) % 50, 4.0, 20.0, 10.0]
            objects.append(
                {
                    "id": len(objects) + 1,
                    "image_id": number,
                    "category_id": labels.index(label) + 1,
                    "bbox": box,
                    "area": 200.0,
                    "iscrowd": 0,
                }
            )
    categories = [
        {"id": i, "name": label, "supercategory": (supercategory or {}).get(label, "")}
        for i, label in enumerate(labels, 1)
    ]
    return {"images": records, "annotations": objects, "categories": categories}


def write_coco(path: Path, images, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(coco(images, **options)))
    return path


# Ten images: what each holds is in its name's letters: c(at) d(og) z(ebra) a(uto) t(ree).
LETTERS = dict(zip("cdzat", LABELS, strict=True))
TEN = ("c1", "d1", "cd1", "cz1", "z1", "a1", "cda1", "zt1", "x1", "t1")


def held(name):
    return [LETTERS[letter] for letter in name[:-1] if letter in LETTERS]


def ten(folder: Path):
    return write_coco(folder / "ten.json", {name: held(name) for name in TEN})


# A clean benchmark of two tasks: cat, then dog; zebra, car and tree are never taught.
CLEAN = """
summary = "two tasks"
pretraining = ["imagenet"]
[classes]
tasks = [["cat"], ["dog"]]
[sources.mine]
path = ["all.json"]
labels = ["cat", "dog", "zebra", "car", "tree"]
[splits.test]
kind = "test"
task = [1, 2]
source = "mine"
select = [{ with = "unknown" }, { with = "known" }]
[splits.val]
kind = "val"
task = [1, 2]
source = "mine"
select = [{ not_in = ["test-t1", "test-t2"] }, { with = "new" }, { first = 1 }]
[splits.train]
kind = "train"
task = [1, 2]
source = "mine"
select = [{ not_in = ["test-t1", "test-t2", "val-t1", "val-t2"] }, { with = "new" }]
"""
HELD = ("c1", "c2", "c3", "d1", "d2", "d3", "cd1", "cz1", "dz1", "cda1", "dt1", "ct1")


def clean(folder: Path):
    """Source files and definition of the clean benchmark."""
    write_coco(folder / "all.json", {name: held(name) for name in HELD})
    (folder / "clean.toml").write_text(CLEAN)
    return folder / "clean.toml"


# How data.noun of WordNet 3.0 begins, byte for byte: each line ends in two blanks.
_LICENCE = (
    "  1 This software and database is being provided to you, the LICENSEE, by",
    "  2 Princeton University under the following license.  By obtaining, using",
    "  3 and/or copying this software and database, you agree that you have",
    "  4 read, understood, and will comply with these terms and conditions.:",
    "  5 ",
    "  6 Permission to use, copy, modify and distribute this software and",
    "  7 database and its documentation for any purpose and without fee or",
    "  8 royalty is hereby granted, provided that you agree to comply with",
    "  9 the following copyright notice and statements, including the disclaimer,",
    "  10 and that the same appear on ALL copies of the software, database and",
    "  11 documentation, including modifications that you make for internal",
    "  12 use or for distribution.",
    "  13 ",
    "  14 WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.",
    "  15 ",
    '  16 THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND PRINCETON',
    "  17 UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS OR",
    "  18 IMPLIED.  BY WAY OF EXAMPLE, BUT NOT LIMITATION, PRINCETON",
    "  19 UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES OF MERCHANT-",
    "  20 ABILITY OR FITNESS FOR ANY PARTICULAR PURPOSE OR THAT THE USE",
    "  21 OF THE LICENSED SOFTWARE, DATABASE OR DOCUMENTATION WILL NOT",
    "  22 INFRINGE ANY THIRD PARTY PATENTS, COPYRIGHTS, TRADEMARKS OR",
    "  23 OTHER RIGHTS.",
    "  24 ",
    "  25 The name of Princeton University or Princeton may not be used in",
    "  26 advertising or publicity pertaining to distribution of the software",
    "  27 and/or database.  Title to copyright in this software, database and",
    "  28 any associated documentation shall at all times remain with",
    "  29 Princeton University and LICENSEE agrees to preserve same.",
)
LICENCE = "".join(f"{line}  \n" for line in _LICENCE)


def open_images(folder, parts, names, corners=lambda at: (0.25, 0.5, 0.125, 0.75)):
    """CSV files in the layout of Open Images, with descriptions and a hierarchy.

    `parts` maps a file to its images, and these to the labels of their boxes, which lie at the
    `corners` (XMin, XMax, YMin, YMax) of their place.
    """
    codes = {name: f"/m/{number:04}" for number, name in enumerate(names)}
    with (folder / "class-descriptions-boxable.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows((code, name) for name, code in codes.items())
    below = [{"LabelName": code} for code in codes.values()]
    tree = {"LabelName": "/m/root", "Subcategory": below}
    (folder / "bbox_labels_600_hierarchy.json").write_text(json.dumps(tree))
    header = (
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,"
        "IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
    )
    clicks = [f"XClick{n}{axis}" for axis in "XY" for n in (1, 2, 3, 4)]
    for file, images in parts.items():
        more = clicks if file.startswith("oidv6-train") else []  # of v6, in that file alone
        with (folder / file).open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*header.split(","), *more])
            for image, labels in images.items():
                for at, label in enumerate(labels):
                    flags = (0, 0, int(label == "Bus"), 0, 0)
                    row = [image, "xclick", codes[label], 1, *corners(at), *flags]
                    writer.writerow([*row, *[-1.0 for _ in more]])
