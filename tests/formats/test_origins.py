"""From every tool to a table: the objects and files of each give the numbers of COCO files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Namespace

import numpy as np
import pytest

import openset
from openset.formats import objects, read_annotations, read_detections, write
from openset.formats.yolo import image_folder
from scenes.builders import scene
from scenes.origins import ORIGINS, Of, fiftyone, supervision, ultralytics, write_save_txt

KNOWN = ["dog", "cat", "cow"]
OPTIONS = {"known": KNOWN, "intervals": False}


@pytest.fixture
def of():
    made = scene(3, images=12, flags=False, unknownness=False)
    for row, one in enumerate(made.found):  # ties go by image ids, which tools do not all have
        one["score"] = 0.9 * one["score"] + 1e-4 * row
    return Of(made)


def values(result):
    return {name: value.value for name, value in result.values.items()}


def same(one, other):
    assert values(one).keys() == values(other).keys()
    for name, value in values(one).items():
        assert value == pytest.approx(values(other)[name], abs=1e-9), name


@pytest.mark.parametrize("origin", ORIGINS)
def test_numbers_are_those_of_coco_files(origin, of, tmp_path):
    truth, found, options = ORIGINS[origin](of, tmp_path)
    result = openset.evaluate(truth, found, **OPTIONS, **options)
    same(result, openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS))
    assert result.provenance.counts["images"] == 12


@pytest.mark.parametrize("origin", ["ultralytics", "mmdet", "detectron2"])
def test_boxes_on_pictures_of_another_size_are_scaled(origin, of, tmp_path):
    """Where the objects say how large their picture was, and the ground truth says otherwise."""
    half = Of(scene(3, images=12, flags=False, unknownness=False))
    half.scene.found[:] = [
        {**one, "bbox": [side / 2 for side in one["bbox"]]} for one in of.scene.found
    ]
    half.images = [
        {**one, "width": one["width"] // 2, "height": one["height"] // 2} for one in of.images
    ]
    _, found, options = ORIGINS[origin](half, tmp_path)
    if origin == "detectron2":
        ids = [image["id"] for image in of.images]
        found = dict(zip(ids, found, strict=True))
    result = openset.evaluate(of.scene.truth, found, **OPTIONS, **options)
    same(result, openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS))
    (said,) = [one for one in result.findings if one.code == "OS342"]
    assert "2 of" not in said.message and "0.5 times as wide and 0.5 times as high" in said.example


def test_several_detectors_may_be_lists_of_objects(of, tmp_path):
    truth, found, options = ultralytics(of, tmp_path)
    both = {"yolo": found, "again": found}
    run = openset.evaluation.run.evaluate_all(truth, both, **OPTIONS, **options)
    assert run.names == ("yolo", "again")


def test_a_folder_of_yolo_says_what_it_leaves_open(of, tmp_path):
    folder = write_save_txt(of, tmp_path / "a")
    table = read_detections(folder)
    assert table.labels == () and table.box.max() <= 1.5
    codes = {f.code for f in openset.evaluate(of.scene.truth, folder, **OPTIONS).findings}
    assert "OS340" in codes and "OS341" not in codes
    for names in (of.names, dict(enumerate(of.names))):
        named = openset.evaluate(of.scene.truth, folder, names=names, **OPTIONS)
        assert "OS340" not in {f.code for f in named.findings}


def test_names_may_stand_in_files(of, tmp_path):
    folder = write_save_txt(of, tmp_path / "a")
    files = {
        "data.yaml": f"names: {of.names}\n",
        "names.txt": "\n".join(of.names),
        "names.json": str(of.names).replace("'", '"'),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        result = openset.evaluate(of.scene.truth, folder, names=tmp_path / name, **OPTIONS)
        same(result, openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS))


def test_names_in_another_order_are_other_classes(of, tmp_path):
    folder = write_save_txt(of, tmp_path / "a")
    turned = of.names[1:] + of.names[:1]
    wrong = openset.evaluate(of.scene.truth, folder, names=turned, force=True, **OPTIONS)
    right = openset.evaluate(of.scene.truth, folder, **OPTIONS)
    assert values(wrong)["ap_known"] < values(right)["ap_known"]


def test_predictions_without_confidence_count_as_one(of, tmp_path):
    folder = write_save_txt(of, tmp_path / "a", confidence=False)
    assert set(read_detections(folder).score.tolist()) == {1.0}
    result = openset.evaluate(of.scene.truth, folder, **OPTIONS)
    assert "OS341" in {f.code for f in result.findings}
    (folder / "data.yaml").write_text(f"names: {of.names}\nval: images\n")
    with pytest.raises(openset.InputError, match="OS106"):  # a data set, and no predictions
        read_detections(folder)


def test_what_is_left_open_is_not_written_as_if_it_were_not(of, tmp_path):
    table = read_detections(write_save_txt(of, tmp_path / "a"))
    truth = read_annotations(of.scene.truth)
    with pytest.raises(openset.InputError, match="OS110"):
        write(table, tmp_path / "b.json")
    write(table, tmp_path / "c.json", truth=truth)
    write(table, tmp_path / "d.parquet")
    asked = openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS)
    for name in ("c.json", "d.parquet"):
        same(openset.evaluate(truth, tmp_path / name, **OPTIONS), asked)


@pytest.mark.parametrize(
    "said", ["xywh-norm", {"boxes": 3}, {"boxes": "sideways"}, {"colour": "red"}, ["names"]]
)
def test_what_a_file_says_to_leave_open_must_be_so(said, of):
    table = replace(read_detections(of.scene.found), provenance={"left_open": said})
    with pytest.raises(openset.InputError, match=r"OS108.*left_open"):
        openset.evaluate(of.scene.truth, table, **OPTIONS)


def test_broken_images_where_ultralytics_opens_images(tmp_path, monkeypatch):
    """Its `Image.open` imports a decoder that need not be there, whatever the file holds."""
    from PIL import Image

    from openset.formats.imagesize import image_size
    from openset.nets.pictures import decode
    from openset.report.crops import Pixels

    def opened(path):
        raise ModuleNotFoundError("No module named 'pi_heif'")

    broken = tmp_path / "a.webp"
    broken.write_text("broken")
    monkeypatch.setattr(Image, "open", opened)
    assert image_size(broken) is None
    assert Pixels(tmp_path).crop("a.webp", (0, 0, 9, 9), (9, 9)) is None
    with pytest.raises(openset.InputError, match="OS603"):
        decode(broken)


def test_data_yaml_of_roboflow_and_absolute_paths(tmp_path):
    from PIL import Image

    root = tmp_path / "set"
    for part in ("images", "labels"):
        (root / "valid" / part).mkdir(parents=True)
    Image.new("RGB", (200, 100)).save(root / "valid/images/a.png")
    (root / "valid/labels/a.txt").write_text("0 0.5 0.5 0.1 0.2\n")
    for head in ("val: ../valid/images", f"path: {root}\nval: valid/images"):
        (root / "data.yaml").write_text(f"{head}\nnames: [dog]\n")
        assert read_annotations(root / "data.yaml").box.tolist() == [[90, 40, 20, 20]]
    (tmp_path / "elsewhere.yaml").write_text(f"path: {root}\nval: valid/images\nnames: [dog]\n")
    assert len(read_annotations(tmp_path / "elsewhere.yaml")) == 1


def listed_images(root, lines, val="val2017.txt"):
    """A data set as ultralytics' coco.yaml lays it out: lists of images, labels beside images."""
    from PIL import Image

    for stem in ("a", "b", "c"):
        for part in ("images", "labels"):
            (root / part / "val2017").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (200, 100)).save(root / f"images/val2017/{stem}.jpg")
    for stem in ("a", "c"):
        (root / f"labels/val2017/{stem}.txt").write_text("0 0.5 0.5 0.1 0.2\n")
    (root / "val2017.txt").write_text("".join(f"{line}\n" for line in lines))
    yaml = root.parent / "coco.yaml"
    yaml.write_text(f"path: {root}\nval: {val}\nnames: {{0: dog}}\n")
    return yaml


