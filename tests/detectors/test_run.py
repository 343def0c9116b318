"""Running a model over files: tables that join, evidence that survives, bad images as findings."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from openset.detectors import Found, ImageFiles, find, run, table
from openset.findings import InputError, UsageError
from openset.formats import read_detections, write
from openset.tables import Annotations, Images, LogitLayout


class Brightness:
    """Finds one box per image, whose score is the mean of the pixels; two on bright images."""

    labels = ("dark", "bright")
    layout = LogitLayout.SIGMOID

    def __init__(self):
        self.about = {}

    def found(self, images, keep):
        return [self._one(image) for image in images]

    def _one(self, image):
        mean = np.float32(image.mean() / 255)
        count = 2 if mean > 0.5 else 1
        box = np.tile(np.array([1, 2, 4, 8], np.float32), (count, 1))
        logits = np.stack([np.array([1 - mean, mean], np.float32)] * count)
        label = np.full(count, int(mean > 0.5))
        extra = {"objectness": np.full(count, mean)}
        return Found(box, np.full(count, mean), label, logits, attributes=extra)


@pytest.fixture
def folder(tmp_path):
    for name, grey in (("a", 10), ("b", 250), ("c", 100)):
        Image.fromarray(np.full((8, 9, 3), grey, np.uint8)).save(tmp_path / f"{name}.png")
    return tmp_path


def truth(names):
    return Annotations(
        Images([7, 5, 9][: len(names)], np.array(names)), ("bright",), [], [], np.empty((0, 4))
    )


def test_rows_carry_the_ids_of_the_ground_truth_whatever_the_batch(folder):
    files = ImageFiles.of_annotations(truth(["a.png", "b.png", "c.png"]), folder)
    for batch in (1, 2, 8):
        found = run(Brightness(), files, batch=batch, split="digits val")
        assert found.image.tolist() == [7, 5, 5, 9]
        assert found.box[0].tolist() == [1, 2, 3, 6]
        assert found.label.tolist() == [0, 1, 1, 0]
        assert found.layout is LogitLayout.SIGMOID
        assert found.provenance["split"] == "digits val"
        assert found.provenance["images"] == 3


def test_a_folder_gives_stems_as_ids_and_progress_is_told(folder):
    told = []
    found = run(
        Brightness(), ImageFiles.of_folder(folder), batch=2, progress=lambda *p: told.append(p)
    )
    assert found.image.tolist() == ["a", "b", "b", "c"]
    assert told == [(2, 3), (3, 3)]


def test_the_files_of_some_images_are_noted_however_they_are_shared(folder):
    files = ImageFiles.of_annotations(truth(["a.png", "b.png", "c.png"]), folder)
    noted = run(Brightness(), files).provenance["pictures"]
    assert sorted(id_ for id_, *_ in noted) == ["5", "7", "9"] and noted[0][2:] == [9, 8]
    assert run(Brightness(), files, batch=1).provenance["pictures"] == noted
    Image.fromarray(np.full((8, 9, 3), 251, np.uint8)).save(folder / "b.png")
    after = run(Brightness(), files).provenance["pictures"]
    assert [one[0] for one, now in zip(noted, after, strict=True) if one != now] == ["5"]


def test_evidence_survives_parquet(folder, tmp_path):
    found = run(Brightness(), ImageFiles.of_folder(folder))
    write(found, tmp_path / "found.parquet")
    again = read_detections(tmp_path / "found.parquet")
    assert np.array_equal(again.logits, found.logits)
    assert np.array_equal(again.attributes["objectness"], found.attributes["objectness"])
    assert again.provenance == found.provenance


def test_weights_are_named_so_that_a_fit_on_others_can_be_told(folder, tmp_path):
    torch = pytest.importorskip("torch")
    from openset.nets.weights import fingerprint, write_model

    def named(seed):
        model = Brightness()
        torch.manual_seed(seed)
        model.about, model.network = {"detector": "fcos", "options": {}}, torch.nn.Linear(2, 3)
        write_model(model, tmp_path / "model.pt")
        held = run(model, ImageFiles.of_folder(folder)).provenance["weights"]
        assert held == fingerprint(tmp_path / "model.pt")
        return held

    assert named(0) == named(0) != named(1)


def test_a_model_of_a_file_is_named_by_its_bytes(folder, tmp_path):
    model, seen = Brightness(), []
    model.about = {"options": {"file": str(tmp_path / "model.onnx")}}
    for content in (b"one", b"two"):
        (tmp_path / "model.onnx").write_bytes(content)
        seen.append(run(model, ImageFiles.of_folder(folder)).provenance["weights"])
    assert len({*seen, ""}) == 3


def test_nothing_found_is_an_empty_table(folder):
    class Blind(Brightness):
        def _one(self, image):
            return Found(np.empty((0, 4), np.float32), np.empty(0), np.empty(0, int))

    assert len(run(Blind(), ImageFiles.of_folder(folder))) == 0


def test_missing_images_are_counted_before_anything_runs(folder):
    with pytest.raises(InputError, match="2 of 3 images are missing") as caught:
        ImageFiles.of_annotations(truth(["a.png", "x.png", "y.png"]), folder)
    finding = caught.value.findings[0]
    assert (finding.code, finding.count) == ("OS602", 2)
    assert finding.example.endswith("x.png")
    with pytest.raises(InputError, match="OS113"):
        ImageFiles.of_annotations(truth(["../a.png"]), folder)
    with pytest.raises(InputError, match="no image in"):
        ImageFiles.of_folder(folder / "nowhere")


def test_images_of_several_folders(folder):
    """A benchmark of mixed data sets: each image is in the folder that has it, and in one only."""
    other = folder / "train2017"
    other.mkdir()
    (folder / "b.png").rename(other / "b.png")
    found = ImageFiles.of_annotations(truth(["a.png", "b.png", "c.png"]), [folder, other])
    assert found.path == (folder / "a.png", other / "b.png", folder / "c.png")
    with pytest.raises(InputError, match="1 of 3 images are missing"):
        ImageFiles.of_annotations(truth(["a.png", "b.png", "x.png"]), [folder, other])
    Image.fromarray(np.zeros((8, 9, 3), np.uint8)).save(other / "a.png")
    with pytest.raises(InputError, match="OS620") as caught:
        ImageFiles.of_annotations(truth(["a.png", "b.png"]), [folder, other])
    assert "train2017" in caught.value.findings[0].example
    with pytest.raises(InputError, match="OS113"):
        ImageFiles.of_annotations(truth(["../a.png"]), [other, folder])


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", b"cut"])
def test_an_image_that_cannot_be_decoded_is_named_or_left_out(folder, content):
    noise = np.random.default_rng(0).integers(0, 255, (40, 40, 3), np.uint8)
    Image.fromarray(noise).save(folder / "b.png")
    whole = (folder / "b.png").read_bytes()
    (folder / "b.png").write_bytes(whole[: len(whole) // 2] if content == b"cut" else content)
    files = ImageFiles.of_folder(folder)
    with pytest.raises(InputError, match=r"OS603[\s\S]*b\.png"):
        run(Brightness(), files)
    found = run(Brightness(), files, unreadable="skip")
    assert found.image.tolist() == ["a", "c"]
    assert len(found.provenance["skipped_images"]) == 1


def test_wrong_arguments_get_a_suggestion(folder):
    files = ImageFiles.of_folder(folder)
    with pytest.raises(UsageError, match="Did you mean 'embedding'"):
        run(Brightness(), files, keep=("embeding",))
    with pytest.raises(UsageError, match="at least 1"):
        run(Brightness(), files, batch=0)
    with pytest.raises(UsageError, match="Did you mean 'faster_rcnn'"):
        find("fasterrcnn")


def test_every_detector_says_what_it_is():
    for name, record in table().items():
        assert record.summary.endswith("."), name
        assert record.paper, name
        assert ("logits" in record.keeps) == record.learned
        with pytest.raises(UsageError, match="distinct labels"):
            record.build(["a", "a"])


def test_detectors_are_listed_and_refused_without_torch():
    code = (
        "import sys\n"
        "for name in ('torch', 'torchvision', 'transformers'): sys.modules[name] = None\n"
        "from openset.detectors import table, find\n"
        "print(len(table()))\n"
        "import openset.detectors._spec as spec; spec.find_spec = lambda name: None\n"
        "try: find('fcos').build(['a'])\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(len(table())))
    assert "OS601" in done.stdout
