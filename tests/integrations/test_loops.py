"""In training loops: metric, callbacks and compute_metrics give the numbers of one shot."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace as Namespace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import openset
from openset.integrations.transformers import compute_metrics
from openset.integrations.ultralytics import on_val_end
from scenes import frameworks
from scenes.builders import scene
from scenes.origins import ORIGINS, Of, torchmetrics, torchvision, ultralytics

KNOWN = ["dog", "cat", "cow"]
OPTIONS = {"known": KNOWN, "metrics": ["ap_known", "a_ose", "unknown_recall", "udr"]}


@pytest.fixture
def of():
    made = scene(3, images=12, flags=False, unknownness=False)
    for row, one in enumerate(made.found):
        one["score"] = 0.9 * one["score"] + 1e-4 * row
    return Of(made)


@pytest.fixture
def whole(of):
    return openset.evaluate(of.scene.truth, of.scene.found, intervals=False, **OPTIONS).flat()


OURS = ("openset.integrations._open_set_metric", "openset.integrations._lightning_callback")


def made_anew(monkeypatch, packages):
    """Classes made again, over stand-ins for some packages; forgotten afterwards."""
    for name in OURS:
        sys.modules.pop(name, None)
    for name, module in frameworks.modules().items():
        if name.partition(".")[0] in packages:
            monkeypatch.setitem(sys.modules, name, module)
    yield
    for name in OURS:
        sys.modules.pop(name, None)


@pytest.fixture
def installed(monkeypatch):
    """The packages, or stand-ins for those that are not installed."""
    absent = [name for name in ("torchmetrics", "lightning") if find_spec(name) is None]
    yield from made_anew(monkeypatch, absent)


@pytest.fixture
def stand_ins(monkeypatch):
    """Stand-ins in any case."""
    yield from made_anew(monkeypatch, ("torchmetrics", "lightning"))


def as_floats(found):
    return {name: float(value) for name, value in found.items()}


def batches(targets, outputs, size=5):
    return [
        (outputs[at : at + size], targets[at : at + size]) for at in range(0, len(targets), size)
    ]


@pytest.mark.parametrize("origin", ["torchvision", "torchmetrics", "detectron2", "mmdet"])
def test_the_metric_is_one_shot(origin, of, whole, tmp_path, installed):
    from openset.integrations.torchmetrics import OpenSetMetric

    targets, outputs, options = ORIGINS[origin](of, tmp_path)
    metric = OpenSetMetric(**OPTIONS, **options)
    for _ in range(2):  # two epochs
        for batch in batches(targets, outputs):
            metric.update(*batch)
        assert as_floats(metric.compute()) == pytest.approx(whole)
        assert metric.evaluation.provenance.counts["images"] == 12
        metric.reset()
    assert pickle.loads(pickle.dumps(metric.settings)) == metric.settings  # as spawned loops do


def test_objects_with_names_need_the_list_of_names(of, whole, tmp_path, installed):
    from openset.integrations.torchmetrics import metric

    targets = torchmetrics(of, tmp_path)[0]
    results = ultralytics(of, tmp_path)[1]
    named = metric(**OPTIONS, names=of.names)
    named.update(results, targets)
    assert as_floats(named.compute()) == pytest.approx(whole)
    with pytest.raises(openset.UsageError, match="names= lists all classes"):
        metric(**OPTIONS).update(results, targets)


def test_images_that_two_processes_have_seen(of, whole, tmp_path, monkeypatch, stand_ins):
    """What a sampler pads with counts once, and the order of processes does not matter."""
    module = import_module(OURS[0])
    targets, outputs, options = torchvision(of, tmp_path)
    parts = [module.OpenSetMetric(**OPTIONS, **options) for _ in range(2)]
    for rank, metric in enumerate(parts):
        monkeypatch.setattr(module, "_rank", lambda rank=rank: rank)
        rows = [*range(rank, 12, 2), rank]  # each has its own, and its first image again
        rows += [0] if rank else []
        metric.update([outputs[at] for at in rows], [targets[at] for at in rows])
    for metric, other in (parts, parts[::-1]):
        metric.others = [other]
        assert as_floats(metric.compute()) == pytest.approx(whole)


def test_what_a_metric_cannot_take(of, tmp_path, installed):
    from openset.integrations.torchmetrics import OpenSetMetric

    targets, outputs, options = torchvision(of, tmp_path)
    metric = OpenSetMetric(**OPTIONS, **options)
    with pytest.raises(openset.InputError, match="OS108"):
        metric.update(outputs[:3], targets[:2])
    with pytest.raises(openset.UsageError, match="must be a number"):
        metric.update(outputs[:1], [targets[0] | {"image_id": "a.jpg"}])
    with pytest.raises(openset.InputError, match=r"OS107.*image_id"):
        bare = {key: value for key, value in targets[1].items() if key != "image_id"}
        metric.update(outputs[:2], [targets[0], bare])
    with pytest.raises(openset.UsageError, match="call update"):
        metric.compute()
    with pytest.raises(openset.UsageError, match="unknown option 'knwon'"):
        OpenSetMetric(knwon=KNOWN)


def test_the_evaluator_counts_images_and_forgets_them(of, whole, tmp_path):
    targets, outputs, options = torchmetrics(of, tmp_path)
    evaluator = openset.Evaluator(intervals=False, **OPTIONS, **options)
    for _ in range(2):
        for found, wanted in batches(targets, outputs):
            evaluator.update(wanted, found)
        assert evaluator.compute().flat() == pytest.approx(whole)
        evaluator.reset()
    with pytest.raises(openset.UsageError, match="call update"):
        evaluator.compute()


@pytest.mark.parametrize("returned", [dict, tuple])
def test_a_lightning_callback(returned, of, whole, tmp_path, installed):
    from openset.integrations.lightning import OpenSetCallback

    targets, outputs, options = torchvision(of, tmp_path)
    logged = {}
    module = Namespace(device=torch.device("cpu"), log_dict=lambda one, **_: logged.update(one))
    callback = OpenSetCallback("v/", **OPTIONS, **options)
    for checking in (True, False):
        trainer = Namespace(sanity_checking=checking)
        callback.on_validation_epoch_start(trainer, module)
        for at, (preds, target) in enumerate(batches(targets, outputs)):
            said = {"preds": preds, "target": target} if returned is dict else (preds, target)
            callback.on_validation_batch_end(trainer, module, said, None, at)
        callback.on_validation_epoch_end(trainer, module)
        assert bool(logged) is not checking
    assert as_floats(logged) == pytest.approx({f"v/{name}": one for name, one in whole.items()})
    with pytest.raises(openset.UsageError, match="validation_step must return"):
        callback.on_validation_batch_end(trainer, module, torch.zeros(()), None, 0)


class Processor:
    """Post-processing of DETR: sigmoid scores, boxes to corners of the original image."""

    def post_process_object_detection(self, outputs, threshold=0.5, target_sizes=None):
        assert threshold == 0.05
        score, label = outputs.logits.sigmoid().max(-1)
        middle, extent = outputs.pred_boxes[..., :2], outputs.pred_boxes[..., 2:]
        corners = torch.cat([middle - extent / 2, middle + extent / 2], -1)
        scale = torch.stack([*target_sizes.T.flip(0), *target_sizes.T.flip(0)], 1)[:, None]
        found = zip(score, label, corners * scale, strict=True)
        return [
            {"scores": s[s > threshold], "labels": k[s > threshold], "boxes": b[s > threshold]}
            for s, k, b in found
        ]


def as_trainer_has_it(of, size=4):
    """Predictions and targets by batch: losses, logits, boxes; and dictionaries."""
    said, wanted = [], []
    for start in range(0, len(of.images), size):
        some = of.images[start : start + size]
        logits = np.full((len(some), 12, len(of.names)), -9.0)
        boxes = np.zeros((len(some), 12, 4))
        targets = []
        for at, image in enumerate(some):
            whole = np.array([image["width"], image["height"]] * 2, float)
            corners, label, score = of.found(image)
            logits[at, np.arange(len(label)), label] = np.log(score / (1 - score))
            boxes[at, : len(label)] = centred(corners / whole)
            corners, label = of.truth(image)
            size_ = np.array([image["height"], image["width"]])
            one = {"boxes": centred(corners / whole), "class_labels": label, "orig_size": size_}
            targets.append(one | {"image_id": np.array([image["id"]])})
        said.append(({"loss": 0.1}, logits, boxes, np.zeros((len(some), 3))))
        wanted.append(targets)
    return Namespace(predictions=said, label_ids=wanted)


def centred(corners):
    return np.hstack([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]])


def test_compute_metrics_of_transformers(of, whole):
    names = dict(enumerate(of.names))
    found = compute_metrics(Processor(), names, **OPTIONS)(as_trainer_has_it(of))
    assert found == pytest.approx(whole)
    joined = Namespace(predictions=(np.zeros(3),), label_ids=np.zeros(3))
    with pytest.raises(openset.UsageError, match="eval_do_concat_batches=False"):
        compute_metrics(Processor(), names, **OPTIONS)(joined)


def test_compute_metrics_with_a_processor_of_transformers(of, whole):
    transformers = pytest.importorskip("transformers")
    processor = transformers.RTDetrImageProcessor()
    found = compute_metrics(processor, dict(enumerate(of.names)), **OPTIONS)
    assert found(as_trainer_has_it(of))["a_ose"] == pytest.approx(whole["a_ose"], abs=2)


def validator(of, **changes):
    """A validator of ultralytics 8.4 after ``model.val(save_json=True)``."""
    labels = []
    for image in of.images:
        corners, label = of.truth(image)
        whole = np.array([image["width"], image["height"]] * 2, float)
        one = {"im_file": f"/data/{image['file_name']}", "cls": label[:, None].astype(np.float32)}
        one |= {"shape": (image["height"], image["width"]), "bboxes": centred(corners / whole)}
        labels.append(one | {"normalized": True, "bbox_format": "xywh", "segments": []})
    names = {image["id"]: image["file_name"] for image in of.images}
    records = [
        {"image_id": 1, "file_name": names[one["image_id"]], "bbox": one["bbox"]}
        | {"category_id": of.number[one["category_id"]] + 1, "score": one["score"]}
        for one in of.scene.found
    ]
    made = {
        "data": {"names": dict(enumerate(of.names))},
        "dataloader": Namespace(dataset=Namespace(labels=labels)),
        "jdict": records,
        "names": dict(enumerate(of.names)),
        "class_map": list(range(1, len(of.names) + 1)),
        "args": Namespace(save_json=True),
    }
    return Namespace(**made | changes)


def test_a_callback_of_ultralytics(of, whole):
    said, done = [], validator(of)
    on_val_end(said.append, intervals=False, **OPTIONS)(done)
    assert done.openset.flat() == pytest.approx(whole) == said[0].flat()
    with pytest.raises(openset.UsageError, match="save_json=True"):
        on_val_end(**OPTIONS)(validator(of, args=Namespace(save_json=False)))
    with pytest.raises(openset.UsageError, match="has no jdict"):
        on_val_end(**OPTIONS)(validator(of, jdict=None))


def test_sizes_that_a_loader_dropped_are_those_of_the_files(of, whole, tmp_path):
    from PIL import Image

    done = validator(of)
    for one in done.dataloader.dataset.labels:
        height, width = one.pop("shape")
        one["im_file"] = str(tmp_path / one["im_file"].rpartition("/")[2])
        Image.new("RGB", (width, height)).save(one["im_file"])
    on_val_end(intervals=False, **OPTIONS)(done)
    assert done.openset.flat() == pytest.approx(whole)
