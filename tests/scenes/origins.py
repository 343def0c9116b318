"""One scene as every tool has it: the same boxes in the objects and files of other packages.

Stand-ins have the attribute names of the real classes (ultralytics 8.4, supervision 0.31, mmdet 3.3
and 2.28, detectron2 0.6, FiftyOne 1.22, pycocotools 2.0); `Tensor` is a tensor on another device.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import Any

import numpy as np

from scenes.builders import Scene


class Tensor:
    """What a torch tensor on another device is to us."""

    def __init__(self, values: Any, ready: bool = False) -> None:
        self.values, self.ready = np.array(values), ready

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return Tensor(self.values, ready=True)

    def numpy(self) -> Any:
        assert self.ready
        return self.values


class Of:
    """A scene image by image, classes counted from 0 in the order of the categories."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.names = [one["name"] for one in scene.truth["categories"]]
        self.number = {one["id"]: at for at, one in enumerate(scene.truth["categories"])}
        self.images = scene.truth["images"]

    def rows(self, image: Any, records: list[dict[str, Any]]) -> Any:
        """Corners, class numbers and scores of what is on an image."""
        here = [one for one in records if one["image_id"] == image["id"]]
        box = np.array([one["bbox"] for one in here], float).reshape(-1, 4)
        corners = np.hstack([box[:, :2], box[:, :2] + box[:, 2:]])
        label = np.array([self.number[one["category_id"]] for one in here], int)
        return corners, label, np.array([one.get("score", np.nan) for one in here], float)

    def truth(self, image: Any) -> Any:
        return self.rows(image, self.scene.truth["annotations"])[:2]

    def found(self, image: Any) -> Any:
        return self.rows(image, self.scene.found)

    def named(self, labels: Any) -> Any:
        return np.array([self.names[at] for at in labels], str)


def torchvision(of: Of, folder: Path) -> Any:
    """Targets with an id, outputs without one."""
    targets, outputs = [], []
    for image in of.images:
        boxes, labels = of.truth(image)
        size = Tensor([image["height"], image["width"]])
        target = {"boxes": Tensor(boxes), "labels": Tensor(labels), "image_id": Tensor(image["id"])}
        targets.append({**target, "orig_size": size, "masks": Tensor(np.zeros((len(boxes), 2, 2)))})
        boxes, labels, scores = of.found(image)
        outputs.append({"boxes": Tensor(boxes), "labels": Tensor(labels), "scores": Tensor(scores)})
    return targets, outputs, {"names": of.names}


def torchmetrics(of: Of, folder: Path) -> Any:
    """Dictionaries without any id."""
    targets, outputs, options = torchvision(of, folder)
    return [{k: one[k] for k in ("boxes", "labels")} for one in targets], outputs, options


def transformers(of: Of, folder: Path) -> Any:
    """What post_process_object_detection returns, beside a COCO file."""
    _, outputs, options = torchvision(of, folder)
    return of.scene.truth, outputs, {**options, "image_ids": "index"}


def ultralytics(of: Of, folder: Path, made: Callable[..., Any] = Namespace) -> Any:
    """Results, called by their files."""
    results = []
    for image in of.images:
        corners, label, score = of.found(image)
        boxes = Namespace(xyxy=Tensor(corners), conf=Tensor(score), cls=Tensor(label.astype(float)))
        results.append(
            Namespace(
                boxes=boxes,
                orig_shape=(image["height"], image["width"]),
                names=dict(enumerate(of.names)),
                path=f"/data/val/{image['file_name']}",
            )
        )
    return of.scene.truth, results, {}


def supervision(of: Of, folder: Path, made: Callable[..., Any] = Namespace) -> Any:
    """Detections by the file of their image, and without names."""
    found = {}
    for image in of.images:
        corners, label, score = of.found(image)
        found[image["file_name"]] = made(
            xyxy=corners.astype(np.float64), confidence=score, class_id=label, data={}
        )
    return of.scene.truth, found, {"names": of.names}


def supervision_dataset(of: Of, folder: Path) -> Any:
    """A DetectionDataset, and Detections in the order of its images, with names."""
    paths = [f"/data/{image['file_name']}" for image in of.images]
    held, found = {}, []
    for path, image in zip(paths, of.images, strict=True):
        corners, label = of.truth(image)
        held[path] = Namespace(xyxy=corners, confidence=None, class_id=label, data={})
        corners, label, score = of.found(image)
        data = {"class_name": of.named(label)}
        found.append(Namespace(xyxy=corners, confidence=score, class_id=label, data=data))
    truth = Namespace(classes=of.names, annotations=held, image_paths=paths)
    return truth, found, {"image_ids": "index"}