@pytest.mark.parametrize("before", ["./images/val2017/", "images/val2017/", "/"])
def test_data_yaml_with_a_list_of_images(before, tmp_path):
    start = f"{tmp_path}/coco/images/val2017/" if before == "/" else before
    yaml = listed_images(tmp_path / "coco", [f"{start}b.jpg", f"{start}a.jpg", ""])
    table = read_annotations(yaml)  # c is in the folder, and not in the list
    assert table.images.id.tolist() == ["a", "b"]
    assert table.images.file_name.tolist() == ["a.jpg", "b.jpg"]
    assert table.image.tolist() == [0] and table.box.tolist() == [[90, 40, 20, 20]]
    assert image_folder(yaml) == tmp_path / "coco/images/val2017"


def test_data_yaml_with_several_lists_and_folders(tmp_path, monkeypatch):
    line = "./images/val2017/a.jpg"
    yaml = listed_images(tmp_path / "coco", [line], "[val2017.txt, more/images]")
    (tmp_path / "coco/more/images").mkdir(parents=True)
    (tmp_path / "coco/images/val2017/b.jpg").rename(tmp_path / "coco/more/images/b.jpg")
    table = read_annotations(yaml)
    assert table.images.file_name.tolist() == ["images/val2017/a.jpg", "more/images/b.jpg"]
    assert image_folder(yaml) == tmp_path / "coco"
    monkeypatch.chdir(tmp_path)
    yaml.write_text(yaml.read_text().replace(str(tmp_path), "."))
    assert read_annotations(Path("coco.yaml")).images.file_name.tolist()[1] == "more/images/b.jpg"


