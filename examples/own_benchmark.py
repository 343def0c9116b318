"""Make an open-set benchmark of your own annotations: some classes are known, the others are not.

Change: `folder` to where your COCO file is, its name in BENCHMARK, and the known classes there.
docs/benchmarks.md explains every key. On the command line: `openset build mine.toml ...`.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from openset.benchmarks import audit, build
from openset.benchmarks.bundle import of_folder

BENCHMARK = """
summary = "cats and dogs are taught, everything else is not"
classes.known = ["cat", "dog"]
sources.mine.path = ["annotations.json"]
[splits]
test = { kind = "test", source = "mine", select = [{ annotated = true }, { share = 0.3 }] }
train = { kind = "train", source = "mine", select = [{ not_in = "test" }, { only = "known" }] }
"""
LABELS = ["cat", "dog", "zebra", "car"]
images = [{"id": i, "file_name": f"{i}.jpg", "width": 64, "height": 64} for i in range(60)]
kinds = [(i, 1 + (i + j) % 4) for i in range(60) for j in range(1 + i % 3)]
boxes = [{"image_id": i, "category_id": k, "bbox": [12 * k, 8, 8, 8]} for i, k in kinds]
toy = {"images": images, "annotations": boxes}
toy["categories"] = [{"id": i, "name": name} for i, name in enumerate(LABELS, 1)]

with TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "annotations.json").write_text(json.dumps(toy))
    (folder / "mine.toml").write_text(BENCHMARK)
    built = build(folder / "mine.toml", folder, folder / "mine")
    for split, about in built.manifest["splits"].items():
        print(f"{split}: {about['images']} images, {about['known']} known objects,", end=" ")
        print(f"{about['unknown']} unknown objects")
    print(audit(of_folder(built.folder)).text())