def mmdet(of: Of, folder: Path) -> Any:
    """DetDataSamples with ground truth and predictions."""
    samples = []
    for image in of.images:
        corners, label = of.truth(image)
        truth = Namespace(bboxes=Namespace(tensor=Tensor(corners)), labels=Tensor(label))
        corners, label, score = of.found(image)
        found = Namespace(bboxes=Tensor(corners), labels=Tensor(label), scores=Tensor(score))
        path = f"/data/{image['file_name']}"
        size = image["height"], image["width"]
        about = {"img_id": image["id"], "img_path": path, "ori_shape": size}
        samples.append(Namespace(gt_instances=truth, pred_instances=found, metainfo=about))
    return samples, samples, {"names": of.names}


def mmdet_results(of: Of, folder: Path) -> Any:
    """Result lists of mmdet 2: an array per class."""
    results = []
    for image in of.images:
        corners, label, score = of.found(image)
        rows = np.column_stack([corners, score])
        results.append([rows[label == at] for at in range(len(of.names))])
    return of.scene.truth, results, {"names": of.names, "image_ids": "index"}


def detectron2(of: Of, folder: Path) -> Any:
    """Data-set dictionaries, and what a model returns for each."""
    truth, found = [], []
    for image in of.images:
        objects = [
            {"bbox": one["bbox"], "bbox_mode": 1, "category_id": of.number[one["category_id"]]}
            | {"iscrowd": one.get("iscrowd", 0)}
            for one in of.scene.truth["annotations"]
            if one["image_id"] == image["id"]
        ]
        about = {"file_name": image["file_name"], "image_id": image["id"]}
        about |= {"height": image["height"], "width": image["width"]}
        truth.append(about | {"annotations": objects})
        corners, label, score = of.found(image)
        held = Namespace(
            image_size=(image["height"], image["width"]),
            pred_boxes=Namespace(tensor=Tensor(corners)),
            pred_classes=Tensor(label),
            scores=Tensor(score),
        )
        found.append({"instances": held})
    return truth, found, {"names": of.names}


def pycocotools(of: Of, folder: Path) -> Any:
    """COCO objects of the real package, which is at hand."""
    from contextlib import redirect_stdout
    from io import StringIO

    from pycocotools.coco import COCO

    truth, found = of.scene.files(folder)
    with redirect_stdout(StringIO()):
        coco = COCO(str(truth))
        return coco, coco.loadRes(str(found)), {}