@pytest.mark.parametrize(
    ("lines", "val", "said"),
    [
        (["./elsewhere/a.jpg"], "val2017.txt", "OS101.*none of 1 images"),
        (["0 0.5 0.5 0.1 0.1"], "val2017.txt", "OS108.*the path of an image"),
        ([], "nowhere.txt", "OS101.*nowhere"),
        ([], "[1]", "OS108.*list of them"),
    ],
)
def test_lists_of_images_that_are_none(lines, val, said, tmp_path):
    with pytest.raises(openset.InputError, match=said):
        read_annotations(listed_images(tmp_path / "coco", lines, val))


BAD = {
    "results of a classifier": (
        Namespace(boxes=None, orig_shape=(1, 1), names={}, path="a.jpg"),
        "OS107.*boxes",
    ),
    "a class without a name": (
        Namespace(
            boxes=Namespace(xyxy=np.zeros((1, 4)), conf=np.ones(1), cls=np.array([7.0])),
            orig_shape=(9, 9),
            names={0: "dog"},
            path="a.jpg",
        ),
        "OS112.*class",
    ),
    "a new major version": (
        Namespace(boxes=Namespace(corners=[]), orig_shape=(9, 9), names={0: "dog"}, path="a.jpg"),
        "OS107.*xyxy",
    ),
    "detections without confidence": (
        Namespace(xyxy=np.zeros((1, 4)), confidence=None, class_id=np.zeros(1, int), data={}),
        "OS107.*confidence",
    ),
    "detections without classes": (
        Namespace(xyxy=np.zeros((1, 4)), confidence=np.ones(1), class_id=None, data={}),
        "OS107.*class_id",
    ),
    "almost supervision": (
        Namespace(xyxy=np.zeros((1, 4)), class_id=np.zeros(1, int)),
        "OS108.*likely cause: it looks like supervision, but has no confidence",
    ),
    "samples without predictions": (
        Namespace(gt_instances=Namespace(), metainfo={}),
        "OS106",
    ),
    "arrays of masks": ([np.zeros((1, 7))], "OS108"),
    "ground truth of detectron2": (
        Namespace(image_size=(9, 9), gt_boxes=Namespace(tensor=np.zeros((0, 4)))),
        "OS106",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_almost_of_a_kind_is_named(case):
    source, words = BAD[case]
    with pytest.raises(openset.InputError, match=f"(?s){words}"):
        read_detections([source])


def test_results_of_arrays_are_all_called_alike(of, tmp_path):
    truth, found, _ = ultralytics(of, tmp_path)
    for one in found:
        one.path = "image0.jpg"
    with pytest.raises(openset.InputError, match="OS111"):
        read_detections(found)
    by_id = dict(zip([image["id"] for image in of.images], found, strict=True))
    same(
        openset.evaluate(truth, by_id, **OPTIONS),
        openset.evaluate(truth, of.scene.found, **OPTIONS),
    )


def test_predictions_and_targets_of_other_numbers():
    one = {"boxes": [[0, 0, 9, 9]], "labels": [1]}
    with pytest.raises(openset.InputError, match=r"OS108.*each of 2 targets"):
        openset.evaluate([one, one], [one | {"scores": [0.5]}], known=["1"])


def test_numbers_without_names_are_told_from_a_misspelt_name(of, tmp_path):
    truth, found, _ = ORIGINS["torchmetrics"](of, tmp_path)
    with pytest.raises(openset.InputError, match=r"(?s)OS310.*fix: names= says what the numbers"):
        openset.evaluate(truth, found, **OPTIONS)


def test_fiftyone_says_what_it_lacks(of, tmp_path):
    dataset, _, _ = fiftyone(of, tmp_path)
    with pytest.raises(openset.UsageError, match=r"no field 'yolo'.*ground_truth, predictions"):
        read_detections(dataset, field="yolo")
    with pytest.raises(openset.InputError, match="OS105"):
        read_annotations(dataset, field="predictions")
    dataset.samples[2]["metadata"] = None
    with pytest.raises(openset.InputError, match=r"OS110.*compute_metadata"):
        read_annotations(dataset)


def test_an_empty_coco_object_says_so():
    empty = Namespace(dataset={}, anns={}, imgs={}, cats={})
    with pytest.raises(openset.InputError, match=r"OS107.*annotations"):
        read_annotations(empty)


def test_a_pickle_is_named_and_not_opened(tmp_path):
    import pickle

    (tmp_path / "results.pkl").write_bytes(pickle.dumps([[np.zeros((1, 5))]]))
    with pytest.raises(openset.InputError, match=r"(?s)OS104.*is a pickle.*outfile_prefix"):
        read_detections(tmp_path / "results.pkl")


def test_every_kind_has_a_summary_and_fits_no_other_kind_of_input(of, tmp_path):
    for kind in objects.kinds().values():
        assert kind.summary
    for origin in ("torchvision", "coco_results"):
        _, found, _ = ORIGINS[origin](of, tmp_path)
        assert objects.recognised(found) is None
        assert not isinstance(found, list) or not any(map(objects.recognised, found))


def test_real_supervision(of, tmp_path):
    sv = pytest.importorskip("supervision")
    truth, found, options = supervision(of, tmp_path, sv.Detections)
    same(
        openset.evaluate(truth, found, **OPTIONS, **options),
        openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS),
    )
    assert len(read_detections([sv.Detections.empty()])) == 0


def test_real_ultralytics(of, tmp_path):
    engine = pytest.importorskip("ultralytics.engine.results")
    torch = pytest.importorskip("torch")
    found = []
    for image in of.images:
        corners, label, score = of.found(image)
        rows = torch.tensor(np.column_stack([corners, score, label]))
        pixels = np.zeros((image["height"], image["width"], 3), np.uint8)
        names = dict(enumerate(of.names))
        found.append(engine.Results(pixels, image["file_name"], names, boxes=rows))
    same(
        openset.evaluate(of.scene.truth, found, **OPTIONS),
        openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS),
    )
    for one in found:
        one.save_txt(str(tmp_path / "labels" / f"{one.path[:-4]}.txt"), save_conf=True)
    read = openset.evaluate(of.scene.truth, tmp_path, **OPTIONS)  # six digits of text
    assert (
        values(read)["a_ose"] == values(openset.evaluate(of.scene.truth, found, **OPTIONS))["a_ose"]
    )


