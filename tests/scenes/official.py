"""Small data sets as they are downloaded: the folders, names and header lines of the originals.

``voc_tree`` is what the VOC archives unpack to, ``coco_file`` an ``instances_*.json``: whatever a
reader could trip over (folders beside, keys that nobody reads, ids with gaps) is there. Pictures
are noise of the stated sizes, for those who need some.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

VOC_XML = """<annotation>
	<folder>{year}</folder>
	<filename>{name}.jpg</filename>
	<source>
		<database>The VOC2007 Database</database>
		<annotation>PASCAL VOC2007</annotation>
		<image>flickr</image>
		<flickrid>341012865</flickrid>
	</source>
	<owner>
		<flickrid>Fried Camels</flickrid>
		<name>Jinky the Fruit Bat</name>
	</owner>
	<size>
		<width>353</width>
		<height>500</height>
		<depth>3</depth>
	</size>
	<segmented>0</segmented>
{objects}</annotation>
"""
VOC_OBJECT = """	<object>
		<name>{label}</name>
		<pose>Left</pose>
		<truncated>1</truncated>
		<difficult>0</difficult>
		<bndbox>
			<xmin>{x}</xmin>
			<ymin>240</ymin>
			<xmax>{end}</xmax>
			<ymax>371</ymax>
		</bndbox>
	</object>
"""
# COCO's ids have gaps; names and super-categories as in the file.
COCO = {
    1: ("person", "person"),
    3: ("car", "vehicle"),
    17: ("cat", "animal"),
    18: ("dog", "animal"),
    22: ("elephant", "animal"),
    24: ("zebra", "animal"),
    53: ("apple", "food"),
    90: ("toothbrush", "indoor"),
}


def voc_tree(folder: Path, year: str, splits: dict[str, dict[str, list[str]]]) -> Path:
    """``VOCdevkit/VOC2007``: `splits` maps a split to its images, these to labels of objects."""
    tree = folder / "VOCdevkit" / year
    for part in ("Annotations", "ImageSets/Main", "ImageSets/Layout", "JPEGImages"):
        (tree / part).mkdir(parents=True, exist_ok=True)
    for split, images in splits.items():
        # Beside every list there is one per class, with a column of signs.
        for name, sign in ((split, ""), (f"dog_{split}", " -1")):
            lines = "".join(f"{image}{sign}\n" for image in images)
            (tree / "ImageSets/Main" / f"{name}.txt").write_text(lines)
        for name, labels in images.items():
            objects = "".join(
                VOC_OBJECT.format(label=label, x=8 + 20 * at, end=20 + 20 * at)
                for at, label in enumerate(labels)
            )
            xml = VOC_XML.format(year=year, name=name, objects=objects)
            (tree / "Annotations" / f"{name}.xml").write_text(xml)
    return tree


def coco_file(path: Path, images: dict[int, list[str]]) -> Path:
    """``annotations/instances_train2017.json``: `images` maps an id to the labels of its boxes."""
    ids = {name: number for number, (name, _) in COCO.items()}
    records, boxes = [], []
    for number, labels in images.items():
        name = f"{number:012d}.jpg"
        records.append(
            {
                "license": 3,
                "file_name": name,
                "coco_url": f"http://images.cocodataset.org/train2017/{name}",
                "height": 360,
                "width": 640,
                "date_captured": "2013-11-14 11:18:45",
                "flickr_url": "http://farm9.staticflickr.com/8186/8119368305_4e622c8349_z.jpg",
                "id": number,
            }
        )
        for at, label in enumerate(labels):
            box = [10.5 + 30 * at, 20.25, 25.0, 40.0]
            boxes.append(
                {
                    "segmentation": [[box[0], 20.0, box[0] + 5, 25.0, box[0], 30.0]],
                    "area": 480.5,
                    "iscrowd": 0,
                    "image_id": number,
                    "bbox": box,
                    "category_id": ids[label],
                    "id": 900_100_000 + len(boxes),
                }
            )
    document = {
        "info": {"description": "COCO 2017 Dataset", "year": 2017, "version": "1.0"},
        "licenses": [{"url": "http://creativecommons.org/licenses/by/2.0/", "id": 4, "name": "CC"}],
        "images": records,
        "annotations": boxes,
        "categories": [
            {"supercategory": above, "id": number, "name": name}
            for number, (name, above) in COCO.items()
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def voc_pictures(tree: Path) -> None:
    """``JPEGImages`` of all that is annotated."""
    for each in sorted((tree / "Annotations").glob("*.xml")):
        picture(tree / "JPEGImages" / f"{each.stem}.jpg", (353, 500))


def coco_pictures(annotations: Path, folder: Path) -> None:
    """``train2017``, say: the pictures of an annotation file."""
    for record in json.loads(annotations.read_text())["images"]:
        picture(folder / record["file_name"], (record["width"], record["height"]))


def picture(path: Path, size: tuple[int, int]) -> None:
    """Noise, the same for the same name; coarse, so that the file is small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng([*path.stem.encode()])
    Image.fromarray(noise.integers(0, 256, (45, 80, 3), np.uint8)).resize(size).save(path)