class Sample(dict):  # type: ignore[type-arg]
    """A FiftyOne sample: fields by key, the rest by attribute."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def save(self) -> None:
        self["saved"] = True


class Detection(Namespace):
    """A FiftyOne detection: attributes, which may be set by key."""

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)


class Dataset:
    """A FiftyOne data set."""

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples

    def iter_samples(self, **options: Any) -> Any:
        return iter(self.samples)

    def get_field_schema(self) -> dict[str, Any]:
        return dict.fromkeys(["id", "filepath", "metadata", "ground_truth", "predictions"])


def fiftyone(of: Of, folder: Path) -> Any:
    """A data set with both fields; an image without boxes has no labels at all."""
    samples = []
    for image in of.images:
        size = Namespace(width=image["width"], height=image["height"])
        sample = Sample(filepath=f"/data/{image['file_name']}", metadata=size)
        for field, (corners, label, *score) in (
            ("ground_truth", of.truth(image)),
            ("predictions", of.found(image)),
        ):
            whole = np.array([image["width"], image["height"]] * 2)
            share = corners / whole
            share[:, 2:] -= share[:, :2]
            boxes = [
                Detection(
                    id=f"{field} {len(samples)} {at}",
                    label=of.names[one],
                    bounding_box=box.tolist(),
                    confidence=None,
                )
                for at, (one, box) in enumerate(zip(label, share, strict=True))
            ]
            for one, value in zip(boxes, score[0] if score else [], strict=bool(score)):
                one.confidence = float(value)
            sample[field] = Namespace(detections=boxes) if boxes else None
        samples.append(sample)
    made = Dataset(samples)
    return made, made, {}


def save_txt(of: Of, folder: Path) -> Any:
    """A folder of ultralytics: neither names nor sizes."""
    return of.scene.truth, write_save_txt(of, folder / "predict"), {}


def write_save_txt(of: Of, folder: Path, *, confidence: bool = True) -> Path:
    (folder / "labels").mkdir(parents=True)
    (folder / "args.yaml").write_text("task: detect\nval: true\n")
    for image in of.images:
        corners, label, score = of.found(image)
        size = np.array([image["width"], image["height"]])
        middle = (corners[:, :2] + corners[:, 2:]) / 2 / size
        extent = (corners[:, 2:] - corners[:, :2]) / size
        lines = [
            " ".join(map(repr, [int(one), *map(float, [*xy, *wh, *([s] if confidence else [])])]))
            for one, xy, wh, s in zip(label, middle, extent, score, strict=True)
        ]
        if lines:
            name = Path(image["file_name"]).stem
            (folder / "labels" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def _predict(of: Of, folder: Path) -> Path:
    """The folder of the same texts, for whichever export asks first."""
    place = folder / "predict"
    return place if place.exists() else write_save_txt(of, place)


def save_json(of: Of, folder: Path) -> Any:
    """predictions.json of ultralytics: ids from 1, images by the stem of their file."""
    stem = {image["id"]: Path(image["file_name"]).stem for image in of.images}
    found = [
        {
            "image_id": stem[one["image_id"]],
            "file_name": f"{stem[one['image_id']]}.jpg",
            "category_id": of.number[one["category_id"]] + 1,
            "bbox": one["bbox"],
            "score": one["score"],
        }
        for one in of.scene.found
    ]
    path = folder / "predictions.json"
    path.write_text(json.dumps(found))
    return of.scene.truth, path, {"category_ids": "index1"}


def coco_results(of: Of, folder: Path) -> Any:
    """results.bbox.json of mmdet, coco_instances_results.json of detectron2."""
    path = folder / "results.bbox.json"
    path.write_text(json.dumps(of.scene.found))
    return of.scene.truth, path, {}


def label_studio(of: Of, folder: Path) -> Any:
    """An export of COCO kind: ids from 0, uploaded files have a prefix."""
    truth = of.scene.truth
    images = [
        {"width": one["width"], "height": one["height"], "id": one["id"]}
        | {"file_name": f"images/{at:08x}-{one['file_name']}"}
        for at, one in enumerate(truth["images"])
    ]
    objects = [
        {**one, "category_id": of.number[one["category_id"]], "segmentation": [], "ignore": 0}
        for one in truth["annotations"]
    ]
    categories = [{"id": at, "name": name} for at, name in enumerate(of.names)]
    info = {"year": 2026, "version": "1.0", "contributor": "Label Studio"}
    document = {"images": images, "categories": categories, "annotations": objects, "info": info}
    path = folder / "result.json"
    path.write_text(json.dumps(document))
    return path, _predict(of, folder), {"image_ids": "upload"}


def cvat(of: Of, folder: Path) -> Any:
    """An export of COCO kind: attributes beside every box, licences that say nothing."""
    truth = of.scene.truth
    empty = {"license": 0, "flickr_url": "", "coco_url": "", "date_captured": 0}
    said = {"segmentation": [], "attributes": {"occluded": False, "rotation": 0.0}}
    document = {
        "licenses": [{"name": "", "id": 0, "url": ""}],
        "info": {"contributor": "", "date_created": "", "description": "", "url": ""},
        "categories": [{**one, "supercategory": ""} for one in truth["categories"]],
        "images": [{**one, **empty} for one in truth["images"]],
        "annotations": [{**one, **said} for one in truth["annotations"]],
    }
    path = folder / "instances_default.json"
    path.write_text(json.dumps(document))
    return path, of.scene.found, {}


def roboflow(of: Of, folder: Path) -> Any:
    """An export of COCO kind: names that a hash was put behind, and a class of all as the first."""
    truth = of.scene.truth
    everything = {"id": 0, "name": "objects", "supercategory": "none"}
    document = {
        "info": {"year": "2026", "version": "1", "contributor": "", "url": ""},
        "licenses": [{"id": 1, "url": "", "name": "Private"}],
        "categories": [
            everything,
            *(
                {"id": at + 1, "name": name, "supercategory": "objects"}
                for at, name in enumerate(of.names)
            ),
        ],
        "images": [
            {**one, "license": 1, "file_name": version(one["file_name"], at)}
            | {"extra": {"name": one["file_name"]}}
            for at, one in enumerate(truth["images"])
        ],
        "annotations": [
            {**one, "category_id": of.number[one["category_id"]] + 1, "segmentation": []}
            for one in truth["annotations"]
        ],
    }
    path = folder / "_annotations.coco.json"
    path.write_text(json.dumps(document))
    return path, _predict(of, folder), {"image_ids": "roboflow"}


def version(name: str, at: int) -> str:
    """What Roboflow calls a picture that it exports."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}_{suffix}.rf.{at:032x}.{suffix}"


ORIGINS: dict[str, Callable[[Of, Path], Any]] = {
    one.__name__: one
    for one in (
        torchvision,
        torchmetrics,
        transformers,
        ultralytics,
        save_txt,
        save_json,
        supervision,
        supervision_dataset,
        mmdet,
        mmdet_results,
        detectron2,
        coco_results,
        pycocotools,
        fiftyone,
        label_studio,
        cvat,
        roboflow,
    )
}