def det_data_sample():
    """The class of MMDetection, whose package takes mmcv; its file takes mmengine alone."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    mmengine = pytest.importorskip("mmengine.structures", reason="MMEngine is not installed")
    package = find_spec("mmdet")
    if package is None:
        return mmengine.BaseDataElement
    (folder,) = package.submodule_search_locations
    spec = spec_from_file_location("sample", f"{folder}/structures/det_data_sample.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DetDataSample


def test_real_mmdet(of, tmp_path):
    made = det_data_sample()
    torch = pytest.importorskip("torch")
    from mmengine.structures import InstanceData

    samples = []
    for image in of.images:
        about = {"img_id": image["id"], "img_path": f"/data/{image['file_name']}"}
        sample = made(metainfo={**about, "ori_shape": (image["height"], image["width"])})
        for name, (corners, label, *score) in (
            ("gt_instances", of.truth(image)),
            ("pred_instances", of.found(image)),
        ):
            held = {"bboxes": torch.tensor(corners), "labels": torch.tensor(label)}
            held |= {"scores": torch.tensor(score[0])} if score else {}
            setattr(sample, name, InstanceData(**held))
        samples.append(sample)
    same(
        openset.evaluate(samples, samples, names=of.names, **OPTIONS),
        openset.evaluate(of.scene.truth, of.scene.found, **OPTIONS),
    )
    one = samples[0]
    del one.pred_instances
    with pytest.raises(openset.InputError, match="OS106"):
        read_detections([one])
